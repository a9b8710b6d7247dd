"""What sealing reads and writes of the index: its runs and their blocks."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from columns.raw_queries import copy_rows, fetch_all, raw_connection
from historical.sealed.store.sealed_state import counts

MERGING, LIVE, MERGED = 0, 1, 2


class RunRow(NamedTuple):
    """A row of historical_indexrun."""

    id: int
    sealed_range: int
    kind: int
    level: int
    state: int
    first_slot: int
    last_slot: int
    entries: int = 0
    dropped: int = 0
    removed: Sequence[int] = ()
    inputs: Sequence[int] = ()
    reached: bytes = b""

    def counts(self, slot: int) -> bool:
        """Whether entries of the slot count."""
        return counts(self.removed, slot)


def insert(run: RunRow) -> int:
    """The number of the new run; its own is ignored."""
    columns = RunRow._fields[1:]
    with raw_connection().cursor() as cursor:
        cursor.execute(
            f"INSERT INTO historical_indexrun ({', '.join(columns)})"
            f" VALUES ({', '.join(['%s'] * len(columns))}) RETURNING id",
            [list(each) if isinstance(each, tuple) else each for each in run[1:]],
        )
        return int(cursor.fetchall()[0][0])


def runs(sealed_range: int | None = None) -> list[RunRow]:
    """Of all ranges or of one, ascending by number."""
    rows = fetch_all(
        f"SELECT {', '.join(RunRow._fields)} FROM historical_indexrun"
        " WHERE sealed_range = $1 OR $1 < 0 ORDER BY id",
        -1 if sealed_range is None else sealed_range,
    )
    return [RunRow(*row) for row in rows]


def overlapping(first: int, last: int) -> list[RunRow]:
    """Runs that are read or will be, with slots of the range."""
    rows = fetch_all(
        f"SELECT {', '.join(RunRow._fields)} FROM historical_indexrun"
        " WHERE state < 2 AND first_slot <= $2 AND last_slot >= $1",
        first,
        last,
    )
    return [RunRow(*row) for row in rows]


def insert_blocks(run: int, blocks: Iterable[tuple[bytes, bytes]]) -> None:
    copy_rows(
        "historical_packedindex",
        ("run", "first_entry", "block"),
        ["int8", "bytea", "bytea"],
        [(run, *block) for block in blocks],
    )


def blocks_from(run: int, entry: bytes, limit: int) -> list[bytes]:
    """Blocks of the run in their order, from the one that would have the entry."""
    rows = fetch_all(
        "SELECT block FROM historical_packedindex WHERE run = $1 AND first_entry >= coalesce("
        "(SELECT first_entry FROM historical_packedindex WHERE run = $1 AND first_entry <= $2"
        " ORDER BY first_entry DESC LIMIT 1), ''::bytea) ORDER BY first_entry LIMIT $3",
        run,
        entry,
        limit,
    )
    return [block for (block,) in rows]


def blocks_between(run: int, first: bytes, last: bytes) -> list[bytes]:
    """Blocks that begin with an entry of the range, both ends inclusive."""
    rows = fetch_all(
        "SELECT block FROM historical_packedindex WHERE run = $1 AND first_entry BETWEEN $2 AND $3"
        " ORDER BY first_entry",
        run,
        first,
        last,
    )
    return [block for (block,) in rows]


def note_progress(run: int, *, entries: int, dropped: int, reached: bytes) -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_indexrun SET entries = entries + %s, dropped = dropped + %s,"
            " reached = %s WHERE id = %s",
            (entries, dropped, reached, run),
        )


def set_state(numbers: Sequence[int], state: int) -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_indexrun SET state = %s WHERE id = ANY(%s)", (state, list(numbers))
        )


def set_removed(run: int, removed: Sequence[int]) -> None:
    with raw_connection().cursor() as cursor:
        cursor.execute(
            "UPDATE historical_indexrun SET removed = %s WHERE id = %s", (list(removed), run)
        )


def delete_merged(limit: int) -> int:
    """Deletes so many blocks of runs that larger ones replaced, and the runs without any; how many
    rows.
    """
    deleted = 0
    with raw_connection().cursor() as cursor:
        cursor.execute("SELECT id FROM historical_indexrun WHERE state = 2 ORDER BY id")
        for (run,) in cursor.fetchall():
            cursor.execute(
                "DELETE FROM historical_packedindex WHERE run = %(run)s AND first_entry IN ("
                "SELECT first_entry FROM historical_packedindex WHERE run = %(run)s"
                " ORDER BY first_entry LIMIT %(limit)s)",
                {"run": run, "limit": limit - deleted},
            )
            blocks = cursor.rowcount
            deleted += blocks
            if deleted >= limit:
                break
            # None is left of it.
            cursor.execute("DELETE FROM historical_indexrun WHERE id = %s", (run,))
            deleted += cursor.rowcount
        return deleted
