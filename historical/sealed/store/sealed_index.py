"""Reads of the sealed indexes. Each raises Moved when its runs are not those of the version.
A cluster's are read in threads only.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from columns.clusters import is_clustered
from columns.raw_queries import Query, afetch_all, fetch_together
from historical.sealed.store.sealed_state import VERSION, VERSION_QUERY, Moved, Run


class IndexBlock(NamedTuple):
    """A block of a run, and its first entry."""

    run: int
    first_entry: bytes
    block: bytes


_OF_RUNS = (
    f"SELECT v.number, p.* FROM {VERSION} AS v LEFT JOIN LATERAL ("
    " SELECT w.run, q.first_entry, q.block FROM unnest((SELECT $1)) AS w(run), LATERAL ("
    " SELECT first_entry, block FROM historical_packedindex"
    " WHERE run = w.run AND first_entry {} $2 ORDER BY first_entry {} LIMIT 1) AS q"
    ") AS p ON true"
)
_BELOW, _ABOVE = _OF_RUNS.format("<", "DESC"), _OF_RUNS.format(">", "")
# Of a signature `w` without a row `h` the blocks that may have its key, of the newest runs first,
# {} at most. The server looks for the key in the blocks: mostly none has it, and none is sent.
CANDIDATES = (
    " LEFT JOIN LATERAL (SELECT r.id AS run, r.removed, q.block FROM ("
    " SELECT id, removed FROM historical_indexrun WHERE state = 1 AND kind = 1"
    " ORDER BY last_slot DESC, id DESC) AS r, LATERAL ("
    " SELECT block FROM historical_packedindex WHERE run = r.id"
    r" AND first_entry <= w.key || '\xffffffffffffffff'::bytea"
    " ORDER BY first_entry DESC LIMIT 1) AS q"
    " WHERE h.slot IS NULL AND position(w.key IN q.block) > 0 LIMIT {}) AS p ON true"
)
# All of them: needed where the newest is of a removed block, or of a signature with the same key.
EVERY = 1_000_000


def _number(first: str, width: str) -> str:
    """Up to eight bytes of the block, the highest first."""
    part = f"encode(substring(b.block FROM {first} FOR {width}), 'hex')"
    return f"('x' || lpad({part}, 16, '0'))::bit(64)::bigint"


_LOWEST = " + ".join(f"(get_byte(p.block, {8 + at})::bigint << {8 * at})" for at in range(5))
_AT = "16 + 5 * b.count + (b.at - 17) / 5 * (b.slots + b.positions)"
# (slot, position) that the candidate `p` has for the key, as SignatureIndex writes them: of a key
# that is there up to three times the highest. It may be another signature's, and anything where
# the block is damaged: what is there has to be compared.
PLACE = (
    f"SELECT b.lowest + {_number(f'{_AT} + 1', 'b.slots')} AS slot,"
    f" {_number(f'{_AT} + b.slots + 1', 'b.positions')} AS position FROM ("
    "SELECT p.block, k.at + 5 * ((substring(p.block FROM k.at + 5 FOR 5) = w.key)::int"
    " + (substring(p.block FROM k.at + 5 FOR 10) = w.key || w.key)::int) AS at,"
    " get_byte(p.block, 4) + 256 * get_byte(p.block, 5) AS count,"
    " least(get_byte(p.block, 6), 5) AS slots, least(get_byte(p.block, 7), 3) AS positions,"
    f" {_LOWEST} AS lowest FROM (SELECT position(w.key IN p.block) AS at OFFSET 0) AS k"
    " WHERE octet_length(p.block) > 16 OFFSET 0) AS b"
)

# A cluster's, of one run $1.
_IN_ONE = (
    "SELECT first_entry, block FROM historical_packedindex"
    " WHERE run = $1 AND first_entry {} $2 ORDER BY first_entry {} LIMIT 1"
)
_BELOW_IN_ONE, _ABOVE_IN_ONE = _IN_ONE.format("<", "DESC"), _IN_ONE.format(">", "")
_WITH_KEY = (
    "SELECT block FROM (SELECT block FROM historical_packedindex WHERE run = $1"
    r" AND first_entry <= $2 || '\xffffffffffffffff'::bytea"
    " ORDER BY first_entry DESC LIMIT 1) AS q WHERE position($2 IN q.block) > 0"
)


async def last_blocks_below(
    runs: Sequence[Run], entry: bytes, version: int
) -> dict[int, IndexBlock]:
    """By run the last block that begins below the entry, of those that have one."""
    return await _blocks(_BELOW, runs, entry, version)


async def first_blocks_above(
    runs: Sequence[Run], entry: bytes, version: int
) -> dict[int, IndexBlock]:
    """By run the first block that begins above the entry, of those that have one."""
    return await _blocks(_ABOVE, runs, entry, version)


async def _blocks(
    sql: str, runs: Sequence[Run], entry: bytes, version: int
) -> dict[int, IndexBlock]:
    if is_clustered():
        one = _BELOW_IN_ONE if sql is _BELOW else _ABOVE_IN_ONE
        several = _apart([(one, run.id, entry) for run in runs], version)
        return {
            run.id: IndexBlock(run.id, *rows[0])
            for run, rows in zip(runs, several, strict=True)
            if rows
        }
    rows = await afetch_all(sql, [run.id for run in runs], entry)
    if rows[0][0] != version:
        raise Moved
    return {run: IndexBlock(run, *rest) for _, run, *rest in rows if run is not None}


def _apart(queries: Sequence[Query], version: int) -> list[list[tuple[Any, ...]]]:
    """The rows of queries on one run each. What they read is there as long as the version is, so
    that is read last.
    """
    *found, ((now,),) = fetch_together([*queries, (VERSION_QUERY,)])
    if now != version:
        raise Moved
    return found


def blocks_with_keys(
    runs: Sequence[Run], keys: Sequence[bytes], version: int
) -> list[tuple[int, int, bytes]]:
    """(run, index of the key, block) of the blocks that may have the keys of signatures, in a
    cluster.
    """
    wanted = [(run.id, number) for run in runs for number in range(len(keys))]
    found = _apart([(_WITH_KEY, run, keys[number]) for run, number in wanted], version)
    return [
        (run, number, rows[0][0]) for (run, number), rows in zip(wanted, found, strict=True) if rows
    ]
