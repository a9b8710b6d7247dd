"""What sealing reads and writes. Each step is one transaction, under a lock of its own."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from columns import spreading
from columns.advisory_locks import AdvisoryLock, try_for, wait_for
from columns.clusters import commit_alone, is_clustered
from columns.raw_queries import copy_rows, fetch_all, raw_connection
from historical.ledger_generations import SEALING
from historical.sealed.entries import ENTRY_BYTES, PackedEntries, SealedEntry
from historical.transactions.segments import SEGMENT_SLOTS

log = logging.getLogger(__name__)

# Blocks beyond this do not fit the index.
MOST_SLOT = 2**40 - 1


class RangeRow(NamedTuple):
    """A row of historical_sealedrange, without its dictionary."""

    id: int
    first_slot: int
    last_slot: int
    unindexed: list[int]
    unsealable: list[int]
    is_finished: bool


class UnsealedBlock(NamedTuple):
    """A block that is not sealed, and how large it is."""

    slot: int
    transactions: int
    body_bytes: int


class BodyRow(NamedTuple):
    """The body of a block that is not sealed."""

    slot: int
    transactions: int
    body: bytes
    frames: list[int]


class TextRow(NamedTuple):
    """A transaction of a block that is not sealed: where its text stands, and its entry."""

    slot: int
    position: int
    start: int
    length: int
    frame: int
    entry: SealedEntry


class NewFrame(NamedTuple):
    """A row of historical_packedtexts."""

    id: int
    sealed_range: int
    first_slot: int
    last_slot: int
    frame: bytes


class NewSealedBlock(NamedTuple):
    """A row of historical_sealedblock."""

    slot: int
    sealed_range: int
    packed: PackedEntries
    frames: list[int]
    ends: list[int]
    skipped: int
    stored_bytes: int


def try_alone() -> bool:
    """Takes the lock of all that changes sealed data, for this transaction; False if another has
    it.
    """
    return try_for(AdvisoryLock.LEDGER_SEALING)


def wait_alone() -> None:
    """The same, when the other is done."""
    wait_for(AdvisoryLock.LEDGER_SEALING)


def moved() -> None:
    """Call it in each transaction that changes what reads find sealed."""
    commit_alone()
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "INSERT INTO historical_sealversion AS v (id, number) VALUES (1, 1)"
            " ON CONFLICT (id) DO UPDATE SET number = v.number + 1"
        )
    SEALING.moves()


def ranges() -> list[RangeRow]:
    """All, ascending."""
    rows = fetch_all(
        "SELECT id, first_slot, last_slot, unindexed, unsealable, finished_at IS NOT NULL"
        " FROM historical_sealedrange ORDER BY first_slot"
    )
    return [RangeRow(*row) for row in rows]


_UNSEALED = (
    "FROM historical_block WHERE body IS NOT NULL AND slot BETWEEN $1 AND $2"
    " AND recorded_at < to_timestamp($3::double precision)"
    " AND slot <> ALL(ARRAY(SELECT unnest(unsealable) FROM historical_sealedrange))"
)


def unsealed_blocks(
    first: int, last: int, *, recorded_before: datetime, limit: int
) -> list[UnsealedBlock]:
    """Ascending, both ends inclusive; without those that cannot be sealed."""
    rows = fetch_all(
        f"SELECT slot, transaction_count, octet_length(body) {_UNSEALED} ORDER BY slot LIMIT $4",
        first,
        min(last, MOST_SLOT),
        int(recorded_before.timestamp()),
        limit,
    )
    return [UnsealedBlock(*row) for row in rows]


def bodies(slots: Sequence[int]) -> list[BodyRow]:
    rows = fetch_all(
        "SELECT slot, transaction_count, body, frames FROM historical_block"
        " WHERE slot = ANY($1) AND body IS NOT NULL ORDER BY slot",
        slots,
    )
    return [BodyRow(*row) for row in rows]


def transactions(slots: Sequence[int]) -> list[TextRow]:
    """Of all of the slots, in their order."""
    rows = fetch_all(
        "SELECT slot, position, start, length, frame, signature, err, memo"
        " FROM historical_transaction WHERE slot = ANY($1) ORDER BY slot, position",
        slots,
    )
    return [
        TextRow(slot, position, start, length, frame, SealedEntry(*shown))
        for slot, position, start, length, frame, *shown in rows
    ]


def insert_range(
    first: int, last: int, *, keys: bytes, dictionary: bytes, now: datetime
) -> RangeRow:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "INSERT INTO historical_sealedrange (first_slot, last_slot, keys, dictionary,"
            " unindexed, unsealable, blocks, transactions, text_bytes, packed_bytes,"
            " summarized_pages, started_at)"
            " VALUES (%s, %s, %s, %s, '{}', '{}', 0, 0, 0, 0, 0, %s) RETURNING id",
            (first, last, keys, dictionary, now),
        )
        return RangeRow(cursor.fetchall()[0][0], first, last, [], [], False)


def set_unsealable(sealed_range: int, slots: Iterable[int]) -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_sealedrange SET unsealable = unsealable || %s WHERE id = %s",
            (list(slots), sealed_range),
        )


def set_unindexed(sealed_range: int, segments: Iterable[int]) -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_sealedrange SET unindexed = %s WHERE id = %s",
            (sorted(segments), sealed_range),
        )


# Pages of a range of that index, which is PostgreSQL's default, and of a step.
_PAGES_PER_RANGE = 128
_PAGES_AT_ONCE = 32_768


def summarize_entries(sealed_range: int) -> bool:
    """Makes the index of address entries by slots again for some pages: it keeps the slots of
    deleted rows otherwise, and would lead everywhere in the end. False when all pages were done.
    """
    if is_clustered():
        return _summarize_shards(sealed_range)
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_sealedrange SET summarized_pages = summarized_pages + %s"
            " WHERE id = %s AND summarized_pages < pg_relation_size('historical_addressentries')"
            " / current_setting('block_size')::bigint RETURNING summarized_pages - %s",
            (_PAGES_AT_ONCE, sealed_range, _PAGES_AT_ONCE),
        )
        found = cursor.fetchall()
        if not found:
            return False
        first = found[0][0]
        for function in ("brin_desummarize_range", "brin_summarize_range"):
            cursor.execute(
                f"SELECT {function}('entries_by_slot', page) FROM generate_series("
                "%s, %s, %s) AS page",
                (first, first + _PAGES_AT_ONCE - 1, _PAGES_PER_RANGE),
            )
        return True


# Of a shard, whose index has a name of its own: all pages.
_SUMMARIZE = f"""
SELECT count(*) FROM (SELECT brin_desummarize_range(i.indexrelid, page)::text,
    brin_summarize_range(i.indexrelid, page) FROM pg_index AS i
    JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS a ON a.oid = c.relam
    AND a.amname = 'brin', generate_series(0::bigint, pg_relation_size(i.indrelid)
    / current_setting('block_size')::bigint, {_PAGES_PER_RANGE}) AS page
    WHERE i.indrelid = '%1$s'::regclass OFFSET 0) AS done
"""


def _summarize_shards(sealed_range: int) -> bool:
    """The same of every shard of a cluster, at once."""
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_sealedrange SET summarized_pages = 1"
            " WHERE id = %s AND summarized_pages = 0 RETURNING 1",
            (sealed_range,),
        )
        if not cursor.fetchall() or not spreading.is_spread("historical_addressentries"):
            return False
    # Each node works in a transaction of its own, which waits for locks that this one holds.
    transaction.on_commit(_summarize_each_shard)
    return True


def _summarize_each_shard() -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "SELECT shardid, result FROM run_command_on_shards('historical_addressentries', %s)"
            " WHERE NOT success",
            (_SUMMARIZE,),
        )
        for shard, said in cursor.fetchall():
            log.warning("the index by slots of shard %s was not made again: %s", shard, said)


def finish(sealed_range: int, now: datetime) -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_sealedrange SET finished_at = %s WHERE id = %s", (now, sealed_range)
        )


def frame_numbers(count: int) -> list[int]:
    """Numbers that no other frame gets, ascending."""
    rows = fetch_all(
        "SELECT nextval(pg_get_serial_sequence('historical_packedtexts', 'id'))"
        " FROM generate_series(1, $1)",
        count,
    )
    return sorted(number for (number,) in rows)


def insert_frames(rows: Sequence[NewFrame]) -> None:
    types = ["int8", "int8", "int8", "int8", "bytea"]
    copy_rows("historical_packedtexts", NewFrame._fields, types, rows)


def insert_sealed_blocks(rows: Sequence[NewSealedBlock]) -> None:
    columns = (
        "slot",
        "sealed_range",
        "entries",
        "errs",
        "memo_positions",
        "memos",
        "frames",
        "ends",
        "skipped",
        "stored_bytes",
    )
    types = ["int8", "int8", "bytea", "text[]", "int4[]", "text[]"]
    types += ["int8[]", "int4[]", "int4", "int4"]
    values = [(row.slot, row.sealed_range, *row.packed, *row[3:]) for row in rows]
    copy_rows("historical_sealedblock", columns, types, values)


def drop_unsealed(slots: Sequence[int]) -> tuple[int, int]:
    """Drops bodies and transaction rows of the slots' blocks; how many of each."""
    with raw_connection().cursor() as cursor:
        cursor.execute("DELETE FROM historical_transaction WHERE slot = ANY(%s)", (list(slots),))
        transactions = cursor.rowcount
        cursor.execute(
            "UPDATE historical_block SET body = NULL, frames = '{}'"
            " WHERE slot = ANY(%s) AND body IS NOT NULL",
            (list(slots),),
        )
        return cursor.rowcount, transactions


def count_sealed(
    sealed_range: int, *, blocks: int, transactions: int, text_bytes: int, packed_bytes: int
) -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_sealedrange SET blocks = blocks + %s,"
            " transactions = transactions + %s, text_bytes = text_bytes + %s,"
            " packed_bytes = packed_bytes + %s WHERE id = %s",
            (blocks, transactions, text_bytes, packed_bytes, sealed_range),
        )


def segments_with_unsealed(
    first: int, last: int, *, but: Sequence[int] = ()
) -> dict[int, list[int]]:
    """Segment → slots in the range of slots whose blocks are not sealed."""
    rows = fetch_all(
        "SELECT slot FROM historical_block WHERE body IS NOT NULL AND slot BETWEEN $1 AND $2",
        first,
        last,
    )
    found: dict[int, list[int]] = {}
    for (slot,) in rows:
        if slot not in but:
            found.setdefault(slot // SEGMENT_SLOTS, []).append(slot)
    return found


def sealed_transactions(first: int, last: int) -> dict[int, int]:
    """Segment → how many sealed transactions it has, both ends inclusive."""
    rows = fetch_all(
        f"SELECT slot / {SEGMENT_SLOTS}, sum(octet_length(entries))::bigint / {ENTRY_BYTES}"
        " FROM historical_sealedblock WHERE slot BETWEEN $1 AND $2 GROUP BY 1 ORDER BY 1",
        first,
        last,
    )
    return dict(rows)


def sealed_slots(first: int, last: int) -> set[int]:
    rows = fetch_all(
        "SELECT slot FROM historical_sealedblock WHERE slot BETWEEN $1 AND $2", first, last
    )
    return {slot for (slot,) in rows}
