"""One localnet for all tests that do not need one of their own."""

from collections.abc import Iterator

import pytest

from tests.localnet_process import Localnet, running_localnet


@pytest.fixture(scope="package")
def localnet() -> Iterator[Localnet]:
    """A running localnet with slots of 40 ms and none skipped."""
    with running_localnet() as running:
        yield running
