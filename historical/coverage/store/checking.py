"""Queries of a verification on the ledger."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction

from columns.queries import all_rows, execute
from columns.raw_queries import fetch_all, fetch_together
from columns.slot_cells import RUN_SLOTS, whole_runs
from historical.sealed.entries import ENTRY_BYTES


class Header(NamedTuple):
    """A block's links, and how many transactions it says it has."""

    slot: int
    parent_slot: int
    blockhash: bytes
    previous_blockhash: bytes
    transaction_count: int


_HEADER = (
    "SELECT slot, parent_slot, blockhash, previous_blockhash, transaction_count"
    " FROM historical_block"
)


def headers_between(first: int, last: int) -> list[Header]:
    """Ascending."""
    rows = fetch_all(f"{_HEADER} WHERE slot BETWEEN $1 AND $2 ORDER BY slot", first, last)
    return [Header(*row) for row in rows]


def headers_at(slots: Sequence[int]) -> dict[int, Header]:
    if not slots:
        return {}
    rows = fetch_all(f"{_HEADER} WHERE slot = ANY($1)", list(slots))
    return {row[0]: Header(*row) for row in rows}


def slot_below(slot: int) -> int | None:
    """The next stored slot below."""
    rows = fetch_all(
        "SELECT slot FROM historical_block WHERE slot < $1 ORDER BY slot DESC LIMIT 1", slot
    )
    return rows[0][0] if rows else None


def indexed_counts(first: int, last: int) -> dict[int, tuple[int, int]]:
    """Slot → (transactions in the index, the highest position)."""
    found = fetch_together(
        [
            (
                "SELECT slot, count(*), max(position) FROM historical_transaction"
                " WHERE slot BETWEEN $1 AND $2 GROUP BY slot",
                first,
                last,
            ),
            (
                f"SELECT slot, octet_length(entries) / {ENTRY_BYTES},"
                f" octet_length(entries) / {ENTRY_BYTES} - 1 FROM historical_sealedblock"
                " WHERE slot BETWEEN $1 AND $2 AND octet_length(entries) > 0",
                first,
                last,
            ),
        ]
    )
    rows = [row for some in found for row in some]
    return {slot: (count, highest) for slot, count, highest in rows}


_TRUTH = f"""
    SELECT slot / {RUN_SLOTS} AS run, count(*) AS blocks,
        sum(least(greatest(slot - parent_slot - 1, 0), {2**50}))::bigint AS skipped
    FROM historical_block WHERE slot BETWEEN %(first)s AND %(last)s GROUP BY 1
"""


def wrong_counts(first: int, last: int) -> list[int]:
    """Runs that touch the range whose counts are not those of their blocks."""
    rows = all_rows(
        f"SELECT run FROM ({_TRUTH}) AS truth FULL JOIN (SELECT * FROM historical_blocktally"
        f" WHERE run BETWEEN %(first)s / {RUN_SLOTS} AND %(last)s / {RUN_SLOTS})"
        " AS stored USING (run) WHERE (truth.blocks, truth.skipped)"
        " IS DISTINCT FROM (stored.blocks::bigint, stored.skipped) ORDER BY run",
        whole_runs(first, last),
    )
    return [run for (run,) in rows]


@transaction.atomic
def recount(runs: Sequence[int]) -> None:
    """The runs' counts are those of their blocks. Who writes meanwhile waits for the rows, and
    counts what it brings itself.
    """
    for run in sorted(runs):
        execute(
            "INSERT INTO historical_blocktally (run, blocks, skipped) VALUES (%s, 0, 0)"
            " ON CONFLICT (run) DO UPDATE SET run = excluded.run",
            [run],
        )
        execute(
            f"UPDATE historical_blocktally SET (blocks, skipped) = (SELECT"
            f" coalesce(sum(blocks), 0), coalesce(sum(skipped), 0) FROM ({_TRUTH}) AS truth)"
            " WHERE run = %(run)s",
            {**whole_runs(run * RUN_SLOTS, run * RUN_SLOTS), "run": run},
        )
    execute("DELETE FROM historical_blocktally WHERE run = ANY(%s) AND blocks = 0", [list(runs)])
