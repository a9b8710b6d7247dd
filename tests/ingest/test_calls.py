"""Calls to a worker that does not come stay few."""

import pytest

from ingest.slot_queue import QUEUE, call_ingest
from shared_state.redis_client import client


@pytest.mark.usefixtures("empty_redis")
def test_calls_that_nobody_takes_do_not_pile_up() -> None:
    for _ in range(20):
        call_ingest()
    assert client().llen(QUEUE) == 1
    client().delete(QUEUE)
    call_ingest()
    assert client().llen(QUEUE) == 1
