"""Writing blocks: COPY under the same models, because the ORM is fifty times slower."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import psycopg

from columns.raw_queries import raw_connection
from historical.blocks.bodies import Body
from historical.recording.store.copying import copy_rows


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
