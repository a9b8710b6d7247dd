"""A worker that listens is not called: it hears of slots by itself, until it ceases to listen."""

from collections.abc import Iterator

import pytest

from ingest import listening, slot_queue
from ingest.slot_queue import Payload
from shared_state.redis_client import client

SLOT = Payload(7, "7:a", has_writes=False, data=b"x", is_urgent=False)


@pytest.fixture(autouse=True)
def _empty(empty_redis: None) -> Iterator[None]:
    yield


def test_who_offers_a_slot_is_told_whether_a_worker_listens() -> None:
    assert not slot_queue.offer([SLOT])
    slot_queue.done([SLOT.name])
    assert slot_queue.listen(0.05) is False
    assert slot_queue.offer([SLOT])
    slot_queue.stop_listening()
    assert not slot_queue.offer([SLOT])


def test_a_worker_that_listens_hears_of_each_slot_and_of_those_that_came_while_it_worked() -> None:
    calls = listening.calls(3_600.0)
    next(calls)
    for number in range(3):
        slot_queue.offer([Payload(number, f"{number}:a", False, b"x")])
        next(calls)  # returns, for something waits
        assert slot_queue.waiting([f"{number}:a"])
        slot_queue.done([f"{number}:a"])
    calls.close()
    assert not slot_queue.offer([SLOT])


def test_what_is_offered_while_a_worker_ceases_to_listen_is_its_last_work() -> None:
    calls = listening.calls(0.01)
    next(calls)
    assert slot_queue.listen(0.01) is False  # somebody is told that we listen
    assert slot_queue.offer([SLOT])
    assert sum(1 for _ in calls) >= 1
    assert not client().exists("tidemark:handover:listens")
