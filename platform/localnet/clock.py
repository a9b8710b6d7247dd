"""The chain's clock: the machine's, ahead by as much as it was set."""

import time
from collections.abc import Callable

from chain.units import UnixTimestamp
from localnet.storage import Storage

_OFFSET = "clock_offset"


class Clock:
    """Seconds since 1970 as the chain sees them; its offset is kept with the chain."""

    def __init__(self, storage: Storage, machine: Callable[[], float] = time.time) -> None:
        self._storage = storage
        self._machine = machine
        kept = storage.fact(_OFFSET)
        self.offset_seconds = 0 if kept is None else int.from_bytes(kept, "little", signed=True)

    def __call__(self) -> float:
        return self._machine() + self.offset_seconds

    def set(self, now: UnixTimestamp) -> None:
        """Goes on from this time."""
        self.offset_seconds = now - int(self._machine())
        self._storage.keep_fact(_OFFSET, self.offset_seconds.to_bytes(8, "little", signed=True))
