"""Writing blocks: COPY under the same models, because the ORM is fifty times slower."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import psycopg

from columns import clusters
from columns.raw_queries import copy_rows, raw_connection
from columns.slot_cells import RUN_SLOTS
from historical.blocks.bodies import Body

# A link that says more than this is of a made-up block: the sum of a run still fits its column.
_MOST_SKIPPED = 2**50


class NewBlock(NamedTuple):
    """A row of historical_block but for its body."""

    slot: int
    parent_slot: int
    blockhash: bytes
    previous_blockhash: bytes
    block_time: int | None
    block_height: int | None
    transaction_count: int
    failed_count: int
    newest_version: int
    form: int
    reward_partitions: int | None
    rewards: bytes | None
    recorded_at: datetime


class NewTransaction(NamedTuple):
    """A row of historical_transaction."""

    slot: int
    position: int
    start: int
    length: int
    frame: int
    signature: bytes
    err: str | None
    memo: str | None


class NewEntries(NamedTuple):
    """A row of historical_addressentries."""

    first_slot: int
    address: bytes
    entries: bytes


_BLOCK_COLUMNS = (*NewBlock._fields, "frames", "body")
_INSERT_BLOCK = (
    f"INSERT INTO historical_block ({', '.join(_BLOCK_COLUMNS)})"
    f" VALUES ({', '.join(['%s'] * len(_BLOCK_COLUMNS))}) ON CONFLICT DO NOTHING"
)


def insert_block(block: NewBlock, body: Body) -> bool:
    """False when another writer's block is there already."""
    with psycopg.Cursor(raw_connection()) as cursor:
        cursor.execute(_INSERT_BLOCK, (*block, body.frames, psycopg.Binary(body.data)))
        return cursor.rowcount == 1


def copy_transactions(rows: Sequence[NewTransaction]) -> None:
    types = ["int8", "int4", "int4", "int4", "int2", "bytea", "text", "text"]
    copy_rows("historical_transaction", NewTransaction._fields, types, rows)


def copy_entries(rows: Sequence[NewEntries]) -> None:
    copy_rows("historical_addressentries", NewEntries._fields, ["int8", "bytea", "bytea"], rows)


class BlockCounts:
    """What a batch adds to the counts over runs of 1,000 slots, in the transaction of what they
    count.
    """

    def __init__(self) -> None:
        self._added: dict[int, tuple[int, int]] = {}

    def add(self, slot: int, parent: int, *, blocks: int = 1) -> None:
        """A block more, or with `blocks` of -1 one less."""
        run = slot // RUN_SLOTS
        known = self._added.get(run, (0, 0))
        skipped = min(max(slot - parent - 1, 0), _MOST_SKIPPED)
        self._added[run] = (known[0] + blocks, known[1] + blocks * skipped)

    def write(self) -> None:
        """Last in a transaction's writing of blocks, and in one order for all: a writer of
        the same run waits until it ends.
        """
        rows = sorted((run, *added) for run, added in self._added.items())
        if not rows:
            return
        clusters.commit_alone()
        with raw_connection().cursor() as cursor:
            for row in rows:
                cursor.execute(
                    "INSERT INTO historical_blocktally AS stored (run, blocks, skipped)"
                    " VALUES (%s, %s, %s) ON CONFLICT (run) DO UPDATE SET"
                    " blocks = stored.blocks + excluded.blocks,"
                    " skipped = stored.skipped + excluded.skipped",
                    row,
                )
            if all(blocks > 0 for _, blocks, _ in rows):
                return
            cursor.execute(
                "DELETE FROM historical_blocktally WHERE run = ANY(%s) AND blocks = 0",
                ([run for run, _, _ in rows],),
            )


def counts_of(blocks: Iterable[tuple[int, int]], *, count: int = 1) -> BlockCounts:
    """Of (slot, parent slot)."""
    counts = BlockCounts()
    for slot, parent in blocks:
        counts.add(slot, parent, blocks=count)
    return counts
