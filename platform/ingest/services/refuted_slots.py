"""Refuted slots (proof/services/locating.py): compared with streams and nodes, and repaired."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from solders.pubkey import Pubkey

from chain.blocks import SlotRecord
from chain.slot_ranges import SlotRange
from historical.coverage.services.checking import Fault
from ingest.services.order_steps import Step, StepOptions
from ingest.services.stream_replay import NO_STREAM, NoReplay, closed_slots
from ingest.sources import Stream, streams
from rewind.proof.services import locating
from rewind.proof.services.locating import Located, NotRefuted, Suspect
from rewind.proof.services.second_sources import NodeSource, RecordSource, SecondSource, Unusable
from upstream.archives.errors import Unreadable
from upstream.geyser.messages import slot_record
from upstream.node import Node

log = logging.getLogger(__name__)

# Refuted slots of one step: the transactions of each are run again.
_STEP_SLOTS = 4
ACCOUNT = "refuted_account"


def stream_source(stream: Stream) -> SecondSource:
    """What the stream's server still has of a slot."""
    return RecordSource(stream.name, lambda slot: _record(stream, slot))


def _record(stream: Stream, slot: int) -> SlotRecord:
    """Raises Unusable."""
    try:
        for closed in closed_slots(stream, SlotRange(slot, slot)):
            if closed.slot == slot and closed.account_writes is not None:
                return slot_record(closed)
    except (NoReplay, Unreadable) as fault:
        raise Unusable(str(fault)) from None
    raise Unusable(f"the {stream.name} has not all of slot {slot}")


def locate_step(options: StepOptions, first: int, node: Node | None) -> Step:
    """Narrows the next refuted slots of the order down to accounts: by what is stored, and by the
    node. With streams as the source, the slot becomes a gap where one has it otherwise: the
    stream has what fills it.
    """
    slots = locating.refuted_between(first, options.last_slot, limit=_STEP_SLOTS)
    step = Step(options.last_slot + 1 if len(slots) < _STEP_SLOTS else slots[-1] + 1)
    for slot in slots:
        with suppress(NotRefuted):  # it was recorded again meanwhile
            if options.source and node is None:
                _repair(slot, step, options.now)
            else:
                _name(slot, [] if node is None else [NodeSource(node)], step)
    return step


def _name(slot: int, others: Sequence[SecondSource], step: Step) -> None:
    try:
        found = locating.locate(slot, others)
    except Unusable as fault:
        step.archive_faults.append(Fault(slot, "source_lacks", str(fault)[:300]))
        found = locating.locate(slot)
    step.archive_faults += _found(found)


def _repair(slot: int, step: Step, now: datetime) -> None:
    """By the first stream that has the slot otherwise."""
    found, refusals = None, list[str]()
    for stream in streams():
        try:
            record = _record(stream, slot)
            found = locating.locate(slot, [RecordSource(stream.name, partial(_same, record))])
        except Unusable as fault:
            refusals.append(str(fault))
            continue
        if not found.differing:
            refusals.append(f"the {stream.name} has it as the archive does")
        elif locating.open_as_gap(found, now=now):
            log.warning("slot %d was refuted: %d accounts leave", slot, len(found.suspects))
            step.changed += 1
            step.archive_faults += [_named(slot, "refuted_left", each) for each in found.suspects]
            return
        else:
            refusals.append("writers were at work for too long")
    reason = "; ".join(refusals) or NO_STREAM
    step.archive_faults.append(Fault(slot, "source_lacks", reason[:300]))
    step.archive_faults += _found(found or locating.locate(slot))


def _same(record: SlotRecord, _slot: int) -> SlotRecord:
    return record


def _found(found: Located) -> list[Fault]:
    faults = [_named(found.slot, ACCOUNT, each) for each in found.suspects]
    if not faults:
        tried = f"{found.replayed} transactions were replayed"
        faults.append(Fault(found.slot, "refuted_by_nothing", tried))
    for reason, names in found.not_compared.items():
        more = f", and {len(names) - 1} more" if len(names) > 1 else ""
        detail = f"{names[0]}: {reason}"[:280] + more
        faults.append(Fault(found.slot, "not_compared", detail))
    return faults


def _named(slot: int, what: str, suspect: Suspect) -> Fault:
    return Fault(slot, what, f"{Pubkey(suspect.pubkey)}: {suspect.why}")


def open_gaps(found: Iterable[tuple[int, str]], *, all_named: bool, now: datetime) -> int:
    """Refuted slots become gaps; (slot, detail) of findings say which accounts leave. Unless all
    are named, the slot's rows leave. How many slots.
    """
    by_slot: dict[int, list[Suspect]] = {}
    for slot, detail in found:
        pubkey, _, why = detail.partition(": ")
        by_slot.setdefault(slot, []).append(Suspect(bytes(Pubkey.from_string(pubkey)), why))
    opened = 0
    for slot, suspects in by_slot.items():
        if locating.refuted_between(slot, slot, limit=1):
            located = Located(slot, suspects if all_named else [])
            opened += locating.open_as_gap(located, now=now)
    return opened
