"""An account's writes in a range of slots, newest first, page by page."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b58encode, b64decode, b64encode
from chain.units import Slot
from gaps.coverage import GapEntry
from gaps.errors import EmptyRange
from gaps.parts import parts_between
from historical.transactions.services import recorded_transactions
from jsonrpc.wire import Encoded, encode
from rewind.accounts.results.changes import AccountChange, ChangesPage
from rewind.accounts.results.completeness import Completeness
from rewind.accounts.services import absence, position_lookup
from rewind.accounts.services.account_formatting import Shape, written_data
from rewind.accounts.services.completeness import Findings
from rewind.accounts.store.states import State, newest_state
from rewind.accounts.store.walking import Row, data_of, rows_below, written_later_in_slot
from rewind.errors import BadCursor, BadLimit, TwoStarts
from rewind.models import Gap
from rewind.positions import CARRIED, END_OF_SLOT, START_OF_SLOT, Asked, Position
from rewind.recording.store.slots import is_coarse

DEFAULT_LIMIT = 100
MAX_LIMIT, MAX_WITH_DATA = 1_000, 50
# One page unpacks and hashes no more than this, but for its first entry.
_MOST_HASHED = 64 << 20
_ROWS_AT_ONCE = 256
# What stands around the entries of an answer.
_AROUND = 1_024
_HIGHEST_SLOT = 2**62


@dataclass(frozen=True, slots=True)
class SeenChanges:
    """A page of changes, and what is known of missing ones."""

    page: ChangesPage
    reason: str | None
    completeness: Completeness


@dataclass(frozen=True, slots=True)
class Asking:
    """What a caller asked for. The page begins strictly below a cursor, or at an anchor; `shape` is
    how each entry's data is written, None for entries without data.
    """

    from_slot: int
    to_slot: int
    limit: int | None = None
    shape: Shape | None = None
    cursor: str | None = None
    anchor: Asked | None = None

    @property
    def most(self) -> int:
        """Entries of the page; raises BadLimit."""
        most = MAX_LIMIT if self.shape is None else MAX_WITH_DATA
        if self.limit == 0:
            raise BadLimit(most)
        return min(DEFAULT_LIMIT if self.limit is None else self.limit, most)


class _Cursor(msgspec.Struct, forbid_unknown_fields=True):
    slot: int
    position: int


_read_cursor = msgspec.json.Decoder(_Cursor).decode


def account_changes(pubkey: Pubkey, asking: Asking, *, most_bytes: int) -> SeenChanges:
    """Raises EmptyRange, BadLimit, TwoStarts, BadCursor, SlotTooNew, SlotTooOld, and what an anchor
    may (never a gap: gaps are returned instead). The answer has at most `most_bytes`, but for
    the first entry, which comes whatever its size.
    """
    first, last = asking.from_slot, asking.to_slot
    if first > last:
        raise EmptyRange(Slot(first), Slot(last))
    most = asking.most
    if asking.cursor is not None and asking.anchor is not None:
        raise TwoStarts
    cursor = None if asking.cursor is None else _read(asking.cursor)
    below = position_lookup.before_range(first, last)
    layout = below.layout
    start = _start(asking, cursor)
    # Before the rows: a gap that is filled meanwhile is returned with its rows, never neither.
    gaps = _gaps(first, last)
    key = bytes(pubkey)
    findings = Findings()
    if start.slot >= first and _begins_amid_last_writes(key, start, layout):
        findings.coarse[key] = start.slot, start.slot
    page = _Page(key, asking.shape, most, most_bytes - _AROUND - len(encode(gaps)))
    page.fill(rows_below(key, start, first, layout, at_once=min(most + 1, _ROWS_AT_ONCE)))
    if page.waiting is not None:
        before = newest_state(key, Position(first, CARRIED - 1), layout)
        page.settle(before)
        if page.next is None:
            # The state before the range shows whether its data changed.
            findings.read(key, before, below)
            if before is None and absence.absences([key], {}, below)[1]:
                findings.not_recorded[key] = None
    elif page.before is not None and page.before.order == CARRIED:
        findings.found(key, below.unseen_since(page.before))
    _find_gap(findings, key, page, start, gaps)
    if page.coarse:
        slots = *page.coarse, *findings.coarse.get(key, ())
        findings.coarse[key] = min(slots), max(slots)
    is_partial = absence.misses_writes(key, first, last, layout=layout)
    if is_partial:
        findings.filtered[key] = None
    # What left the archive meanwhile was perhaps not read.
    position_lookup.before_range(first, last)
    return SeenChanges(
        ChangesPage(
            changes=page.entries, next=page.next, truncated_by_bytes=page.is_full, gaps=gaps
        ),
        absence.Absence.FILTERED if is_partial else None,
        findings.completeness(),
    )


def _start(asking: Asking, cursor: Position | None) -> Position:
    """The page's rows stand strictly below it."""
    start = Position(asking.to_slot + 1, CARRIED)
    if asking.anchor is not None:
        slot, order = position_lookup.resolve_position(asking.anchor, tolerate_gaps=True).position
        return min(start, Position(slot, order + 1))
    return start if cursor is None else min(start, cursor)


def _find_gap(
    findings: Findings, key: bytes, page: "_Page", start: Position, gaps: list[GapEntry]
) -> None:
    """The newest gap that the page reaches over: down to the write before its last entry where more
    pages follow, else down to the range's beginning.
    """
    end = 0 if page.next is None or page.before is None else page.before.slot + 1
    for gap in reversed(gaps):
        if gap.from_slot <= start.slot and Position.start_of(gap.from_slot) < start:
            if gap.to_slot >= end:
                findings.gaps[key] = gap
            return


def _begins_amid_last_writes(key: bytes, start: Position, layout: int) -> bool:
    """Whether the page begins in a slot where only the account's last write may be known, below
    that write: what came before it there is perhaps missing.
    """
    if start.order <= START_OF_SLOT or not is_coarse(start.slot):
        return False
    return bool(written_later_in_slot([key], Position(start.slot, start.order - 1), layout))


def _gaps(first: int, last: int) -> list[GapEntry]:
    return [GapEntry.of(*part) for part in parts_between(Gap, first, last, last - first + 1)]


@dataclass(slots=True)
class _Waiting:
    """A write whose entry needs the state before it, which shows whether the data changed."""

    row: Row
    signature: Signature | None
    data: bytes
    digest: bytes


@dataclass(slots=True)
class _Page:
    """Entries, resolved while there is room; `next` then leads to the first that found none."""

    pubkey: bytes
    shape: Shape | None
    most: int
    room: int
    entries: list[Encoded] = field(default_factory=list)
    next: str | None = None
    is_full: bool = False
    waiting: _Waiting | None = None
    hashed: int = 0
    last_entry: Position | None = None
    before: Position | None = None
    coarse: list[int] = field(default_factory=list)

    def fill(self, batches: Iterator[list[Row]]) -> None:
        """The entries of these rows; the last one waits for the state before them all."""
        for rows in batches:
            signatures = _signatures(rows)
            for row in rows:
                if not self._take(row, signatures.get((row.slot, row.position))):
                    return

    def settle(self, before: State | None) -> None:
        """The entry that waits: this is the state before it, if there is one."""
        self._place(_digest(b"" if before is None else before.data))

    def _take(self, row: Row, signature: Signature | None) -> bool:
        """False where the page has ended."""
        data: bytes | None = None
        if self.waiting is not None:
            data = self._data(row)
            self.before = Position(row.slot, row.position)
            if not self._place(_digest(data)):
                return False
        if not row.is_write:
            return True
        if len(self.entries) == self.most:
            return self._end(is_full=False)
        if self.hashed > _MOST_HASHED:
            return self._end(is_full=True)
        if data is None:
            data = self._data(row)
        self.waiting = _Waiting(row, signature, data, _digest(data))
        return True

    def _data(self, row: Row) -> bytes:
        data = data_of(self.pubkey, row)
        self.hashed += len(data)
        return data

    def _place(self, before: bytes) -> bool:
        """Whether there was room; `before` is the digest of the data that the write found."""
        waiting, self.waiting = self.waiting, None
        assert waiting is not None
        text = encode(_entry(waiting, before, self.shape))
        self.room -= len(text) + 1
        if self.room < 0 and self.entries:
            return self._end(is_full=True)
        self.entries.append(Encoded(text))
        self.last_entry = Position(waiting.row.slot, waiting.row.position)
        if waiting.row.is_coarse and waiting.row.position > START_OF_SLOT:
            self.coarse.append(waiting.row.slot)
        return True

    def _end(self, *, is_full: bool) -> bool:
        assert self.last_entry is not None
        self.is_full, self.next = is_full, _cursor(self.last_entry)
        return False


def _entry(written: _Waiting, before: bytes, shape: Shape | None) -> AccountChange:
    row, data = written.row, written.data
    return AccountChange(
        slot=row.slot,
        lamports=row.lamports,
        owner=b58encode(row.owner),
        executable=row.executable,
        rent_epoch=row.rent_epoch,
        space=len(data),
        data_hash=written.digest.hex(),
        data_changed=written.digest != before,
        txn_signature=None if written.signature is None else str(written.signature),
        transaction_index=row.position if _is_of_a_transaction(row) else None,
        data=UNSET if shape is None else written_data(data, shape),
    )


def _signatures(rows: list[Row]) -> dict[tuple[int, int], Signature]:
    """Of the writes that transactions made; those that are not in the ledger are left out."""
    places = [(row.slot, row.position) for row in rows if _is_of_a_transaction(row)]
    return recorded_transactions.signatures_at(places)


def _is_of_a_transaction(row: Row) -> bool:
    return row.is_write and 0 <= row.position < END_OF_SLOT


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _cursor(position: Position) -> str:
    return b64encode(encode(_Cursor(position.slot, position.order)))


def _read(cursor: str) -> Position:
    try:
        read = _read_cursor(b64decode(cursor))
    except (ValueError, msgspec.MsgspecError):
        raise BadCursor from None
    if not (0 <= read.slot <= _HIGHEST_SLOT and CARRIED <= read.position <= END_OF_SLOT):
        raise BadCursor
    return Position(read.slot, read.position)
