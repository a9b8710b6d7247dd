"""Reads of the sealed indexes. Each raises Moved when its runs are not those of the version."""

from collections.abc import Sequence
from typing import NamedTuple

from columns.raw_queries import fetch_all
from historical.store.sealed_state import VERSION, Moved, Run


class IndexBlock(NamedTuple):
    """A block of a run, and its first entry."""

    run: int
    first_entry: bytes
    block: bytes


_OF_RUNS = (
    f"SELECT v.number, p.* FROM {VERSION} AS v LEFT JOIN LATERAL ("
    " SELECT w.run, q.first_entry, q.block FROM unnest($1) AS w(run), LATERAL ("
    " SELECT first_entry, block FROM historical_packedindex"
    " WHERE run = w.run AND first_entry {} $2 ORDER BY first_entry {} LIMIT 1) AS q"
    ") AS p ON true"
)
_BELOW, _ABOVE = _OF_RUNS.format("<", "DESC"), _OF_RUNS.format(">", "")
# The server looks for the keys in the blocks: mostly none has them, and none is sent.
_WITH_KEYS = (
    f"SELECT v.number, p.* FROM {VERSION} AS v LEFT JOIN LATERAL ("
    " SELECT w.run, k.number AS key, q.block FROM unnest($1) AS w(run),"
    " unnest($2) WITH ORDINALITY AS k(key, number), LATERAL ("
    " SELECT block FROM historical_packedindex WHERE run = w.run"
    r" AND first_entry <= k.key || '\xffffffffffffffff'::bytea"
    " ORDER BY first_entry DESC LIMIT 1) AS q WHERE position(k.key IN q.block) > 0"
    ") AS p ON true"
)


def last_blocks_below(runs: Sequence[Run], entry: bytes, version: int) -> dict[int, IndexBlock]:
    """By run the last block that begins below the entry, of those that have one."""
    return _blocks(_BELOW, runs, entry, version)


def first_blocks_above(runs: Sequence[Run], entry: bytes, version: int) -> dict[int, IndexBlock]:
    """By run the first block that begins above the entry, of those that have one."""
    return _blocks(_ABOVE, runs, entry, version)


def _blocks(sql: str, runs: Sequence[Run], entry: bytes, version: int) -> dict[int, IndexBlock]:
    rows = fetch_all(sql, [run.id for run in runs], entry)
    if rows[0][0] != version:
        raise Moved
    return {run: IndexBlock(run, *rest) for _, run, *rest in rows if run is not None}


def blocks_with_keys(
    runs: Sequence[Run], keys: Sequence[bytes], version: int
) -> list[tuple[int, int, bytes]]:
    """(run, index of the key, block) of the blocks that may have the keys of signatures."""
    rows = fetch_all(_WITH_KEYS, [run.id for run in runs], keys)
    if rows[0][0] != version:
        raise Moved
    return [(run, number - 1, block) for _, run, number, block in rows if run is not None]
