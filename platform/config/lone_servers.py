"""The embedded PostgreSQL for one command: the running service's, or started for the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embedded.servers import RunDirTaken, hold_run_dir, start_servers, stop_servers


@contextmanager
def lone_postgres(run_dir: Path, *, must_rest: bool = False) -> Iterator[None]:
    """PostgreSQL answers inside. Raises RunDirTaken where the service runs but `must_rest`."""
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
