"""Where the servers of a test run keep their data."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")
_ROOM = 3 << 30
_PREFIX = "tidemark-test-"


def new_run_dir() -> str:
    """A new folder: in memory where there is room, since ext4 takes three times PostgreSQL's own
    time for the thousands of files that tests make and remove; else among temporary files.
    """
    _clean_up()
    with suppress(OSError):
        if shutil.disk_usage(_IN_MEMORY).free > _ROOM:
            return tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_IN_MEMORY)
    return tempfile.mkdtemp(prefix=_PREFIX)


def _clean_up() -> None:
    """What test runs that were killed left in memory leaves it."""
    for left in _IN_MEMORY.glob(f"{_PREFIX}*-*"):
        number = left.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", number).exists():
            shutil.rmtree(left, ignore_errors=True)
