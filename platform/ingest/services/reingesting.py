"""Fetching slots anew: what is lacking is stored, what differs is replaced."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from chain.blocks import Granularity, SlotRecord
from chain.slot_ranges import SlotRange
from chain.units import Slot
from historical.errors import BadBlock as BadLedgerBlock
from historical.errors import BlockConflict
from historical.services.checking import Fault
from historical.services.recording import record_blocks
from historical.services.removal import remove_blocks
from historical.services.stored_content import differing
from historical.store import checking as ledger_store
from ingest.services import classification, ledger_links, tip_ledger
from ingest.services.order_steps import Asked, Step
from ingest.services.slots import store_records
from ingest.services.stream_replay import NO_STREAM, NoReplay, closed_slots
from ingest.sources import Stream, streams
from rewind.errors import BadSlot, SlotConflict
from rewind.services import slots as archive
from rewind.services.recording import record_slots
from rewind.store import checking as archive_store
from upstream.archives.errors import Unreadable
from upstream.geyser.closed_slots import slot_record
from upstream.node import BadBlock, Node, NodeUnreachable, SlotNotAvailable

# Blocks asked of a node, and slots asked of a stream, before the progress is kept.
_NODE_SLOTS = 16
_STREAM_SLOTS = 250
_REFUSALS = (BlockConflict, BadLedgerBlock, BadSlot, SlotConflict)


def reingest_step(asked: Asked, first: int, node: Node | None) -> Step:
    """The next slots of the order, from the node, or from the stream's replay. Raises NodeError
    where the node cannot be reached.
    """
    size = _STREAM_SLOTS if node is None else _NODE_SLOTS
    window = SlotRange(first, min(first + size - 1, asked.last_slot))
    step = Step(window.last + 1)
    if node is None:
        _from_stream(asked, window, step)
    else:
        _from_node(node, asked, window, step)
    if window.last == asked.last_slot:
        _count_anew(SlotRange(asked.first_slot, asked.last_slot), asked)
    return step


def _from_node(node: Node, asked: Asked, window: SlotRange, step: Step) -> None:
    classification.by_node(node, window, now=asked.now)
    low = max(window.first, node.first_available_block())
    high = min(window.last, node.slot("finalized"))
    listed = set(node.blocks(Slot(low), Slot(high))) if low <= high else set()
    stored = {header.slot for header in ledger_store.headers_between(*window)}
    for slot in sorted(stored - listed):
        reaches = low <= slot <= high
        what = "node_has_none" if reaches else "source_lacks"
        step.ledger_faults.append(Fault(slot, what, node.name))
    for slot in sorted(listed):
        try:
            _take(node.block(Slot(slot)), node.name, step, asked.now)
        except NodeUnreachable:
            raise
        except (SlotNotAvailable, BadBlock) as error:
            step.ledger_faults.append(Fault(slot, "source_lacks", str(error)[:300]))
        except _REFUSALS as error:
            step.ledger_faults.append(Fault(slot, "refused", str(error)[:300]))


def _take(record: SlotRecord, source: str, step: Step, now: datetime) -> None:
    parts = differing(record, with_additions=True)
    if parts is None:
        store_records([record], source=source, now=now)
        step.stored += 1
    elif not parts:
        step.sound += 1
    else:
        _replace(record, source, now)
        step.changed += 1
        step.ledger_faults.append(Fault(record.slot, "replaced", ", ".join(parts)))


@transaction.atomic
def _replace(record: SlotRecord, source: str, now: datetime) -> None:
    """The ledger has this block of the slot; the archive keeps what it has."""
    remove_blocks(record.slot, record.slot)
    record_blocks([record], now=now)
    tip_ledger.record([record], now=now)
    bounds = archive.bounds()
    ledger_links.follow(
        [record], not_below=None if bounds is None else bounds[0], source=source, now=now
    )


def _from_stream(asked: Asked, window: SlotRange, step: Step) -> None:
    faults = step.archive_faults if asked.archive else step.ledger_faults
    came, refusals = set[int](), list[str]()
    for stream in streams():
        try:
            for record in _records(stream, window, step):
                if record.slot in came:
                    continue
                came.add(record.slot)
                try:
                    _take_from_stream(record, stream.name, asked, step)
                except _REFUSALS as error:
                    faults.append(Fault(record.slot, "refused", str(error)[:300]))
        except NoReplay as error:
            refusals.append(str(error))
            continue
        break  # the next one is for what this one has no more
    else:
        told = "; ".join(refusals) or NO_STREAM
        faults.append(Fault(window.first, "source_lacks", told[:300]))
        return
    held = {header.slot for header in ledger_store.headers_between(*window)}
    held |= {each.slot for each in archive_store.archived_between(*window)}
    faults += [Fault(slot, "source_lacks", stream.name) for slot in sorted(held - came)]


def _records(stream: Stream, window: SlotRange, step: Step) -> Iterator[SlotRecord]:
    for closed in closed_slots(stream, window):
        try:
            record = slot_record(closed)
        except Unreadable as error:
            step.ledger_faults.append(Fault(closed.slot, "refused", str(error)[:300]))
            continue
        if record.slot >= window.first:
            yield record


def _take_from_stream(record: SlotRecord, source: str, asked: Asked, step: Step) -> None:
    before = step.stored, step.changed
    with transaction.atomic():
        if asked.ledger:
            parts = differing(record, with_additions=True)
            if parts is None:
                store_records([record], source=source, now=asked.now)
                step.stored += 1
            elif parts:
                _replace(record, source, asked.now)
                step.changed += 1
                step.ledger_faults.append(Fault(record.slot, "replaced", ", ".join(parts)))
        if asked.archive and record.account_writes is not None:
            _archive_anew(record, source, asked.now, step, counted=before[0] != step.stored)
    if before == (step.stored, step.changed):
        step.sound += 1


def _archive_anew(
    record: SlotRecord, source: str, now: datetime, step: Step, *, counted: bool
) -> None:
    archived = record_slots([record], source=source, now=now, anew=True)
    if archived.recorded:
        step.stored += not counted
    elif archived.changes or archived.corrected:
        told = f"{archived.changes} came, {archived.corrected} said otherwise"
        step.changed += 1
        step.archive_faults.append(Fault(record.slot, "corrected", told))
    elif archived.present and record.granularity != Granularity.WRITE:
        step.archive_faults.append(Fault(record.slot, "last_writes_alone"))


def _count_anew(window: SlotRange, asked: Asked) -> None:
    """Counts that are wrong, whatever made them so, are right afterwards."""
    if asked.ledger:
        ledger_store.recount(ledger_store.wrong_counts(*window))
    if asked.archive:
        archive_store.recount(archive_store.wrong_counts(*window))
