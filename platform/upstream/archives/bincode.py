"""bincode in its fixed form, read from a stream: numbers little-endian, lengths of 8 bytes."""

from upstream.archives.compression import Source

_WORD = 8
_CHUNK = 1 << 16


class Misfit(Exception):
    """The bytes are not of the form that they were read as; says where and why."""


class Bincode:
    """Values one after another, from at most `size` bytes of a source; Misfit where none stands.

    Nothing is believed that the bytes left could not hold, and what is skipped is never in memory.
    """

    def __init__(self, source: Source, size: int) -> None:
        self._source = source
        self._size = size
        self.left = size

    def misfit(self, reason: str) -> Misfit:
        """The fault to raise for the value that was just read."""
        return Misfit(f"byte {self._size - self.left}: {reason}")

    def u64(self) -> int:
        return int.from_bytes(self._take(_WORD), "little")

    def u32(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def flag(self) -> bool:
        """A bool, or whether an option's value follows: one byte, 0 or 1."""
        byte = self._take(1)[0]
        if byte > 1:
            raise self.misfit(f"{byte} where 0 or 1 is expected")
        return byte == 1

    def count(self, least: int) -> int:
        """A list's length; each of its members takes `least` bytes or more."""
        length = self.u64()
        if length * least > self.left:
            raise self.misfit(f"a list of {length}, longer than what is left")
        return length

    def take(self, size: int) -> bytes:
        """The next bytes; for what is small."""
        return self._take(size)

    def skip(self, size: int) -> None:
        if size > self.left:
            raise self.misfit(f"it ends, and {size} more bytes are expected")
        while size:
            chunk = self._take(min(size, _CHUNK))
            size -= len(chunk)

    def skip_list(self, each: int) -> None:
        """Passes over a list (or a map) whose members take `each` bytes."""
        self.skip(self.count(each) * each)

    def _take(self, size: int) -> bytes:
        taken = self._source.read(size) if size <= self.left else b""
        if len(taken) < size:
            raise self.misfit("it ends too early")
        self.left -= size
        return taken
