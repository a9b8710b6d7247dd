"""The ledger in the form of a cluster: the same results on a single PostgreSQL, by statements that
Citus takes. Every test that is named here runs as in its own file.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster_statements import looked_at
from tests.conftest import Rpc
from tests.historical import test_any_sealing, test_sealing
from tests.historical.test_addresses import *  # noqa: F403
from tests.historical.test_any_sealing import rolled_back  # noqa: F401
from tests.historical.test_sealing import *  # noqa: F403

# On real blocks, and long: apart.
del test_every_read_returns_the_same_sealed_and_with_late_blocks  # noqa: F821


@pytest.fixture(autouse=True)
def _in_the_form_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with looked_at(monkeypatch) as faults:
        yield
    assert not faults, "\n".join(faults)


@pytest.mark.soak
def test_real_blocks_read_the_same_sealed(rpc: Rpc, topped: Path, fixtures: Path) -> None:
    test_sealing.test_every_read_returns_the_same_sealed_and_with_late_blocks(rpc, topped, fixtures)


@pytest.mark.soak
@pytest.mark.usefixtures("empty_ledger")
def test_reads_do_not_depend_on_what_is_sealed(rpc: Rpc) -> None:
    test_any_sealing.test_reads_do_not_depend_on_what_is_sealed(rpc)
