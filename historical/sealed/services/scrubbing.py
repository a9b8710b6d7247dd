"""Reads what is sealed of the ledger through for damage, and looks into what reads report."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import zstandard
from django.db import transaction

from historical.errors import SealedDataDamaged
from historical.models import LedgerDamage
from historical.sealed.dictionary import SegmentDictionary
from historical.sealed.packed_index import INDEXES, DamagedBlock
from historical.sealed.packed_texts import DamagedFrame, OpenFrame
from historical.sealed.store import damage, sealed_blocks, sealing
from historical.sealed.store.damage import IndexBlockRow, Kind
from historical.sealed.store.sealed_blocks import RangeGone, SealedRow
from sealed.life import Scrubbed

# Of a step.
_BLOCKS, _INDEX_BLOCKS = 16, 200
# What decoding bytes may raise that no encoder wrote.
_UNREADABLE = (
    DamagedFrame,
    DamagedBlock,
    zstandard.ZstdError,
    struct.error,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
)


@dataclass(slots=True)
class Fault:
    """What is damaged, and why."""

    kind: str
    number: int
    reason: str


def read_next(before: datetime, now: datetime) -> Scrubbed[LedgerDamage] | None:
    """The next sealed blocks, or blocks of the index, if all of it was read last before that
    moment.
    """
    scrub = damage.scrub_of(before)
    if scrub is None:
        return None
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


@transaction.atomic
def look_into(report: str, now: datetime) -> list[LedgerDamage]:
    """Reads what a read met damage in: its kind and number."""
    kind, number = report.split(":")
    sealing.wait_alone()
    return _noted(faults_of(kind, int(number)), "read", now)


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
        noted = damage.DAMAGES.note(
            {"kind": each.kind, "number": each.number},
            first_slot=slots[0],
            last_slot=slots[1],
            reason=each.reason,
            found_by=found_by,
            now=now,
        )
        if noted is not None:
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
    sealed_blocks.recent_dictionaries.forget()
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
