"""One localnet for all tests that do not need one of their own."""

from collections.abc import Iterator

import pytest

from tests import shared
from tests.localnet_process import Localnet, running_localnet


@pytest.fixture(scope="module")
def localnet(request: pytest.FixtureRequest) -> Localnet:
    """A running localnet with slots of 40 ms and none skipped."""

    def make() -> Iterator[Localnet]:
        with running_localnet() as running:
            yield running

    return shared.value_of(request, make)
