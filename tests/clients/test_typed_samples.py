"""The Python of the pages passes `mypy --strict`."""

import re
import subprocess
import sys
from pathlib import Path

from tests.reference.method_samples import method_samples

from .service import ROOT

# Fragments of this repository's own files.
FRAGMENTS = {"CONTRIBUTING.md"}


def test_samples_pass_mypy_strict(tmp_path: Path) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "clients/python/README.md"]
    written = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        samples = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for number, sample in enumerate(samples):
            name = str(page.relative_to(ROOT)).removesuffix(".md")
            file = tmp_path / f"{re.sub('[^a-z]+', '_', name.lower())}_{number}.py"
            file.write_text(sample, encoding="utf-8")
            written.append(file)
    assert len(written) >= 12
    for number, sample in enumerate(method_samples("python")):
        file = tmp_path / f"method_{number}.py"
        file.write_text(sample, encoding="utf-8")
        written.append(file)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--no-incremental",
            "--config-file=",
            "--python-version",
            "3.11",
            "--cache-dir",
            str(tmp_path / "cache"),
            *map(str, written),
        ],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "clients/python/src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
