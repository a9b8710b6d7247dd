"""What the sender keeps is stored once: not again where it was found to be wrong."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from gaps.causes import REFUTED
from ingest import slot_queue
from ingest.follower_state import published
from ingest.services.slots import ingest_waiting
from ingest.slot_sender import SlotSender
from ingest.sources import SourceLock
from rewind.models import ArchivedSlot, Gap
from rewind.proof.services.locating import Located, open_as_gap
from tests.ingest.queued import closed
from tests.patience import wait
from tests.rewind.samples import block, write

NOW = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.mark.django_db(transaction=True)
def test_a_slot_that_was_wrong_is_not_stored_again(empty_redis: None) -> None:
    """The proof was faster than the sender's look at what is stored."""
    record = block(100, writes=[write(1, version=1)], transactions=0)
    lock = SourceLock("a stream")
    assert lock.take()
    sender = SlotSender(lock, source="a stream", limit_bytes=1 << 20, now=timezone.now)
    sender.add(slot_queue.pack(closed(record), reason="", source="a stream"))
    sender.start()
    try:
        wait(slot_queue.count, "the slot is queued")
        ingest_waiting(now=lambda: NOW, seconds=30.0)
        assert open_as_gap(Located(100, []), now=NOW)
        wait(lambda: not sender.holds(100), "the slot is not kept")
    finally:
        sender.stop()
        lock.let_go()
    ingest_waiting(now=lambda: NOW, seconds=30.0)
    assert Gap.objects.get(closed_at=None).cause == REFUTED
    assert not ArchivedSlot.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_how_long_nothing_is_stored_is_published(empty_redis: None) -> None:
    """While slots wait, whether a worker is called or not."""
    clock = [NOW]
    lock = SourceLock("a stream")
    assert lock.take()
    sender = SlotSender(lock, source="a stream", limit_bytes=1 << 20, now=lambda: clock[0])
    sender.start()
    try:
        wait(lambda: published() is not None, "the state is published")
        assert unstored(NOW + timedelta(minutes=2)) == 0, "no slot waits"
        record = block(100, writes=[write(1, version=1)], transactions=0)
        sender.add(slot_queue.pack(closed(record), reason="", source="a stream"))
        clock[0] = NOW + timedelta(minutes=2)
        wait(lambda: unstored(clock[0]) == 120, "the slot waits since it came")
        ingest_waiting(now=lambda: NOW, seconds=30.0)
        wait(lambda: unstored(clock[0]) == 0, "the slot is stored")
    finally:
        sender.stop()
        lock.let_go()


def unstored(now: datetime) -> int:
    state = published()
    assert state is not None
    return state.unstored_seconds(now.timestamp())
