"""Stores slots: ledger and archive in one transaction."""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import psycopg
import redis
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction

from alerts.services import chain_rules
from chain.blocks import SlotRecord
from chain.signed import Signatures
from chain.slot_ranges import SlotRange, runs, subtract
from columns.advisory_locks import AdvisoryLock, exclusive
from columns.collector import without_collector
from columns.queries import execute
from gaps import life_cycle
from gaps.slot_gap import GapStatus
from historical.blocks.store import blocks as ledger
from historical.coverage.services.gaps import follow_links, ledger_gaps
from historical.recording.services.recording import record_blocks
from ingest import slot_queue
from ingest.services import fates
from ingest.sources import signatures_of_streams
from priority.fates.store.settling import keys_of
from rewind.coverage.services.gaps import archive_gaps
from rewind.recording.services.recording import record_slots
from rewind.recording.store import slots as archive
from shared_state import counters, pace
from shared_state.outages import outage_of
from tipping.services import ledger as tips
from tipping.services.ledger import OwnAddresses
from upstream.archives.errors import Unreadable
from upstream.geyser.messages import slot_record

log = logging.getLogger(__name__)

# One transaction: enough to spread its cost, few enough that readers see slots soon.
_RUN_SLOTS = 16
_RUN_BYTES = 24 * 1_048_576
REFUSED = "refused"
_PACE_EVERY_SECONDS = 15.0
# Blocks have whole seconds: over half a minute the length of a slot is known to 4 %.
_PACE_SECONDS = 30
_LEAST_SLOTS, _MOST_SLOTS = 50, 1_000

_pace_due_at = 0.0


@dataclass(slots=True)
class Ingested:
    """The result of a run over queued slots."""

    stored: int = 0
    changes: int = 0
    transactions: int = 0
    refused: dict[int, str] = field(default_factory=dict)


# The database is away, or time or memory ran out: not the slots' fault. The areas' fast paths use
# psycopg directly.
_NOT_THE_SLOTS_FAULT = (
    OperationalError,
    InterfaceError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    SoftTimeLimitExceeded,
    MemoryError,
)


def ingest_waiting(*, now: Callable[[], datetime], seconds: float) -> Ingested:
    """Stores queued slots, lowest first, until none is left or the time is over. Safe to repeat and
    to run concurrently: a slot that is stored already changes nothing.
    """
    result = Ingested()
    until = time.monotonic() + seconds
    with without_collector():
        while _ingest_run(result, now()) and time.monotonic() < until:
            pass
    if result.stored:
        publish_pace()
    return result


def _ingest_run(result: Ingested, now: datetime) -> bool:
    refused: dict[str, str] = {}
    with transaction.atomic():
        _lock_writers()
        taken = slot_queue.take(most_slots=_RUN_SLOTS, most_bytes=_RUN_BYTES)
        readable = _read(taken, refused)
        stored = _store_or_refuse(readable, refused, result, now)
        for each in taken:
            if each.name in refused:
                slot = each.closed.slot
                result.refused[slot] = refused[each.name]
                open_gaps(slot, slot, status=GapStatus.MISSING, cause=REFUSED, now=now)
    # Slots leave Redis only after the database has them.
    for name, reason in refused.items():
        slot_queue.set_aside(name, reason)
    slot_queue.done([each.name for each in stored])
    result.stored += len(stored)
    # One Redis command saves another run's transaction: mostly nothing is queued meanwhile.
    return bool(taken) and slot_queue.count() > 0


def _lock_writers() -> None:
    """One writer at a time: a second one would only wait for the first one's rows."""
    execute(
        "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;"
        f"{exclusive(AdvisoryLock.SLOT_WRITER)}"
    )


_Readable = list[tuple[slot_queue.Taken, SlotRecord]]


def _read(taken: Sequence[slot_queue.Taken], refused: dict[str, str]) -> _Readable:
    readable = []
    for each in taken:
        try:
            readable.append((each, slot_record(each.closed)))
        except Unreadable as fault:
            refused[each.name] = str(fault)
    return readable


def _store_or_refuse(
    readable: _Readable, refused: dict[str, str], result: Ingested, now: datetime
) -> list[slot_queue.Taken]:
    """Stores all at once; if that fails one by one, so that a bad one does not stop the others."""
    if not readable:
        return []
    try:
        _store(readable, result, now)
        return [each for each, _ in readable]
    except _NOT_THE_SLOTS_FAULT:
        raise
    except Exception as error:
        if outage_of(error) is not None:  # read-only, or without room: not the slots' fault
            raise
        if len(readable) == 1:
            log.warning("slot %d is refused: %s", readable[0][1].slot, error, exc_info=True)
            refused[readable[0][0].name] = f"{type(error).__name__}: {error}"
            return []
    return [taken for each in readable for taken in _store_or_refuse([each], refused, result, now)]


def _store(readable: _Readable, result: Ingested, now: datetime) -> None:
    records = [record for _, record in readable]
    source = readable[0][0].source
    with transaction.atomic():
        changes, transactions = store_records(
            records, source=source, now=now, signatures=signatures_of_streams()
        )
        for each, _ in readable:
            if each.reason:
                slot = each.closed.slot
                archive_gaps.open_gap(
                    slot, slot, status=GapStatus.MISSING, cause=each.reason, now=now
                )
    result.changes += changes
    result.transactions += transactions


@transaction.atomic
def store_records(
    records: Sequence[SlotRecord],
    *,
    source: str,
    now: datetime,
    signatures: Signatures = Signatures.UNVERIFIED,
) -> tuple[int, int]:
    """Stores the slots in ledger and archive, or in neither; returns how many account changes and
    transactions are new. Raises the areas' errors.
    """
    ascending = sorted(records, key=lambda record: record.slot)
    reached = ledger.bounds()
    recorded = record_blocks(ascending, now=now, signatures=signatures)
    archived = record_slots(ascending, source=source, now=now)
    record_tips(ascending, now=now)
    chain_rules.publish_slots(ascending, now=now)
    bounds = archive.bounds()
    follow_links(ascending, not_below=None if bounds is None else bounds[0], source=source, now=now)
    late = None if reached is None else SlotRange(0, reached[1])
    # After a crash here, `fates.settle_due` finds the rest in the ledger.
    settle = partial(fates.settle_stored, ascending, late=late, now=now)
    transaction.on_commit(settle, robust=True)
    counts = {
        (counters.SLOTS, "ledger"): recorded.recorded,
        (counters.SLOTS, "archive"): len(archived.recorded),
        (counters.WRITES,): archived.changes,
        (counters.TRANSACTIONS,): recorded.transactions,
    }
    transaction.on_commit(partial(counters.add, counts), robust=True)
    return archived.changes, recorded.transactions


def record_tips(records: Sequence[SlotRecord], *, now: datetime) -> None:
    """Records the tips in blocks from any source. Call it in the transaction that stores them."""
    tips.record(records, own=own_addresses(), submitters=keys_of, now=now)


def own_addresses() -> OwnAddresses:
    """Static tip addresses, and the treasury."""
    static = frozenset(bytes(pubkey) for pubkey in settings.TIP_ADDRESSES)
    return OwnAddresses(static, bytes(settings.TREASURY_ADDRESS))


def publish_pace() -> None:
    """Measures the chain's pace by block times and publishes it (shared_state/pace.py), once in
    15 s, if Redis is there. Call it when slots were stored.
    """
    global _pace_due_at
    if time.monotonic() < _pace_due_at:
        return
    _pace_due_at = time.monotonic() + _PACE_EVERY_SECONDS
    found = ledger.slots_and_seconds(least=_LEAST_SLOTS, most=_MOST_SLOTS)
    if found is not None and found[1] >= _PACE_SECONDS:
        with contextlib.suppress(redis.RedisError):
            pace.publish(found[1] / found[0])


def forget_pace() -> None:
    """Measures it at the next call."""
    global _pace_due_at
    _pace_due_at = 0.0


def open_gaps(first: int, last: int, *, status: GapStatus, cause: str, now: datetime) -> None:
    """Opens gaps of the slots in both areas, without those that are stored, or that stored blocks'
    parent links prove skipped.
    """
    with transaction.atomic():
        life_cycle.lock()  # no block can be stored meanwhile whose link would prove more
        missing = [SlotRange(first, last)]
        links = ledger.links_between(first, last, and_next=True)
        missing = subtract(missing, [SlotRange(parent + 1, slot - 1) for slot, parent in links])
        for part in subtract(missing, runs(slot for slot, _ in links)):
            ledger_gaps.open_gap(*part, status=status, cause=cause, now=now)
        for part in subtract(missing, runs(archive.archived_between(first, last))):
            archive_gaps.open_gap(*part, status=status, cause=cause, now=now)
