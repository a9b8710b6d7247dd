"""How many connections each process holds, in memory that all of them share."""

import mmap
import struct

_COUNT = struct.Struct("i")
_ABSENT = -1


class Load:
    """The place of one process, `index`, among `count`."""

    def __init__(self, shared: mmap.mmap, index: int, count: int) -> None:
        self._shared = shared
        self.index = index
        self._count = count

    @staticmethod
    def memory(count: int) -> mmap.mmap:
        """For so many processes before any of them starts."""
        shared = mmap.mmap(-1, _COUNT.size * count)
        for index in range(count):
            _COUNT.pack_into(shared, index * _COUNT.size, _ABSENT)
        return shared

    def report(self, connections: int) -> None:
        _COUNT.pack_into(self._shared, self.index * _COUNT.size, connections)

    def leave(self) -> None:
        """The process has ended."""
        self.report(_ABSENT)

    def is_above_others(self) -> bool:
        """Whether another process holds fewer."""
        counts = [
            _COUNT.unpack_from(self._shared, index * _COUNT.size)[0] for index in range(self._count)
        ]
        mine = counts[self.index]
        return any(0 <= each < mine for each in counts)
