"""What waits in Redis is stored once, in order, and a bad slot stops nobody else."""

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.conf import settings

from chain.blocks import TransactionRecord
from columns.advisory_locks import AdvisoryLock, exclusive
from historical.models import Block
from historical.models import Gap as LedgerGap
from ingest import slot_queue
from ingest.services.slots import Ingested, ingest_waiting
from rewind.models import AccountChange, ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.chain.proofs import ACCOUNTS, VOTERS, tower_sync, vote_transaction
from tests.ingest.queued import closed, enqueue
from tests.rewind.samples import block, write
from upstream.geyser.messages import slot_record

NOW = datetime(2026, 1, 31, tzinfo=UTC)
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]


def slot(number: int, **options: object):
    return block(number, writes=[write(number % 3, version=number)], transactions=0, **options)


def ingest() -> Ingested:
    return ingest_waiting(now=lambda: NOW, seconds=30.0)


def test_a_record_comes_out_as_it_went_in():
    record = slot(100)
    assert slot_record(closed(record)).account_writes == record.account_writes
    assert slot_record(closed(record)).blockhash == record.blockhash


def test_slots_are_stored_and_wait_no_more():
    enqueue(slot(101), slot(100), slot(102))
    ingested = ingest()
    assert (ingested.stored, ingested.changes) == (3, 3)
    assert [each.slot for each in ArchivedSlot.objects.order_by("slot")] == [100, 101, 102]
    assert Block.objects.count() == 3
    assert slot_queue.count() == 0
    assert not ingested.refused


def test_more_than_one_run_of_slots_is_stored():
    enqueue(*(slot(number) for number in range(100, 160)))
    assert ingest().stored == 60
    assert AccountChange.objects.count() == 60


def test_the_same_slot_again_changes_nothing():
    enqueue(slot(100))
    ingest()
    enqueue(slot(100))
    assert ingest().changes == 0
    assert AccountChange.objects.count() == 1
    assert slot_queue.count() == 0


def test_what_waits_already_is_not_replaced_by_less():
    enqueue(slot(100))
    enqueue(block(100, writes=None, transactions=0))
    ingest()
    assert AccountChange.objects.count() == 1


def test_a_slot_that_contradicts_is_set_aside_with_a_gap_and_the_others_are_stored():
    enqueue(slot(100))
    ingest()
    enqueue(slot(100, fork=1), slot(101), slot(102))
    name = f"100:{slot(100, fork=1).blockhash}"
    ingested = ingest()
    assert ingested.stored == 2
    assert list(ingested.refused) == [100]
    assert "already" in slot_queue.refused([name])[name]
    assert slot_queue.count() == 0
    assert {each.slot for each in ArchivedSlot.objects.all()} == {100, 101, 102}
    # The slot itself is there, in its first version: nothing is missing.
    assert not ArchiveGap.objects.exists()


def test_a_slot_that_cannot_be_read_is_a_gap_with_its_cause():
    import msgspec

    bad = closed(slot(101))
    broken = msgspec.structs.replace(bad, account_writes=[b"\xff\xff"])
    enqueue(slot(100), slot(102))
    slot_queue.offer([slot_queue.pack(broken, reason="", source="stream")])
    ingested = ingest()
    assert ingested.stored == 2
    assert "damaged" in ingested.refused[101]
    for model in (ArchiveGap, LedgerGap):
        gap = model.objects.get(closed_at__isnull=True)
        assert (gap.from_slot, gap.to_slot, gap.cause) == (101, 101, "refused")


def test_a_slot_without_proved_writes_fills_the_ledger_and_says_why_not_the_archive():
    enqueue(slot(100))
    enqueue(block(101, writes=None, transactions=0), reason="writes_missing")
    enqueue(slot(102))
    ingest()
    assert Block.objects.count() == 3
    gap = ArchiveGap.objects.get(closed_at__isnull=True)
    assert (gap.from_slot, gap.to_slot, gap.cause) == (101, 101, "writes_missing")
    assert not LedgerGap.objects.exists()
    # ... and when they come later, the gap closes.
    enqueue(slot(101))
    ingest()
    assert not ArchiveGap.objects.filter(closed_at__isnull=True).exists()


def test_a_missing_parent_is_a_gap_of_the_ledger_until_it_comes():
    enqueue(slot(100), slot(104, parent=103))
    ingest()
    told = [
        (gap.from_slot, gap.to_slot, gap.status)
        for gap in LedgerGap.objects.filter(closed_at__isnull=True).order_by("from_slot")
    ]
    assert told == [(101, 102, "unknown"), (103, 103, "missing")]
    enqueue(slot(103, parent=100))
    ingest()
    assert not LedgerGap.objects.filter(closed_at__isnull=True).exists()
    closed_by = {gap.closed_by for gap in LedgerGap.objects.all()}
    assert closed_by == {"stream", "parent link"}


def test_what_redis_lost_of_a_slot_is_not_waited_for():
    import redis

    enqueue(slot(100), slot(101))
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        for key in client.keys("*handover:slot:100:*"):
            client.delete(key)
    assert ingest().stored == 1
    assert slot_queue.count() == 0


def test_what_is_damaged_in_redis_is_set_aside():
    import redis

    enqueue(slot(100), slot(101))
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        for key in client.keys("*handover:slot:100:*"):
            client.set(key, b"not a payload")
    assert ingest().stored == 1
    name = f"100:{slot(100).blockhash}"
    assert "damaged" in slot_queue.refused([name])[name]


def test_a_slot_too_large_for_redis_comes_without_its_writes_and_says_so():
    noise = random.Random(1).randbytes(20_000)
    large = block(101, writes=[write(1, version=1, data=noise)], transactions=0)
    payloads = [
        slot_queue.pack(closed(record), reason="", source="stream", most_bytes=10_000)
        for record in (slot(100), large, slot(102))
    ]
    assert [payload.has_writes for payload in payloads] == [True, False, True]
    slot_queue.offer(payloads)
    assert ingest().stored == 3
    assert Block.objects.count() == 3
    gap = ArchiveGap.objects.get(closed_at__isnull=True)
    assert (gap.from_slot, gap.to_slot, gap.cause) == (101, 101, "too_large")


def test_no_more_goes_to_redis_at_once_than_it_takes_in_time():
    small = slot_queue.Payload(1, "1:a", True, b"x")
    large = slot_queue.Payload(2, "2:b", True, bytes(20 * 1_048_576))
    assert slot_queue.first_batch([small] * 100) == [small] * 32
    assert slot_queue.first_batch([small, large, large, large]) == [small, large, large]
    assert slot_queue.first_batch([replace(large, data=bytes(40 * 1_048_576)), small])[0].slot == 2
    assert slot_queue.first_batch([]) == []


@pytest.mark.django_db(transaction=True)
def test_a_task_whose_time_is_over_refuses_nothing():
    """Another writer holds the slot: we wait for it until the worker interrupts us."""
    import signal

    import psycopg
    from celery.exceptions import SoftTimeLimitExceeded
    from django.db import connections

    def interrupt(*_: object) -> None:
        raise SoftTimeLimitExceeded

    enqueue(slot(100))
    parameters = connections["default"].get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with psycopg.connect(**parameters) as other:
            other.execute(exclusive(AdvisoryLock.GAPS))
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(SoftTimeLimitExceeded):
                ingest()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert slot_queue.count() == 1
    assert ingest().stored == 1


def test_nobody_waits_for_a_slot_of_votes_alone():
    """Others wait for it then, as for a slot without transactions: a chain at rest is votes."""
    users = block(100, transactions=1).transactions
    vote = vote_transaction(ACCOUNTS[0], VOTERS[0], tower_sync([98, 99], bytes(32)))
    votes = [TransactionRecord(bytes(vote), None)]
    for transactions, expected in (([], False), (votes, False), (users, True)):
        packed = closed(replace(slot(100), transactions=[*transactions]))
        assert slot_queue.pack(packed, reason="", source="stream").is_urgent is expected
        packed = closed(replace(slot(100), transactions=[*votes, *transactions]))
        assert slot_queue.pack(packed, reason="", source="stream").is_urgent is expected
