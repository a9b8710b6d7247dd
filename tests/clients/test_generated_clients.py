"""What is generated of our own clients is fresh."""

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from .service import ROOT

# Beside the module is a folder of the same name, for which type checkers take it.
documents: Any = import_module("clients.documents")
PYTHON = ROOT / "clients" / "python"
ADVICE = "run `make clients-generate`, and commit what it writes"


def test_the_documents_are_those_of_the_code() -> None:
    for name, text in documents.documents().items():
        assert (documents.FOLDER / name).read_text(encoding="utf-8") == text, f"{name}: {ADVICE}"


def test_the_python_client_is_that_of_the_documents(tmp_path: Path) -> None:
    copy = tmp_path / "clients" / "python"
    ignored = shutil.ignore_patterns("__pycache__", "dist", ".*")
    shutil.copytree(PYTHON, copy, ignore=ignored)
    shutil.copytree(documents.FOLDER, copy.parent / "documents")
    version = Path("platform/config/version.py")
    (tmp_path / version).parent.mkdir(parents=True)
    shutil.copyfile(ROOT / version, tmp_path / version)
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")  # ruff's settings
    made = copy / "src" / "tidemark"
    for file in (*made.rglob("*types.py"), made / "errors.py", *(made / "_sync").glob("*.py")):
        file.unlink()
    subprocess.run([sys.executable, str(copy / "generate.py")], check=True)
    kept = PYTHON / "src" / "tidemark"
    names = {file.relative_to(made) for file in made.rglob("*.py")}
    assert names == {file.relative_to(kept) for file in kept.rglob("*.py")}
    for name in sorted(names):
        assert (made / name).read_text() == (kept / name).read_text(), f"{name}: {ADVICE}"
