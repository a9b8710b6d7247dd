"""How often this thread's connection waits for PostgreSQL, and how many statements it sends, as
libpq's own trace tells.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from columns.raw_queries import raw_connection


@contextmanager
def counted(folder: Path, what: Collection[str] = ("Sync", "Query")) -> Iterator[list[int]]:
    """A list that has the number of round trips once the block is over, or (`what`) of others of
    the protocol's messages to the server.
    """
    found: list[int] = []
    path = folder / "trace"
    with path.open("wb") as file:
        pgconn = raw_connection().pgconn
        pgconn.trace(file.fileno())
        try:
            yield found
        finally:
            pgconn.untrace()
    lines = [line.split("\t") for line in path.read_text(errors="replace").splitlines()]
    found.append(sum(line[1] == "F" and line[3] in what for line in lines if len(line) > 3))
