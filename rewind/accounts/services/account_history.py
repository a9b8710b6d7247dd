"""An account's history for staff: its writes, what each changed, and what may be missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.slot_ranges import SlotRange
from historical.transactions.services import recorded_transactions
from rewind.accounts.store import absence
from rewind.accounts.store import account_history as store
from rewind.accounts.store.account_history import WholeWrite, Write
from rewind.coverage.store import coverage
from rewind.coverage.store.coverage import Summary
from rewind.models import Gap
from rewind.positions import END_OF_SLOT, Position
from rewind.recording.store.gaps import newest_open

_MOST_GAPS = 1_000
_LINE = 16


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the account. `changed` names the fields that differ from the row before it, which is
    `older`; `gap` lies between the two. `is_coarse`: earlier writes of its slot may be missing.
    `signature` is None for writes outside transactions, and where the ledger has no block.
    """

    write: Write
    older: Write | None
    changed: list[str]
    gap: Gap | None
    is_coarse: bool
    signature: Signature | None


@dataclass(frozen=True, slots=True)
class History:
    """A page of entries, newest first; `before` is where the next page begins, None on the last.
    `summary` counts the range's slots; `gaps` are the open ones from the page's top down, newest
    first, and `has_more_gaps` where there are too many. `dropped` are slots between which a filter
    dropped writes.
    """

    window: SlotRange
    entries: list[Entry]
    before: Position | None
    summary: Summary
    gaps: list[Gap]
    has_more_gaps: bool
    is_filtered: bool
    dropped: SlotRange | None


class ChangedLine(NamedTuple):
    """16 bytes of data that differ; empty on a side that is shorter."""

    offset: int
    a: bytes
    b: bytes


def account_history(
    pubkey: Pubkey,
    *,
    first: int | None,
    last: int | None,
    before: Position | None,
    limit: int,
) -> History | None:
    """The rows from slot `first` to `last` (by default all). None while nothing is archived."""
    summary = coverage.summary(first or 0, 2**62 if last is None else last)
    if summary is None:
        return None
    # Baselines may lie below the lowest archived slot.
    window = SlotRange(first or 0, summary.latest if last is None else last)
    # Gaps before rows: one that is filled meanwhile is shown with its rows.
    top = summary.last if before is None else min(summary.last, before.slot)
    gaps = newest_open(summary.first, top, _MOST_GAPS + 1)
    writes = store.newest_writes(pubkey, window, before=before, limit=limit)
    older = _row_before(pubkey, writes)
    filters = absence.filters_of(bytes(pubkey))
    newest = writes[0] if writes else None
    return History(
        window=window,
        entries=list(_entries(writes, older, gaps)),
        before=writes[-1].place if older and older.place.slot >= window.first else None,
        summary=summary,
        gaps=gaps[:_MOST_GAPS],
        has_more_gaps=len(gaps) > _MOST_GAPS,
        is_filtered=filters.is_filtered
        or (newest is not None and bytes(newest.owner) in filters.filtered_owners),
        dropped=None
        if filters.first_dropped is None
        else SlotRange(filters.first_dropped, filters.last_dropped),
    )


def changed_fields(older: Write | None, newer: Write) -> list[str]:
    """The fields that differ; none where there is no older row."""
    if older is None:
        return []
    pairs = {
        "lamports": (older.lamports, newer.lamports),
        "owner": (older.owner, newer.owner),
        "data": (older.digest, newer.digest),
        "executable": (older.executable, newer.executable),
        "rent epoch": (older.rent_epoch, newer.rent_epoch),
    }
    return [name for name, (a, b) in pairs.items() if a != b]


def is_of_a_transaction(write: Write) -> bool:
    return not write.is_base and 0 <= write.place.order < END_OF_SLOT


def row_at(pubkey: Pubkey, place: Position) -> WholeWrite | None:
    """The row at the position; None if it is not there."""
    return store.row_at(pubkey, place)


def rows_to_compare(
    pubkey: Pubkey, a: Position, b: Position
) -> tuple[WholeWrite, WholeWrite] | None:
    """The rows at both positions; None where one is not there."""
    rows = store.row_at(pubkey, a), store.row_at(pubkey, b)
    return None if rows[0] is None or rows[1] is None else (rows[0], rows[1])


def changed_lines(a: bytes, b: bytes, *, limit: int) -> tuple[list[ChangedLine], bool]:
    """The first lines of 16 bytes that differ, and whether there are more."""
    found: list[ChangedLine] = []
    for offset in range(0, max(len(a), len(b)), _LINE):
        line = ChangedLine(offset, a[offset : offset + _LINE], b[offset : offset + _LINE])
        if line.a != line.b:
            if len(found) == limit:
                return found, True
            found.append(line)
    return found, False


def _row_before(pubkey: Pubkey, writes: list[Write]) -> Write | None:
    """The row before the page's last one, which may lie below the range."""
    if not writes:
        return None
    last = writes[-1].place
    found = store.newest_writes(pubkey, SlotRange(0, last.slot), before=last, limit=1)
    return found[0] if found else None


def _entries(writes: list[Write], rest: Write | None, gaps: list[Gap]) -> Iterator[Entry]:
    places = [each.place for each in writes if is_of_a_transaction(each)]
    signatures = recorded_transactions.signatures_at(
        [(place.slot, place.order) for place in places]
    )
    coarse = store.coarse_among(each.place.slot for each in writes)
    for write, older in zip(writes, [*writes[1:], rest], strict=False):
        slot = write.place.slot
        below = -1 if older is None else older.place.slot
        yield Entry(
            write=write,
            older=older,
            changed=changed_fields(older, write),
            gap=next((gap for gap in gaps if below < gap.to_slot and gap.from_slot < slot), None),
            is_coarse=slot in coarse,
            signature=signatures.get((slot, write.place.order))
            if is_of_a_transaction(write)
            else None,
        )
