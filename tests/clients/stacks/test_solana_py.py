"""solana-py, of requirements-dev.txt: its whole way with one URL and one key."""

import sys

import pytest

from .conftest import HERE, Target, whole_way

pytestmark = pytest.mark.clients


def test_solana_py_goes_its_whole_way(target: Target) -> None:
    whole_way([sys.executable, str(HERE / "python_way.py")], target)
