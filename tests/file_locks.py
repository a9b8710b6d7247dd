"""What several workers make once, in a place that they share."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """For no two processes at once that name the same file."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
