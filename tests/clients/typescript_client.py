"""How clients/typescript is built and its own tests are run, and the TypeScript of the pages."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reference.method_samples import method_samples

from .service import ROOT

SOURCE = ROOT / "clients" / "typescript"
README = "clients/typescript/README.md"
# The JavaScript of each sample, by its page and its number there; the first call compiles them.
Samples = Callable[[], dict[tuple[str, int], Path]]
_LOCKS = ("package.json", "package-lock.json", ".npmrc")
_STRICT = {
    "extends": "../tests/tsconfig.json",
    "compilerOptions": {"rootDir": ".", "outDir": "../built-samples"},
    "include": ["."],
}


def generated(cache: pytest.Cache) -> Path:
    """The client, generated again, beside its packages, among pytest's cache."""
    absent = [name for name in ("node", "npm") if shutil.which(name) is None]
    if absent and os.environ.get("CI") != "true":
        pytest.skip(f"{' and '.join(absent)} not found")
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in _LOCKS)).hexdigest()
    whole = cache.mkdir(f"typescript-client-{digest[:12]}")
    folder, version = whole / "clients" / "typescript", Path("platform/config/version.py")
    ignored = shutil.ignore_patterns("node_modules", "dist", "built", "*.tgz")
    shutil.copytree(SOURCE, folder, ignore=ignored, dirs_exist_ok=True)
    shutil.copytree(ROOT / "clients/documents", folder.parent / "documents", dirs_exist_ok=True)
    (whole / version).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / version, whole / version)
    if not (whole / "installed").exists():
        made(folder, "npm", "ci", "--ignore-scripts", "--omit=optional")
        (whole / "installed").touch()
    for file in (folder / "src" / "generated").iterdir():
        file.unlink()
    made(folder, "npm", "run", "generate")
    return folder


def compiled_samples(folder: Path) -> dict[tuple[str, int], Path]:
    """The TypeScript of the guides; it passes `tsc --strict`, as that of the methods does."""
    written, strict = folder / "samples", folder / "built-samples"
    for each in (written, strict):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir()
    (written / "tsconfig.json").write_text(json.dumps(_STRICT))
    found = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / README):
        text = page.read_text(encoding="utf-8")
        name = str(page.relative_to(ROOT))
        for number, code in enumerate(
            re.findall(r"^```ts\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        ):
            stem = f"{re.sub('[^a-z]+', '-', name.removesuffix('.md').lower())}-{number}"
            (written / f"{stem}.ts").write_text(code, encoding="utf-8")
            found[name, number] = strict / f"{stem}.js"
    for number, code in enumerate(method_samples("ts")):
        (written / f"method-{number}.ts").write_text(code, encoding="utf-8")
    made(folder, "npx", "tsc", "--project", "samples")
    return found


def made(folder: Path, *command: str, **environment: str) -> str:
    """What the command printed in the folder."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-4_000:]
    return done.stdout
