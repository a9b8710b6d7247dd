"""The files that `make test` leaves out keep up with what they import."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import REAL, SOAK, STACKS

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("folder", [SOAK, STACKS, REAL], ids=["soak", "stacks", "real"])
def test_each_file_of_tests_can_be_read(folder: Path) -> None:
    files = sorted(folder.glob("test_*.py"))
    assert files
    for file in files:
        import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
