"""Fetches slots again: missing ones are stored, differing ones are replaced."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from chain.blocks import Granularity, SlotRecord
from chain.signed import Signatures
from chain.slot_ranges import SlotRange
from chain.units import Slot
from historical.blocks.services.stored_content import differing
from historical.coverage.services.checking import Fault
from historical.coverage.services.gaps import follow_links
from historical.coverage.store import checking as ledger_store
from historical.errors import BadBlock as BadLedgerBlock
from historical.errors import BlockConflict
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from ingest.services import classification
from ingest.services.order_steps import Step, StepOptions
from ingest.services.slots import record_tips, store_records
from ingest.services.stream_replay import NO_STREAM, NoReplay, closed_slots
from ingest.sources import Stream, signatures_of_history, signatures_of_streams, streams
from rewind.coverage.store import checking as archive_store
from rewind.errors import BadSlot, SlotConflict
from rewind.recording.services.recording import record_slots
from rewind.recording.store import slots as archive
from upstream.archives.errors import Unreadable
from upstream.geyser.messages import slot_record
from upstream.node import BadBlock, Node, NodeUnreachable, SlotNotAvailable

# Blocks fetched from a node, and slots from a stream, in one step.
_NODE_SLOTS = 16
_STREAM_SLOTS = 250
_REFUSALS = (BlockConflict, BadLedgerBlock, BadSlot, SlotConflict)


def reingest_step(options: StepOptions, first: int, node: Node | None) -> Step:
    """Fetches the next slots of the order, from the node or from the stream's replay. Raises
    NodeError if the node cannot be reached.
    """
    size = _STREAM_SLOTS if node is None else _NODE_SLOTS
    window = SlotRange(first, min(first + size - 1, options.last_slot))
    step = Step(window.last + 1)
    if node is None:
        _from_stream(options, window, step)
    else:
        _from_node(node, options, window, step)
    if window.last == options.last_slot:
        _recount(SlotRange(options.first_slot, options.last_slot), options)
    return step


def _from_node(node: Node, options: StepOptions, window: SlotRange, step: Step) -> None:
    classification.by_node(node, window, now=options.now)
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
            _store(node.block(Slot(slot)), node.name, step, options.now)
        except NodeUnreachable:
            raise
        except (SlotNotAvailable, BadBlock) as error:
            step.ledger_faults.append(Fault(slot, "source_lacks", str(error)[:300]))
        except _REFUSALS as error:
            step.ledger_faults.append(Fault(slot, "refused", str(error)[:300]))


def _store(record: SlotRecord, source: str, step: Step, now: datetime) -> None:
    parts = differing(record, with_additions=True)
    signatures = signatures_of_history()
    if parts is None:
        store_records([record], source=source, now=now, signatures=signatures)
        step.stored += 1
    elif not parts:
        step.sound += 1
    else:
        _replace(record, source, now, signatures)
        step.changed += 1
        step.ledger_faults.append(Fault(record.slot, "replaced", ", ".join(parts)))


@transaction.atomic
def _replace(record: SlotRecord, source: str, now: datetime, signatures: Signatures) -> None:
    """Replaces the slot's block in the ledger; the archive is not changed."""
    remove_blocks(record.slot, record.slot)
    record_blocks([record], now=now, signatures=signatures)
    record_tips([record], now=now)
    bounds = archive.bounds()
    follow_links([record], not_below=None if bounds is None else bounds[0], source=source, now=now)


def _from_stream(options: StepOptions, window: SlotRange, step: Step) -> None:
    faults = step.archive_faults if options.archive else step.ledger_faults
    received, refusals = set[int](), list[str]()
    for stream in streams():
        try:
            for record in _records(stream, window, step):
                if record.slot in received:
                    continue
                received.add(record.slot)
                try:
                    _store_from_stream(record, stream.name, options, step)
                except _REFUSALS as error:
                    faults.append(Fault(record.slot, "refused", str(error)[:300]))
        except NoReplay as error:
            refusals.append(str(error))
            continue
        break  # the next stream is only for slots that this one no longer has
    else:
        reason = "; ".join(refusals) or NO_STREAM
        faults.append(Fault(window.first, "source_lacks", reason[:300]))
        return
    held = {header.slot for header in ledger_store.headers_between(*window)}
    held |= {each.slot for each in archive_store.archived_between(*window)}
    faults += [Fault(slot, "source_lacks", stream.name) for slot in sorted(held - received)]


def _records(stream: Stream, window: SlotRange, step: Step) -> Iterator[SlotRecord]:
    for closed in closed_slots(stream, window):
        try:
            record = slot_record(closed)
        except Unreadable as error:
            step.ledger_faults.append(Fault(closed.slot, "refused", str(error)[:300]))
            continue
        if record.slot >= window.first:
            yield record


def _store_from_stream(record: SlotRecord, source: str, options: StepOptions, step: Step) -> None:
    before = step.stored, step.changed
    signatures = signatures_of_streams()
    with transaction.atomic():
        if options.ledger:
            parts = differing(record, with_additions=True)
            if parts is None:
                store_records([record], source=source, now=options.now, signatures=signatures)
                step.stored += 1
            elif parts:
                _replace(record, source, options.now, signatures)
                step.changed += 1
                step.ledger_faults.append(Fault(record.slot, "replaced", ", ".join(parts)))
        if options.archive and record.account_writes is not None:
            _archive(record, source, options.now, step, counted=before[0] != step.stored)
    if before == (step.stored, step.changed):
        step.sound += 1


def _archive(record: SlotRecord, source: str, now: datetime, step: Step, *, counted: bool) -> None:
    archived = record_slots([record], source=source, now=now, recheck=True)
    if archived.recorded:
        step.stored += not counted
    elif archived.changes or archived.corrected:
        detail = f"{archived.changes} were missing, {archived.corrected} differed"
        step.changed += 1
        step.archive_faults.append(Fault(record.slot, "corrected", detail))
    elif archived.present and record.granularity != Granularity.WRITE:
        step.archive_faults.append(Fault(record.slot, "last_writes_alone"))


def _recount(window: SlotRange, options: StepOptions) -> None:
    """Corrects wrong counts of the window."""
    if options.ledger:
        ledger_store.recount(ledger_store.wrong_counts(*window))
    if options.archive:
        archive_store.recount(archive_store.wrong_counts(*window))
