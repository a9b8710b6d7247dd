"""Slots that wait to be proven, and what they wrote."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from columns.advisory_locks import AdvisoryLock, try_for, wait_for
from columns.queries import all_rows, execute
from columns.raw_queries import fetch_all, fetch_one


class QueuedSlot(NamedTuple):
    """A row of rewind_slotwrites."""

    slot: int
    parent_slot: int
    blockhash: bytes
    signature_count: int
    pubkeys: bytes
    filtered: bytes
    votes: bytes


class RecordedSlot(NamedTuple):
    """The same with what is read only to check votes."""

    queued: QueuedSlot
    vote_transactions: bytes


_COLUMNS = "slot, parent_slot, blockhash, signature_count, pubkeys, filtered, votes"
_QUEUED = ", ".join(f"q.{name}" for name in _COLUMNS.split(", "))


def claim() -> bool:
    """No other worker proves until the transaction ends; False where one does."""
    return try_for(AdvisoryLock.PROVING)


def wait() -> None:
    """The same, once the other worker is done with its step."""
    wait_for(AdvisoryLock.PROVING)


def put(rows: Sequence[RecordedSlot]) -> None:
    """They wait; one that is there already says what it says now."""
    if not rows:
        return
    values = [(*each.queued, each.vote_transactions) for each in rows]
    execute(
        f"INSERT INTO rewind_slotwrites ({_COLUMNS}, vote_transactions) SELECT * FROM"
        " unnest(%s::bigint[], %s::bigint[], %s::bytea[], %s::bigint[], %s::bytea[],"
        " %s::bytea[], %s::bytea[], %s::bytea[])"
        " ON CONFLICT (slot) DO UPDATE SET is_done = false,"
        " parent_slot = excluded.parent_slot, blockhash = excluded.blockhash,"
        " signature_count = excluded.signature_count, pubkeys = excluded.pubkeys,"
        " filtered = excluded.filtered, votes = excluded.votes,"
        " vote_transactions = excluded.vote_transactions",
        list(map(list, zip(*values, strict=True))),
    )


def following(slot: int) -> QueuedSlot | None:
    """The slot's child, if it waits. A slot that is its own parent is the first of a chain."""
    return _queued(
        f"SELECT {_QUEUED} FROM rewind_slotwrites AS q WHERE parent_slot = $1 AND slot > $1"
        " AND NOT is_done ORDER BY slot LIMIT 1",
        slot,
    )


def child_of(slot: int) -> int | None:
    """That child's slot."""
    found = fetch_one(
        "SELECT slot FROM rewind_slotwrites WHERE parent_slot = $1 AND slot > $1 AND NOT is_done"
        " ORDER BY slot LIMIT 1",
        slot,
    )
    return None if found is None else int(found[0])


def genesis() -> QueuedSlot | None:
    """Slot 0, if it waits."""
    return _queued(
        f"SELECT {_QUEUED} FROM rewind_slotwrites AS q"
        " WHERE slot = $1 AND parent_slot = 0 AND NOT is_done",
        0,
    )


def newest_to_extend() -> int | None:
    """The highest slot with a bank that is not refuted, and a child that waits."""
    found = fetch_one(
        "SELECT p.slot FROM rewind_slotwrites AS q JOIN rewind_slotproof AS p"
        " ON p.slot = q.parent_slot WHERE NOT q.is_done AND q.slot > p.slot AND p.state <> 2"
        " ORDER BY q.slot DESC LIMIT 1"
    )
    return None if found is None else int(found[0])


def waiting(slot: int) -> QueuedSlot | None:
    """The slot, if it waits."""
    return _queued(
        f"SELECT {_QUEUED} FROM rewind_slotwrites AS q WHERE slot = $1 AND NOT is_done", slot
    )


def between(first: int, last: int) -> list[QueuedSlot]:
    """Those of the range, whether their bank is computed or not, ascending."""
    rows = fetch_all(
        f"SELECT {_QUEUED} FROM rewind_slotwrites AS q WHERE slot BETWEEN $1 AND $2 ORDER BY slot",
        first,
        last,
    )
    return [QueuedSlot(*row) for row in rows]


def done(slots: Collection[int]) -> list[QueuedSlot]:
    """Those of the slots whose bank is computed, ascending."""
    rows = fetch_all(
        f"SELECT {_QUEUED} FROM rewind_slotwrites AS q WHERE slot = ANY($1) AND is_done"
        " ORDER BY slot",
        list(slots),
    )
    return [QueuedSlot(*row) for row in rows]


def votes_in(slot: int) -> tuple[bytes, bytes]:
    """The votes of the slot's block, and their transactions, as rewind/proof packs them."""
    row = fetch_one("SELECT votes, vote_transactions FROM rewind_slotwrites WHERE slot = $1", slot)
    return (b"", b"") if row is None else (bytes(row[0]), bytes(row[1]))


def mark_done(slot: int) -> None:
    execute("UPDATE rewind_slotwrites SET is_done = true WHERE slot = %s", [slot])


def reopen(slots: Collection[int]) -> None:
    """Their banks are to be computed again."""
    execute("UPDATE rewind_slotwrites SET is_done = false WHERE slot = ANY(%s)", [list(slots)])


def drop(slots: Collection[int]) -> None:
    execute("DELETE FROM rewind_slotwrites WHERE slot = ANY(%s)", [list(slots)])


def drop_done(slots: Collection[int]) -> None:
    """Those of the slots whose bank is computed; a snapshot's may have a block that still waits."""
    execute("DELETE FROM rewind_slotwrites WHERE slot = ANY(%s) AND is_done", [list(slots)])


def drop_done_between(first: int, last: int) -> None:
    """Those of the range whose bank is computed."""
    execute("DELETE FROM rewind_slotwrites WHERE slot BETWEEN %s AND %s AND is_done", [first, last])


def drop_below(slot: int) -> list[tuple[int, int]]:
    """(slot, parent slot) of those whose bank was not computed, ascending; all are gone but those
    of banks that no vote settled yet.
    """
    rows = all_rows(
        "DELETE FROM rewind_slotwrites AS q WHERE slot < %s AND NOT (is_done AND EXISTS"
        " (SELECT FROM rewind_slotproof AS p WHERE p.slot = q.slot AND p.state = 0))"
        " RETURNING slot, parent_slot, is_done",
        [slot],
    )
    return sorted((slot, parent) for slot, parent, is_done in rows if not is_done)


def newest() -> int | None:
    found = fetch_one("SELECT slot FROM rewind_slotwrites ORDER BY slot DESC LIMIT 1")
    return None if found is None else int(found[0])


def _queued(text: str, slot: int) -> QueuedSlot | None:
    row = fetch_one(text, slot)
    return None if row is None else QueuedSlot(*row)
