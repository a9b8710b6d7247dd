"""The embedded PostgreSQL for one command: the running service's, or one started for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embedded.servers import RunDirTaken, hold_run_dir, start_servers, stop_servers


@contextmanager
def command_postgres(run_dir: Path, *, must_rest: bool = False) -> Iterator[None]:
    """PostgreSQL runs inside. Raises RunDirTaken if the service runs and `must_rest` is set."""
    try:
        lock = hold_run_dir(run_dir)
    except RunDirTaken:
        if must_rest:
            raise
        yield  # the service's own
        return
    with lock:
        servers = start_servers(run_dir, valkey=False)
        try:
            yield
        finally:
            stop_servers(servers)
