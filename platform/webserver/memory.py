"""A process that can get no more memory ends at once, and is replaced: it would hang otherwise,
with everybody on it, until its silence is noticed.
"""

import mmap
import os

# More than the stack of a thread and a large response.
_BYTES = 16 << 20
# One failure may be of a peak that is over a moment later.
_FAILURES = 2
# The exit status, of sysexits.h: the system refuses a resource.
STATUS = 71


class Memory:
    """What a loop asks every half second."""

    def __init__(self) -> None:
        self._failures = 0

    def look(self) -> None:
        """Ends the process if it is at its limit (ulimit -v, or a machine that promises no more
        than it has). A control group's limit is the kernel's to enforce: it kills.
        """
        try:
            mmap.mmap(-1, _BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        except (OSError, MemoryError):
            self._failures += 1
            if self._failures >= _FAILURES:
                leave()
            return
        self._failures = 0


def leave() -> None:
    """Nothing is written on the way: that takes memory. Who waits for the process says why."""
    os._exit(STATUS)
