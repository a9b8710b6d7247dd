"""clients/typescript: it is fresh, and its own tests and README pass against a service."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .chain_endpoints import until
from .python_client import root_key_of
from .service import ROOT, Service
from .test_readme import _is_stored, run, snippet

SOURCE = ROOT / "clients" / "typescript"
README = "clients/typescript/README.md"
ADVICE = "run `make clients-generate`, and commit what it writes"
LOCKS = ("package.json", "package-lock.json", ".npmrc")


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest) -> Path:
    """The client, generated again and compiled, beside its packages, among pytest's cache."""
    absent = [name for name in ("node", "npm") if shutil.which(name) is None]
    if absent and os.environ.get("CI") != "true":
        pytest.skip(f"{' and '.join(absent)} not found")
    assert request.config.cache is not None
    digest = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in LOCKS)).hexdigest()
    whole = request.config.cache.mkdir(f"typescript-client-{digest[:12]}")
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
    made(folder, "npm", "run", "build")
    return folder


def made(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-4_000:]
    return done.stdout


def test_it_is_that_of_the_documents_and_the_version(built: Path) -> None:
    kept = sorted((SOURCE / "src" / "generated").iterdir())
    assert [each.name for each in kept] == sorted(
        each.name for each in (built / "src" / "generated").iterdir()
    )
    for file in (*kept, SOURCE / "package.json", SOURCE / "package-lock.json"):
        again = built / file.relative_to(SOURCE)
        assert file.read_text(encoding="utf-8") == again.read_text(encoding="utf-8"), ADVICE


def test_its_own_tests_pass(followed: Service, built: Path) -> None:
    printed = made(
        *(built, "npm", "test"),
        TIDEMARK_URL=followed.base_url,
        TIDEMARK_KEY=followed.key,
        TIDEMARK_ROOT_KEY=root_key_of(followed, Path(sys.executable)),
    )
    assert "fail 0" in printed and "skipped 0" in printed and "pass 0" not in printed, printed


def test_its_readme_is_strict_lands_and_reads_the_past(followed: Service, built: Path) -> None:
    scripts = [built / "tests" / f"readme_{number}.ts" for number in range(2)]
    for number, script in enumerate(scripts):
        script.write_text(snippet("ts", followed, number, file=README), encoding="utf-8")
    made(built, "npx", "tsc", "--project", "tests")
    land, past = (str(built / "built" / f"{script.stem}.js") for script in scripts)
    signature = run(followed, "node", land).strip()
    until(lambda: _is_stored(followed, signature), "the transaction stored")
    assert run(followed, "node", past, SIGNATURE=signature).split()[1] == "1000000000n"
