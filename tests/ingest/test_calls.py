"""Calls to a worker that does not come stay few."""

import pytest

from ingest.calls import QUEUE, call_ingest
from shared_state.redis_client import client


@pytest.mark.usefixtures("empty_redis")
def test_calls_that_nobody_takes_do_not_pile_up() -> None:
    for slot in range(100, 120):
        call_ingest(slot)
    assert client().llen(QUEUE) == 1
    client().delete(QUEUE)
    call_ingest(120)
    assert client().llen(QUEUE) == 1
