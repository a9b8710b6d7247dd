"""Plain, gzip or zstd bytes, read as one plain stream that never fills the memory."""

import zlib
from collections.abc import Iterator
from typing import Protocol

import zstandard

from upstream.archives.errors import Unreadable

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 16
# A zstd run of 128 KiB takes 4 bytes, so this bounds what one step can unpack to 32 MiB.
_ZSTD_CHUNK = 1 << 10
_ZSTD_LARGEST_WINDOW = 1 << 27


class Source(Protocol):
    """Bytes from somewhere: up to `size` of them at a time, none at the end."""

    def read(self, size: int, /) -> bytes: ...


class ByteStream:
    """Chunks of bytes, read by size; a look ahead takes nothing away."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = bytearray()
        self._at = 0

    def peek(self, size: int) -> bytes:
        """The next `size` bytes without taking them; fewer at the end."""
        while len(self._buffer) - self._at < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            if self._at:
                del self._buffer[: self._at]
                self._at = 0
            self._buffer += chunk
        return bytes(memoryview(self._buffer)[self._at : self._at + size])

    def line_ahead(self, most: int) -> bytes:
        """The next line with its end, without taking it; Unreadable if it has more than `most`
        bytes.
        """
        size = _CHUNK
        while True:
            start = self.peek(size)
            end = start.find(b"\n") + 1
            if end or len(start) < size:
                return start[: end or None]
            if size > most:
                raise Unreadable("", f"a block larger than {most} bytes is not read")
            size *= 2

    def read(self, size: int, /) -> bytes:
        """The next `size` bytes; fewer at the end."""
        taken = self.peek(size)
        self._at += len(taken)
        return taken

    def give_back(self, size: int) -> None:
        """Untakes the last `size` bytes of what the latest read gave."""
        self._at -= size

    def read_all(self, most: int) -> bytes:
        """All bytes to the end; Unreadable if they are more than `most`."""
        taken = self.read(most + 1)
        if len(taken) > most:
            raise Unreadable("", f"a block larger than {most} bytes is not read")
        return taken


def plain(source: Source) -> ByteStream:
    """The source's bytes, unpacked if they are gzip or zstd; damage becomes Unreadable on the way.

    Compression is detected from the first bytes, never from a name.
    """
    packed = ByteStream(_chunks(source))
    start = packed.peek(4)
    if start.startswith(_GZIP):
        return ByteStream(_gunzipped(packed))
    if start == _ZSTD:
        return ByteStream(_unzstded(packed))
    return packed


def _chunks(source: Source) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK):
        yield chunk


def _gunzipped(packed: ByteStream) -> Iterator[bytes]:
    while packed.peek(1):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            rest = member.unconsumed_tail or packed.read(_CHUNK)
            if not rest:
                raise Unreadable("", "the gzip data ends too early")
            try:
                unpacked = member.decompress(rest, _CHUNK)
            except zlib.error:
                raise Unreadable("", "the gzip data is damaged") from None
            if unpacked:
                yield unpacked
        packed.give_back(len(member.unused_data))


def _unzstded(packed: ByteStream) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_LARGEST_WINDOW)
    while packed.peek(1):
        frame = decompressor.decompressobj()
        while not frame.eof:
            chunk = packed.read(_ZSTD_CHUNK)
            if not chunk:
                raise Unreadable("", "the zstd data ends too early")
            try:
                unpacked = frame.decompress(chunk)
            except (zstandard.ZstdError, MemoryError):
                raise Unreadable("", "the zstd data is damaged") from None
            if unpacked:
                yield unpacked
        packed.give_back(len(frame.unused_data))
