"""Blocks, archived slots, gaps and all that stands beside them in numbers, written by SQL."""

from typing import Any

FIRST_SLOT = 300_000_000
# Every twentieth slot was skipped; of each other million a stretch is lacking.
_THERE = "slot %% 20 <> 7"

_STATEMENTS = (
    # Two in a hundred thousand slots are lacking here and there, in gaps of up to nine slots.
    f"""
    INSERT INTO historical_block (slot, parent_slot, blockhash, previous_blockhash, block_time,
        block_height, transaction_count, failed_count, newest_version, form, frames, body,
        recorded_at)
    SELECT slot, slot - 1 - (slot %% 20 = 8)::int, int8send(slot) || repeat('a', 24)::bytea,
        int8send(slot - 1) || repeat('a', 24)::bytea, 1700000000 + (slot - %(first)s) * 2 / 5, slot,
        1400, 120, 0, 7, ARRAY[]::int[], ''::bytea, now()
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS slot WHERE {_THERE}
    """,
    f"""
    INSERT INTO rewind_archivedslot (slot, parent_slot, recorded_at, changes, granularity,
        blockhash, source)
    SELECT slot, slot - 1 - (slot %% 20 = 8)::int, now(), 900, (slot %% 1000 = 3)::int,
        int8send(slot) || repeat('a', 24)::bytea, 'stream of node.example'
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS slot
    WHERE {_THERE} AND slot %% 1000 NOT BETWEEN 500 AND 504
    """,
    """
    INSERT INTO historical_blocktally (run, blocks, skipped)
    SELECT slot / 1000, count(*), sum(slot - parent_slot - 1) FROM historical_block
    WHERE slot BETWEEN %(first)s AND %(last)s GROUP BY 1
    """,
    """
    INSERT INTO rewind_slottally (run, slots, coarse_slots, changes)
    SELECT slot / 1000, count(*), count(*) FILTER (WHERE granularity > 0), sum(changes)
    FROM rewind_archivedslot WHERE slot BETWEEN %(first)s AND %(last)s GROUP BY 1
    """,
    """
    INSERT INTO rewind_gap (from_slot, to_slot, status, cause, opened_at, closed_at, closed_by,
        tries, next_try_at, history, cannot_be_had_by)
    SELECT run * 1000 + 500, run * 1000 + 504,
        CASE WHEN run %% 4 = 0 THEN 'unknown' ELSE 'missing' END,
        CASE WHEN run %% 3 = 0 THEN 'writes_missing' ELSE 'stream_lost' END,
        now() - run %% 1000 * interval '1 h', NULL, '', 12, now() + interval '40 min',
        jsonb_build_array(jsonb_build_object('at', now(), 'event', 'opened', 'source', '',
            'result', 'stream_lost')), ''
    FROM generate_series(%(first)s / 1000, %(last)s / 1000) AS run
    """,
    """
    INSERT INTO {gap} (from_slot, to_slot, status, cause, opened_at, closed_at, closed_by, tries,
        next_try_at, history, cannot_be_had_by)
    SELECT %(first)s + n * 97 %% %(slots)s, %(first)s + n * 97 %% %(slots)s + n %% 9, 'missing',
        'stream_lost', now() - n * interval '1 min', now() - n * interval '30 s',
        CASE WHEN n %% 2 = 0 THEN 'stream of node.example' ELSE 'node.example' END, n %% 7, NULL,
        jsonb_build_array(jsonb_build_object('at', now(), 'event', 'filled', 'source',
            'node.example', 'result', '')), ''
    FROM generate_series(1, %(slots)s / 100) AS n
    """,
    """
    INSERT INTO rewind_owner (pubkey, filtered) SELECT sha256(('owner ' || n)::bytea), n %% 100 = 0
    FROM generate_series(1, 2000) AS n
    """,
    """
    INSERT INTO rewind_filteredpubkey (pubkey) SELECT sha256(('account ' || n)::bytea)
    FROM generate_series(1, 200) AS n
    """,
    """
    INSERT INTO rewind_droppedaccount (pubkey, first_slot, last_slot)
    SELECT sha256(('dropped ' || n)::bytea), %(first)s, %(last)s FROM generate_series(1, 100000) n
    """,
    """
    INSERT INTO rewind_accountchange (slot, write_version, lamports, rent_epoch, position, owner_id,
        kind, executable, pubkey, data)
    SELECT %(last)s - n %% 1000, n, 1000000, -1, n / 1000,
        (SELECT min(id) FROM rewind_owner) + n %% 2000, 0, false,
        sha256(('account ' || n %% 50000)::bytea), decode(repeat('00', 80), 'hex')
    FROM generate_series(1, least(500000, %(slots)s)) AS n
    """,
    """
    INSERT INTO rewind_auditedday (day, verified, diverged, unverified, reasons, passed_over)
    SELECT current_date - n, 400000, n %% 7, 3000, '{{"filtered_account": 3000}}', 0
    FROM generate_series(0, 60) AS n
    """,
    """
    INSERT INTO rewind_replaytally (day, program, verified, diverged, unverified)
    SELECT current_date - d, sha256(('owner ' || n)::bytea), 1000 + n, n %% 3, 5
    FROM generate_series(0, 60) AS d, generate_series(1, 1000) AS n
    """,
    """
    INSERT INTO rewind_divergence (slot, position, signature, programs, fields, differences,
        found_at, tried_at, resolved_at, reason)
    SELECT %(last)s - n, 3, sha256(n::text::bytea) || sha256((n || 'b')::bytea),
        ARRAY[sha256(('owner ' || n %% 2000)::bytea)], ARRAY['logs'],
        '[{{"field": "logs", "expected": 1, "found": 2}}]', now() - n * interval '1 min', now(),
        CASE WHEN n %% 10 <> 0 THEN now() END, ''
    FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO historical_import (file, format, state, started_at, finished_at, blocks_recorded,
        blocks_present, transactions_recorded, first_slot, last_slot, warnings, failure)
    SELECT 'epoch-' || n || '.car', 'car', 'done', now() - n * interval '1 h', now(), 432000, 0,
        600000000, %(first)s, %(last)s, '', ''
    FROM generate_series(1, 5000) AS n
    """,
    """
    INSERT INTO ingest_rangeorder (kind, first_slot, last_slot, archive, ledger, source, state,
        asked_by, asked_at, started_at, finished_at, next_slot, sound, stored, changed, findings,
        failure, tries, due_at, transactions)
    SELECT CASE WHEN n %% 2 = 0 THEN 'verify' ELSE 'reingest' END, %(first)s + n * 100,
        %(first)s + n * 100 + 99, true, true, '', 'done', 'admin', now() - n * interval '1 min',
        now(), now(), %(first)s + n * 100 + 100, 95, 0, 0, 10, '', 0, now(),
        90000
    FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO rewind_sealedsegment (first_slot, last_slot, state, tables, segments, dictionary,
        changes, blocks, data_bytes, stored_bytes, replaced_bytes, lamports, digest, has_genesis,
        done_slot, done_position, started_at, sealed_at, cold_name, cold_buckets, cold_bytes,
        cold_at)
    SELECT n * 432000, n * 432000 + 431999, 1, ARRAY[]::text[], ARRAY[n, n + 1]::int[],
        decode(repeat('00', 1000), 'hex'), 950000000, 3300000, 800000000000, 16200000000,
        420000000000, 12345678901234567890, sha256(n::text::bytea), n = 0, 0, 0,
        now() - n * interval '2 d', now() - n * interval '2 d',
        CASE WHEN n < 3 THEN 'accounts/' || n ELSE '' END, CASE WHEN n < 3 THEN 256 ELSE 0 END,
        CASE WHEN n < 3 THEN 13100000000 ELSE 0 END, CASE WHEN n < 3 THEN now() END
    FROM generate_series(0, least(600, %(slots)s / 100)) AS n
    """,
    """
    INSERT INTO historical_sealedrange (first_slot, last_slot, keys, dictionary, unindexed,
        unsealable, blocks, transactions, text_bytes, packed_bytes, summarized_pages, started_at,
        finished_at)
    SELECT n * 432000, n * 432000 + 431999, decode(repeat('00', 1000), 'hex'), ''::bytea,
        ARRAY[]::bigint[], ARRAY[]::bigint[], 410000, 690000000, 700000000000, 80000000000, 0,
        now(), CASE WHEN n < 100 THEN now() END
    FROM generate_series(0, least(600, %(slots)s / 100)) AS n
    """,
    """
    INSERT INTO ingest_finding (order_id, slot, area, what, detail)
    SELECT id, first_slot + n, 'ledger', 'node_differs', 'transactions, by node.example'
    FROM ingest_rangeorder, generate_series(1, 10) AS n
    """,
)


def fill(cursor: Any, slots: int) -> None:
    """So many slots of ledger and archive up to the newest, a gap of five slots open in each
    thousand of the archive's, a hundredth as many closed gaps of each, and some of everything else
    that rewind, historical and ingest show. Blocks have no bodies. For empty tables.
    """
    from rewind.recording.store import partitions

    first, last = FIRST_SLOT, FIRST_SLOT + slots - 1
    partitions.ensure([first, last - 999, last])
    values = {"first": first, "last": last, "slots": slots}
    for statement in _STATEMENTS:
        tables = ("rewind_gap", "historical_gap") if "{gap}" in statement else ("",)
        for table in tables:
            cursor.execute(statement.replace("{gap}", table).replace("{{", "{").replace("}}", "}"),
                           values)  # fmt: skip
    for table in (
        "historical_block",
        "historical_blocktally",
        "historical_gap",
        "rewind_gap",
        "rewind_archivedslot",
        "rewind_slottally",
        "rewind_accountchange",
        "rewind_divergence",
    ):
        cursor.execute(f"ANALYZE {table}")
