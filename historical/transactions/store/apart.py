"""Lists of transactions in the form of a cluster: each statement has one spread table, or the
coordinator's own, and what they say is put together here.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from columns.raw_queries import fetch_all
from historical.sealed.store import sealed_blocks


class ListedRow(NamedTuple):
    """What a list of transactions shows; err as transactions/outcomes.py reads it, memo a JSON
    string.
    """

    slot: int
    position: int
    signature: bytes
    err: str | None
    memo: str | None
    block_time: int | None


class ListedColumns(NamedTuple):
    """What lists of transactions show, by column: positions are places in the block, errs as in a
    row but empty for None, memos JSON strings or `null`, times Unix seconds or `null`.
    """

    slots: Sequence[int]
    positions: Sequence[int]
    signatures: list[bytes]
    errs: list[str]
    memos: list[str]
    times: list[str]


_TRANSACTIONS = (
    "SELECT slot, position, start, length, frame, signature, err, memo FROM historical_transaction"
    " WHERE slot = ANY($1) AND position = ANY($2)"
)
_BLOCKS = (
    "SELECT slot, blockhash, block_time, form, xmin::text::bigint FROM historical_block"
    " WHERE slot = ANY($1)"
)


def transactions_at(
    places: Sequence[tuple[int, int]],
) -> Mapping[tuple[int, int], tuple[Any, ...]]:
    """(slot, position) → slot, position, start, length, frame, signature, err and memo of those
    that are not sealed.
    """
    if not places:
        return {}
    slots, positions = (list(dict.fromkeys(each)) for each in zip(*places, strict=True))
    wanted = set(places)
    rows = fetch_all(_TRANSACTIONS, slots, positions)
    return {row[:2]: row for row in rows if row[:2] in wanted}


def blocks_of(slots: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Slot → blockhash, time, form and recording."""
    if not slots:
        return {}
    return {slot: tuple(rest) for slot, *rest in fetch_all(_BLOCKS, list(slots))}


def listed(places: Sequence[tuple[int, int]]) -> list[tuple[tuple[int, int], ListedRow]]:
    """The transactions at the places, in their order, sealed or not. Raises SealedDataDamaged."""
    found = transactions_at(places)
    missing = [place for place in places if place not in found]
    # After the others: what is sealed meanwhile is found here.
    sealed = dict(zip(missing, sealed_blocks.entries_apart(missing), strict=True))
    blocks = blocks_of({slot for slot, _ in places})
    rows = []
    for place in places:
        row, entry = found.get(place), sealed.get(place)
        block = blocks.get(place[0])
        if block is None:
            continue
        if row is not None:
            shown = row[5:]
        elif entry is not None:
            shown = sealed_blocks.checked_entry(*place, *entry[:3])
        else:
            continue
        signature, err, memo = shown
        rows.append((place, ListedRow(*place, signature, err, memo, block[1])))
    return rows


def columns_of(rows: Sequence[ListedRow]) -> ListedColumns:
    """The same by columns."""
    return ListedColumns(
        [row.slot for row in rows],
        [row.position for row in rows],
        [row.signature for row in rows],
        [row.err or "" for row in rows],
        [row.memo or "null" for row in rows],
        ["null" if row.block_time is None else str(row.block_time) for row in rows],
    )
