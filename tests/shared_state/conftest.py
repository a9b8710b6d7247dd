"""Shared state is tested by processes that remember nothing."""

import pytest


@pytest.fixture(autouse=True)
def forgetful(nothing_remembered: None) -> None:
    """Every test of this folder begins with a process that remembers nothing."""
