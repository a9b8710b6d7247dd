"""Reads what is sealed of the ledger through for damage, and looks into what reads report."""

import logging
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import zstandard
from django.db import transaction

from columns.timeouts import lift_timeouts
from historical.errors import SealedDataDamaged
from historical.models import LedgerDamage
from historical.packed_index import INDEXES, DamagedBlock
from historical.packed_texts import DamagedFrame, OpenFrame
from historical.segment_dictionary import SegmentDictionary
from historical.store import damage, sealed_blocks, sealing
from historical.store.damage import IndexBlockRow, Kind
from historical.store.sealed_blocks import RangeGone, SealedRow
from shared_state import damage_reports

log = logging.getLogger(__name__)

# Of a step.
_BLOCKS, _INDEX_BLOCKS = 16, 200
_REPORTS = 100
# What decoding bytes may raise that no encoder wrote.
_UNREADABLE = (
    *(DamagedFrame, DamagedBlock, zstandard.ZstdError, struct.error),
    *(ValueError, IndexError, KeyError, OverflowError),
)


@dataclass(slots=True)
class Fault:
    """What is damaged, and why."""

    kind: str
    number: int
    reason: str


@dataclass(slots=True)
class Scrubbed:
    """What a step did: rows that were read, and the damage that was not known before."""

    rows: int = 0
    found: list[LedgerDamage] = field(default_factory=list)


def is_due(*, older_than: timedelta, now: datetime) -> bool:
    """Whether reads reported damage, or what is sealed is to be read through."""
    is_reported = damage_reports.are_waiting("ledger")
    return is_reported or bool(older_than and damage.scrub_of(now - older_than))


def scrub_step(*, older_than: timedelta, now: datetime) -> Scrubbed | None:
    """Reads the next sealed blocks, or blocks of the index, when all of it was read last longer ago
    than that; None when there is nothing to do, or another worker is at it. It may be stopped
    anywhere.
    """
    with transaction.atomic():
        lift_timeouts()
        if not damage.claim_scrub():
            return None
        scrub = damage.scrub_of(now - older_than)
        if scrub is None:
            return None
        done = Scrubbed()
        if scrub.run is None:
            slots = damage.sealed_after(scrub.slot, _BLOCKS)
            faults = _settled(lambda: _of_blocks(slots))
            done = Scrubbed(len(slots), _noted(faults, "scrub", now))
            scrub.slot = slots[-1] if slots else scrub.slot
            scrub.run = None if slots else 0
        else:
            after = scrub.run, bytes(scrub.entry), _INDEX_BLOCKS
            rows = damage.index_after(*after)
            faults = _settled(lambda: _of_index(damage.index_after(*after)), _of_index(rows))
            done = Scrubbed(len(rows), _noted(faults, "scrub", now))
            if rows:
                scrub.run, scrub.entry = rows[-1].run, rows[-1].first_entry
            else:
                scrub.is_running, scrub.finished_at = False, now
        scrub.save()
        return done


def _settled(
    again: Callable[[], Iterator[Fault]], first: Iterator[Fault] | None = None
) -> list[Fault]:
    """The faults that are there when nothing that is sealed changes meanwhile."""
    if not list(again() if first is None else first):
        return []
    sealing.wait_alone()
    return list(again())


def look_into_reports(*, now: datetime) -> list[LedgerDamage]:
    """Reads what reads met damage in; the damage that was not known before."""
    found: list[LedgerDamage] = []
    for report in damage_reports.taken("ledger", _REPORTS):
        kind, number = report.split(":")
        with transaction.atomic():
            sealing.wait_alone()
            found += _noted(faults_of(kind, int(number)), "read", now)
    return found


def faults_of(kind: str, number: int) -> list[Fault]:
    """What is damaged in this, or for it; nothing where it is whole or gone."""
    slots = damage.slots_of(kind, number)
    if slots is None:
        return []
    if kind == Kind.INDEX:
        return list(_of_index(damage.run_blocks(number)))[:1]
    if kind == Kind.DICTIONARY:
        fault = _dictionary(number)
        return [fault] if isinstance(fault, Fault) else []
    faults = _of_blocks(damage.blocks_of(kind, number, *slots))
    return [each for each in faults if (each.kind, each.number) == (kind, number)][:1]


def _noted(
    faults: Iterator[Fault] | list[Fault], found_by: str, now: datetime
) -> list[LedgerDamage]:
    found: list[LedgerDamage] = []
    for each in faults:
        slots = damage.slots_of(each.kind, each.number)
        if slots is None:
            continue
        noted = damage.note(each.kind, each.number, slots, each.reason, found_by=found_by, now=now)
        if noted is not None:
            log.error("sealed data is damaged: %s, slots %d to %d: %s", noted, *slots, each.reason)
            found.append(noted)
    return found


def _of_blocks(slots: Sequence[int]) -> Iterator[Fault]:
    """Faults of sealed blocks, their frames and dictionaries."""
    dictionaries: dict[int, SegmentDictionary | Fault] = {}
    opened: dict[int, OpenFrame | Fault] = {}
    for row in sealed_blocks.sealed_blocks(slots):
        if row.sealed_range not in dictionaries:
            found = _dictionary(row.sealed_range)
            dictionaries[row.sealed_range] = found
            if isinstance(found, Fault):
                yield found
        dictionary = dictionaries[row.sealed_range]
        try:
            sealed_blocks.entries_of(row)
        except SealedDataDamaged as error:
            yield Fault(Kind.ENTRIES, row.slot, str(error.data["damaged"]))
        if isinstance(dictionary, Fault):
            continue
        missing = [number for number in row.frames if number not in opened]
        stored = sealed_blocks.frames(missing)
        for number in missing:
            frame = open_frame(number, stored.get(number), dictionary)
            opened[number] = frame
            if isinstance(frame, Fault):
                yield frame
        yield from _texts(row, opened)


def _texts(row: SealedRow, opened: dict[int, OpenFrame | Fault]) -> Iterator[Fault]:
    for number, _, end in row.parts():
        frame = opened[number]
        if isinstance(frame, OpenFrame) and end > frame.count:
            yield Fault(Kind.TEXTS, number, f"it has {frame.count} texts, not {end}")


def open_frame(
    number: int, frame: bytes | None, dictionary: SegmentDictionary
) -> OpenFrame | Fault:
    """The frame, all of whose texts can be read."""
    if frame is None:
        return Fault(Kind.TEXTS, number, "it is gone")
    try:
        found = OpenFrame(frame, dictionary)
        found.texts(0, found.count)
    except _UNREADABLE as error:
        return Fault(Kind.TEXTS, number, str(error) or type(error).__name__)
    return found


def _dictionary(sealed_range: int) -> SegmentDictionary | Fault:
    """As the database has it now."""
    sealed_blocks.dictionary.cache_clear()
    try:
        return sealed_blocks.dictionary(sealed_range)
    except SealedDataDamaged:
        return Fault(Kind.DICTIONARY, sealed_range, "its checksum differs")
    except RangeGone:  # removed meanwhile: it is not noted
        return Fault(Kind.DICTIONARY, sealed_range, "it is gone")


def _of_index(rows: Sequence[IndexBlockRow]) -> Iterator[Fault]:
    """One for each run."""
    known: set[int] = set()
    for row in rows:
        fault = index_fault(row)
        if fault and row.run not in known:
            known.add(row.run)
            yield Fault(Kind.INDEX, row.run, f"its block {row.first_entry.hex()}: {fault}")


def index_fault(row: IndexBlockRow) -> str:
    """Why the block is not what was written; empty where it is."""
    try:
        entries = INDEXES[row.kind].unpack(row.block)
    except _UNREADABLE as error:
        return str(error) or type(error).__name__
    if not entries or entries[0] != row.first_entry:
        return "it begins with another entry"
    return "" if entries == sorted(set(entries)) else "its entries are not in order"
