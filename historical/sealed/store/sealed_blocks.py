"""Queries on sealed blocks and their texts."""

import logging
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from columns.caches import ByteCache
from columns.raw_queries import fetch_all, fetch_one, fetch_together
from historical.errors import SealedDataDamaged
from historical.sealed.dictionary import DamagedDictionary, SegmentDictionary, opened
from historical.sealed.entries import (
    ENTRY_BYTES,
    DamagedEntry,
    PackedEntries,
    SealedEntry,
    checked,
    unpack_entries,
)
from shared_state import damage_reports

log = logging.getLogger(__name__)

# Up to 2 MB each, by the number of the range, which no other range gets.
recent_dictionaries: ByteCache[SegmentDictionary] = ByteCache(16_000_000)
# Of an entry and its block: PostgreSQL opens no list of errors for one that has none.
ERR = "{block}.errs[nullif(get_byte({entry}, 64) * 256 + get_byte({entry}, 65), 0)]"
# An entry, its error and its memo, of the place `w` in a LATERAL query; no row unless it is sealed.
ENTRY = (
    f"SELECT e.entry, {ERR.format(block='s', entry='e.entry')} AS err,"
    " s.memos[array_position(s.memo_positions, w.position::int)] AS memo"
    " FROM historical_sealedblock s, LATERAL (SELECT substring(s.entries"
    f" FROM w.position::int * {ENTRY_BYTES} + 1 FOR {ENTRY_BYTES}) AS entry OFFSET 0) AS e"
    f" WHERE s.slot = w.slot AND octet_length(e.entry) = {ENTRY_BYTES}"
)
# A cluster's: of the place ($1, $2), with what else is asked of its block.
_ENTRY_APART = (
    f"SELECT e.entry, {ERR.format(block='e', entry='e.entry')},"
    " e.memos[array_position(e.memo_positions, $2::int)],"
    " e.sealed_range, e.frames, e.ends, e.skipped FROM (SELECT *,"
    f" substring(entries FROM $2::int * {ENTRY_BYTES} + 1 FOR {ENTRY_BYTES}) AS entry"
    " FROM historical_sealedblock WHERE slot = $1) AS e"
    f" WHERE octet_length(e.entry) = {ENTRY_BYTES}"
)


def entries_apart(places: Sequence[tuple[int, int]]) -> list[tuple[Any, ...] | None]:
    """Of each (slot, position) its entry, error and memo, and the columns of its block that are
    sealed_range, frames, ends and skipped; None where it is not sealed.
    """
    found = fetch_together([(_ENTRY_APART, *place) for place in places])
    return [rows[0] if rows else None for rows in found]


class RangeGone(Exception):
    """The last block of a sealed range was removed, and the range with it."""


class SealedRow(NamedTuple):
    """A row of historical_sealedblock: see the model."""

    slot: int
    sealed_range: int
    frames: list[int]
    ends: list[int]
    skipped: int
    packed: PackedEntries

    @property
    def transactions(self) -> int:
        return len(self.packed.entries) // ENTRY_BYTES

    def parts(self) -> list[tuple[int, int, int]]:
        """(frame, first text, end) of the block's texts in its frames."""
        found = []
        start, skipped = 0, self.skipped
        for frame, end in zip(self.frames, self.ends, strict=True):
            found.append((frame, skipped, skipped + end - start))
            start, skipped = end, 0
        return found

    def text_place(self, position: int) -> tuple[int, int]:
        """(frame, index of the text in it) of a transaction."""
        number = bisect_right(self.ends, position)
        start = self.ends[number - 1] if number else 0
        return self.frames[number], position - start + (0 if number else self.skipped)


# A row where the block of the slot $1 is the recording $2.
RECORDING = "SELECT 1 FROM historical_block WHERE slot = $1 AND xmin::text::bigint = $2"
_COLUMNS = (
    "s.slot, s.sealed_range, s.frames, s.ends, s.skipped,"
    " s.entries, s.errs, s.memo_positions, s.memos"
)


def row_of(columns: Sequence[Any]) -> SealedRow:
    slot, sealed_range, frames, ends, skipped, *packed = columns
    return SealedRow(slot, sealed_range, frames, ends, skipped, PackedEntries(*packed))


def sealed_block(slot: int) -> SealedRow | None:
    row = fetch_one(f"SELECT {_COLUMNS} FROM historical_sealedblock s WHERE s.slot = $1", slot)
    return None if row is None else row_of(row)


def sealed_blocks(slots: Sequence[int]) -> list[SealedRow]:
    rows = fetch_all(
        f"SELECT {_COLUMNS} FROM historical_sealedblock s WHERE s.slot = ANY($1) ORDER BY s.slot",
        slots,
    )
    return [row_of(row) for row in rows]


def sealed_recording(slot: int, recording: int) -> SealedRow | None:
    """None when that recording is gone or not sealed."""
    # The block last: while it is this recording, so was the row that was read before it.
    rows, there = fetch_together(
        [
            (f"SELECT {_COLUMNS} FROM historical_sealedblock s WHERE s.slot = $1", slot),
            (RECORDING, slot, recording),
        ]
    )
    return row_of(rows[0]) if there and rows else None


def entries_of(row: SealedRow) -> list[SealedEntry]:
    """Raises SealedDataDamaged."""
    try:
        return unpack_entries(row.packed)
    except (DamagedEntry, ValueError) as error:
        raise damaged("entries", row.slot, f"the entries of block {row.slot}", error) from None


def checked_entry(
    slot: int, position: int, entry: bytes, err: str | None, memo: str | None
) -> SealedEntry:
    """Raises SealedDataDamaged."""
    try:
        return checked(entry, err, memo)
    except DamagedEntry as error:
        what = f"the entry of transaction {position} in block {slot}"
        raise damaged("entries", slot, what, error) from None


def frames(numbers: Sequence[int]) -> dict[int, bytes]:
    """The compressed frames of texts, those that there are."""
    rows = fetch_all("SELECT id, frame FROM historical_packedtexts WHERE id = ANY($1)", numbers)
    return {number: bytes(frame) for number, frame in rows}


def dictionary(sealed_range: int) -> SegmentDictionary:
    """Of the range of that number. Raises SealedDataDamaged and RangeGone."""
    return recent_dictionaries.get(sealed_range, lambda: _dictionary(sealed_range))


def _dictionary(sealed_range: int) -> SegmentDictionary:
    row = fetch_one(
        "SELECT keys, dictionary FROM historical_sealedrange WHERE id = $1", sealed_range
    )
    if row is None and not _has_blocks(sealed_range):
        raise RangeGone
    try:
        if row is None:
            raise DamagedDictionary("it is not there")
        return SegmentDictionary(opened(row[0]), opened(row[1]))
    except DamagedDictionary as error:
        what = f"the dictionary of sealed range {sealed_range}"
        raise damaged("dictionary", sealed_range, what, error) from None


def _has_blocks(sealed_range: int) -> bool:
    """Reads the table: it is asked when a range was removed between two reads only."""
    return (
        fetch_one(
            "SELECT 1 FROM historical_sealedblock WHERE sealed_range = $1 LIMIT 1", sealed_range
        )
        is not None
    )


def damaged(kind: str, number: int, what: str, error: Exception) -> SealedDataDamaged:
    """The error to raise; an operator finds it in the log, and the scrub notes it: see
    LedgerDamage.
    """
    damage_reports.report("ledger", f"{kind}:{number}")
    log.error("sealed data is damaged: %s: %s", what, error)
    return SealedDataDamaged(what)
