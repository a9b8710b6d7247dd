"""A worker that listens is not called: it hears of slots by itself, until it ceases to listen."""

from collections.abc import Iterator

import pytest

from ingest import handover, listening
from ingest.handover import Packed
from shared_state.redis_client import client

SLOT = Packed(7, "7:a", has_writes=False, data=b"x", has_transactions=False)


@pytest.fixture(autouse=True)
def _empty(empty_redis: None) -> Iterator[None]:
    yield


def test_who_offers_a_slot_is_told_whether_a_worker_listens() -> None:
    assert not handover.offer([SLOT])
    handover.done([SLOT.name])
    assert handover.listen(0.05) is False
    assert handover.offer([SLOT])
    handover.listen_no_more()
    assert not handover.offer([SLOT])


def test_a_worker_that_listens_hears_of_each_slot_and_of_those_that_came_while_it_worked() -> None:
    calls = listening.calls(3_600.0)
    next(calls)
    for number in range(3):
        handover.offer([Packed(number, f"{number}:a", False, b"x")])
        next(calls)  # returns, for something waits
        assert handover.waiting([f"{number}:a"])
        handover.done([f"{number}:a"])
    calls.close()
    assert not handover.offer([SLOT])


def test_what_is_offered_while_a_worker_ceases_to_listen_is_its_last_work() -> None:
    calls = listening.calls(0.01)
    next(calls)
    assert handover.listen(0.01) is False  # somebody is told that we listen
    assert handover.offer([SLOT])
    assert sum(1 for _ in calls) >= 1
    assert not client().exists("tidemark:handover:listens")
