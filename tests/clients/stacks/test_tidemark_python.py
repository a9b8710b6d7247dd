"""Our Python client as it is distributed: its wheel, installed from the registry's packages alone,
runs its own tests and its command.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.python_client import own_tests, root_key_of
from tests.clients.service import ROOT, Service
from tests.clients.test_tidemark_python import readme_runs

pytestmark = pytest.mark.clients


def test_the_wheel_passes_its_own_tests(stacked: Service, tmp_path: Path) -> None:
    source, built = ROOT / "clients" / "python", tmp_path / "dist"
    build = [sys.executable, "-m", "build", "--quiet", "--outdir", str(built), str(source)]
    subprocess.run(build, check=True)
    (wheel,) = built.glob("tidemark-*.whl")
    assert list(built.glob("tidemark-*.tar.gz"))
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", str(wheel), "pytest"]
    subprocess.run(install, check=True)
    shown = subprocess.run(
        [str(python.parent / "tidemark"), "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == wheel.name.split("-")[1]
    root_key = root_key_of(stacked)
    own_tests(python, stacked, root_key, source / "tests", source=False)
    readme_runs(str(python), stacked, root_key)
