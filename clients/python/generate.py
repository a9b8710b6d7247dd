"""Makes the generated modules of `src/tidemark` from `clients/documents`: `make clients-generate`.

Types are datamodel-code-generator's, the synchronous client is unasync's of the asynchronous one;
methods and errors are written by `generator`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from unasync import Rule, unasync_files  # type: ignore[import-untyped]

HERE = Path(__file__).resolve().parent
DOCUMENTS = HERE.parent / "documents"
PACKAGE = HERE / "src" / "tidemark"

sys.path.insert(0, str(HERE))
from generator import errors, management, rpc, types  # noqa: E402


def modules(version: str, package: Path = PACKAGE) -> None:
    """Writes every generated module below a folder that has the others."""
    methods, http = _document("openrpc.json"), _document("openapi.json")
    typed = {
        **methods["components"]["schemas"],
        **{
            name: each
            for name, each in http["components"]["schemas"].items()
            if not name.startswith((management.PREFIX, "Paginated", "Patched"))
        },
    }
    asked = types.reached(typed, rpc.asked_schemas(methods))
    managed = management.schemas_of(http)
    base = "tidemark.values"
    written = {
        "version.py": f'"""Generated: the service\'s version."""\n\nVERSION = "{version}"\n',
        "errors.py": errors.module(_document("errors.json")),
        "types.py": types.module(typed, f"{base}.Record", asked),
        "management_types.py": types.module(managed, f"{base}.Resource", set()),
        "_async/methods.py": rpc.module(methods, http),
        "_async/resources.py": management.module(http),
    }
    for name, text in written.items():
        (package / name).write_text(text, encoding="utf-8")
    _format(*(package / name for name in written))
    _write_sync(package)


def _write_sync(package: Path) -> None:
    sources = sorted((package / "_async").glob("*.py"))
    names = {name for file in sources for name in re.findall(r"\bAsync[A-Z]\w*", file.read_text())}
    replaced = {
        **{name: name.removeprefix("Async") for name in names},
        "_async": "_sync",
        "aclose": "close",
        "aclosing": "closing",
        "_io_async": "_io_sync",
    }
    unasync_files([str(file) for file in sources], [Rule("/_async/", "/_sync/", replaced)])
    _format(package / "_sync")


def _format(*paths: Path) -> None:
    named = [str(path) for path in paths]
    for command in (["check", "-q", "--fix", "--select", "I,F401"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *named], check=True, cwd=HERE)


def _document(name: str) -> Any:
    return json.loads((DOCUMENTS / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    service = (HERE.parents[1] / "platform/config/version.py").read_text(encoding="utf-8")
    found = re.search(r'VERSION = "(.+)"', service)
    assert found is not None
    modules(found[1])
