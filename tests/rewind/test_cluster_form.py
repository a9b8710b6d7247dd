"""The archive in the form of a cluster: the same results on a single PostgreSQL, by statements that
Citus takes. Every test that is named here runs as in its own file.
"""

from collections.abc import Iterator

import pytest

from tests.cluster_statements import looked_at
from tests.rewind.test_account_info_histories import (  # noqa: F401
    ask,
    test_an_account_reads_as_the_model_has_it,
    test_several_read_as_each_alone_and_a_diff_as_both,
)
from tests.rewind.test_baseline import *  # noqa: F403
from tests.rewind.test_changes_histories import (  # noqa: F401
    test_pages_of_any_size_join_to_the_whole_list,
)
from tests.rewind.test_dropped import *  # noqa: F403
from tests.rewind.test_forecasts import *  # noqa: F403
from tests.rewind.test_retention import *  # noqa: F403
from tests.rewind.test_sealing import *  # noqa: F403


@pytest.fixture(autouse=True)
def _in_the_form_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with looked_at(monkeypatch) as faults:
        yield
    assert not faults, "\n".join(faults)
