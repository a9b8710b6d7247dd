"""The ledger in the form of a cluster: the same results on a single PostgreSQL, by statements that
Citus takes. Every test that is named here runs as in its own file.
"""

from collections.abc import Iterator

import pytest

from tests.cluster_statements import looked_at
from tests.historical.test_addresses import *  # noqa: F403
from tests.historical.test_any_sealing import (  # noqa: F401
    rolled_back,
    test_reads_do_not_depend_on_what_is_sealed,
)
from tests.historical.test_sealing import *  # noqa: F403


@pytest.fixture(autouse=True)
def _in_the_form_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with looked_at(monkeypatch) as faults:
        yield
    assert not faults, "\n".join(faults)
