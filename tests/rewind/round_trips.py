"""How often this thread's connection waits for PostgreSQL, as libpq's own trace tells."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from columns.raw_queries import raw_connection


@contextmanager
def counted(folder: Path) -> Iterator[list[int]]:
    """A list that has the number of round trips once the block is over."""
    found: list[int] = []
    path = folder / "trace"
    with path.open("wb") as file:
        pgconn = raw_connection().pgconn
        pgconn.trace(file.fileno())
        try:
            yield found
        finally:
            pgconn.untrace()
    ends = {"Sync", "Query"}
    lines = [line.split("\t") for line in path.read_text(errors="replace").splitlines()]
    found.append(sum(line[1] == "F" and line[3] in ends for line in lines if len(line) > 3))
