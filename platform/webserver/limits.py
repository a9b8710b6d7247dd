"""Limits of one web process on its clients."""

import contextlib
import logging
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

# A body above the maximum may take so many times the seconds of another.
_LARGE_TAKES = 4
# Sessions of the database, connections to Redis and nodes, libraries: what threads open, too.
_OWN_FILES = 128

log = logging.getLogger(__name__)


def _none(_address: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, bytes and counts, of one process.

    `first_seconds` is how long a new connection may be silent, `idle_seconds` how long one may be
    between two requests; `head_seconds` and `body_seconds` run from the first byte of each.
    `write_seconds` is how long a client may take nothing of what waits for it. `bodies` and
    `answers` are the bytes that all connections together may have received of unfinished bodies,
    and have yet to be sent. `is_proxy` names the addresses that stand for many clients, whose
    connections are not counted per address.
    """

    connections: int = 4_096
    connections_per_address: int = 512
    first_seconds: float = 20.0
    idle_seconds: float = 75.0
    head_seconds: float = 10.0
    body_seconds: float = 15.0
    write_seconds: float = 20.0
    head: int = 65_536
    headers: int = 100
    body: int = 262_144
    bodies: int = 33_554_432
    answers: int = 268_435_456
    is_proxy: Callable[[str], bool] = _none

    def fitting(self, files: int) -> "Limits":
        """With no more connections than the process may have open files (RLIMIT_NOFILE)."""
        most = max(files - _OWN_FILES, files // 4)
        if self.connections <= most:
            return self
        log.warning(
            "%d connections of this process are allowed, but only %d open files: it accepts"
            " %d. Raise the limit of open files (ulimit -n, LimitNOFILE=)",
            self.connections,
            files,
            most,
        )
        return replace(self, connections=most)

    def seconds_for(self, size: int) -> float:
        """How long a body that may have so many bytes may take."""
        return self.body_seconds if size <= self.body else _LARGE_TAKES * self.body_seconds


def raised_file_limit() -> int:
    """How many files the process may have open: as many as it is allowed to set."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
