"""Queries on blocks. Raw and prepared where a request waits for them: the ORM costs 0.3 ms each."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from chain.units import I64_MAX
from columns.caches import GenerationCache
from columns.raw_queries import afetch_one, fetch_all, fetch_one
from eventloop.faces import complete
from historical.ledger_generations import CHANGES, REMOVALS


class BlockRow(NamedTuple):
    """A block without its body; blockhashes are 32 bytes, rewards a JSON array or None; `recording`
    is another when the block was taken out and recorded again.
    """

    slot: int
    parent_slot: int
    blockhash: bytes
    previous_blockhash: bytes
    block_time: int | None
    block_height: int | None
    transaction_count: int
    newest_version: int
    form: int
    reward_partitions: int | None
    rewards: bytes | None
    recording: int


# Rewards, at an epoch's first blocks, are megabytes.
_LONGEST_REWARDS = 4_096
_blocks: GenerationCache[int, BlockRow] = GenerationCache(REMOVALS, 2_000)
_bounds: GenerationCache[None, tuple[int, int]] = GenerationCache(CHANGES, 1)


def known_block(slot: int) -> BlockRow | None:
    """The block, if this process remembers it."""
    return None if _blocks.now() is None else _blocks.find(slot)


def block(slot: int) -> BlockRow | None:
    found = known_block(slot)
    return block_now(slot) if found is None else found


def block_now(slot: int) -> BlockRow | None:
    """As the database has it, whatever is remembered."""
    number = _blocks.now()
    row = fetch_one(
        "SELECT slot, parent_slot, blockhash, previous_blockhash, block_time, block_height,"
        " transaction_count, newest_version, form, reward_partitions, rewards, xmin::text::bigint"
        " FROM historical_block WHERE slot = $1",
        slot,
    )
    if row is None:
        return None
    found = BlockRow(*row)
    if len(found.rewards or b"") <= _LONGEST_REWARDS:
        _blocks.keep(slot, found, number)
    return found


def rivals(slot: int, blockhash: bytes) -> list[tuple[int, bytes, int]]:
    """(slot, blockhash, transactions) of the block of the slot, and of the one of that hash."""
    return fetch_all(
        "SELECT slot, blockhash, transaction_count FROM historical_block WHERE slot = $1"
        " UNION ALL SELECT slot, blockhash, transaction_count FROM historical_block"
        " WHERE blockhash = $2 AND slot <> $1",
        slot,
        blockhash,
    )


def blockhashes_between(first: int, last: int) -> list[tuple[int, bytes]]:
    """(slot, blockhash) of every block in the range, both ends inclusive."""
    return fetch_all(
        "SELECT slot, blockhash FROM historical_block WHERE slot BETWEEN $1 AND $2", first, last
    )


def body(slot: int) -> tuple[bytes, list[int]] | None:
    """The compressed body and its frames' end offsets; None where there is none, or it is
    sealed.
    """
    row = fetch_one(
        "SELECT body, frames FROM historical_block WHERE slot = $1 AND body IS NOT NULL", slot
    )
    return None if row is None else (row[0], row[1])


def body_of_recording(slot: int, recording: int) -> tuple[bytes, list[int]] | None:
    """The same, None when that recording is gone or sealed."""
    row = fetch_one(
        "SELECT body, frames FROM historical_block"
        " WHERE slot = $1 AND xmin::text::bigint = $2 AND body IS NOT NULL",
        slot,
        recording,
    )
    return None if row is None else (row[0], row[1])


def bounds() -> tuple[int, int] | None:
    """The lowest and the highest stored slot; None when there is none."""
    return complete(abounds())


async def abounds() -> tuple[int, int] | None:
    """The same, awaited."""
    return await _bounds.aget(None, _read_bounds)


async def _read_bounds() -> tuple[int, int] | None:
    row = await afetch_one(
        "SELECT (SELECT slot FROM historical_block ORDER BY slot LIMIT 1),"
        " (SELECT slot FROM historical_block ORDER BY slot DESC LIMIT 1)"
    )
    return None if row is None or row[0] is None else (row[0], row[1])


def parent_of_next_block(slot: int) -> int | None:
    """The parent link of the lowest block above the slot."""
    row = fetch_one(
        "SELECT parent_slot FROM historical_block WHERE slot > $1 ORDER BY slot LIMIT 1", slot
    )
    return None if row is None else int(row[0])


def links_between(first: int, last: int, *, and_next: bool = False) -> list[tuple[int, int]]:
    """(slot, parent slot) of every block in the range, ascending; and of the next one above it."""
    found = fetch_all(
        "SELECT slot, parent_slot FROM historical_block WHERE slot BETWEEN $1 AND $2 ORDER BY slot",
        first,
        last,
    )
    if and_next:
        found += fetch_all(
            "SELECT slot, parent_slot FROM historical_block WHERE slot > $1 ORDER BY slot LIMIT 1",
            last,
        )
    return found


def has_missing_parents(first: int, last: int) -> bool:
    """Whether a block of the range names a parent in the range that is not there."""
    return bool(
        fetch_all(
            "SELECT 1 FROM historical_block b WHERE b.slot BETWEEN $1 AND $2"
            " AND b.parent_slot >= $1"
            " AND NOT EXISTS (SELECT FROM historical_block p WHERE p.slot = b.parent_slot) LIMIT 1",
            first,
            last,
        )
    )


class Around(NamedTuple):
    """What the ledger has at a slot and beside it: blockhashes, None where there is no block."""

    own: bytes | None
    parent: bytes | None
    child_slot: int | None
    named_by_child: bytes | None


def around(slot: int, parent_slot: int) -> Around:
    """The block of the slot, its parent, and what its child calls its parent's blockhash."""
    row = fetch_one(
        "SELECT (SELECT blockhash FROM historical_block WHERE slot = $1),"
        " (SELECT blockhash FROM historical_block WHERE slot = $2), child.slot,"
        " child.previous_blockhash FROM (SELECT) AS one LEFT JOIN LATERAL ("
        " SELECT slot, parent_slot, previous_blockhash FROM historical_block"
        " WHERE slot > $1 ORDER BY slot LIMIT 1) AS child ON child.parent_slot = $1",
        slot,
        parent_slot,
    )
    assert row is not None
    return Around(*row)


def heights_between(first: int, last: int) -> list[tuple[int, int, int | None]]:
    """(slot, parent slot, height) of every block in the range, ascending."""
    return fetch_all(
        "SELECT slot, parent_slot, block_height FROM historical_block"
        " WHERE slot BETWEEN $1 AND $2 ORDER BY slot",
        first,
        last,
    )


def blocks_of_hashes(blockhashes: Sequence[bytes]) -> dict[bytes, tuple[int, int | None]]:
    """Blockhash → (slot, height), for those that the ledger has."""
    if not blockhashes:
        return {}
    rows = fetch_all(
        "SELECT blockhash, slot, block_height FROM historical_block WHERE blockhash = ANY($1)",
        blockhashes,
    )
    return {blockhash: (slot, height) for blockhash, slot, height in rows}


def slots_between(first: int, last: int, limit: int) -> list[int]:
    """Slots that hold a block, ascending, both ends inclusive."""
    rows = fetch_all(
        "SELECT slot FROM historical_block WHERE slot BETWEEN $1 AND $2 ORDER BY slot LIMIT $3",
        first,
        last,
        limit,
    )
    return [slot for (slot,) in rows]


def slots_in_time(earliest: int | None, latest: int | None) -> tuple[int, int]:
    """The lowest and the highest slot of blocks made in the time, Unix seconds, both ends
    inclusive; (0, -1) when there is none.
    """
    row = fetch_one(
        "SELECT min(slot), max(slot) FROM historical_block WHERE block_time BETWEEN $1 AND $2",
        -(2**63) if earliest is None else _bounded(earliest),
        I64_MAX if latest is None else _bounded(latest),
    )
    return (0, -1) if row is None or row[0] is None else (row[0], row[1])


def slots_beside_time(earliest: int | None, latest: int | None) -> tuple[int | None, int | None]:
    """The highest slot of blocks made before the time, Unix seconds, and the lowest of those made
    after it; None where there is none.
    """
    row = fetch_one(
        "SELECT (SELECT slot FROM historical_block WHERE block_time < $1"
        " ORDER BY block_time DESC, slot DESC LIMIT 1), (SELECT slot FROM historical_block"
        " WHERE block_time > $2 ORDER BY block_time, slot LIMIT 1)",
        -(2**63) if earliest is None else _bounded(earliest),
        I64_MAX if latest is None else _bounded(latest),
    )
    return (None, None) if row is None else (row[0], row[1])


def time_at(slot: int) -> int | None:
    """When the newest block at or below the slot was made, Unix seconds; None if unknown."""
    row = fetch_one(
        "SELECT block_time FROM historical_block WHERE slot <= $1 ORDER BY slot DESC LIMIT 1", slot
    )
    return None if row is None else row[0]


# The newest block, and the one some hours before it.
_PASSED = """
WITH newest AS (SELECT slot, block_time FROM historical_block
    WHERE block_time IS NOT NULL ORDER BY slot DESC LIMIT 1)
SELECT newest.slot - older.slot, newest.block_time - older.block_time FROM newest, LATERAL (
    SELECT slot, block_time FROM historical_block WHERE block_time IS NOT NULL
        AND slot BETWEEN newest.slot - $1 AND newest.slot - $2 ORDER BY slot LIMIT 1) AS older
"""


def slots_and_seconds(*, least: int = 5_000, most: int = 50_000) -> tuple[int, int] | None:
    """How many slots the newest stored ones are, and the seconds that they took by block time; None
    where less are stored.
    """
    rows = fetch_all(_PASSED, most, least)
    return (int(rows[0][0]), int(rows[0][1])) if rows else None


def slots_before(times: Collection[int]) -> dict[int, int]:
    """By time, Unix seconds: a slot of the newest blocks made before it, if there are any."""
    return _slots_by_time("< t.time ORDER BY block_time DESC", times)


def slots_since(times: Collection[int]) -> dict[int, int]:
    """By time, Unix seconds: the lowest slot of the first blocks made then or later, if any are."""
    return _slots_by_time(">= t.time ORDER BY block_time, slot", times)


def _slots_by_time(order: str, times: Collection[int]) -> dict[int, int]:
    if not times:
        return {}
    rows = fetch_all(
        "SELECT t.time, b.slot FROM unnest((SELECT $1::bigint[])) AS t(time) CROSS JOIN LATERAL"
        f" (SELECT slot FROM historical_block WHERE block_time {order} LIMIT 1) AS b",
        list(times),
    )
    return dict(rows)


def _bounded(time: int) -> int:
    return max(-(2**63), min(time, I64_MAX))
