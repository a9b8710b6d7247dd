"""Checksum and compression of a block's body, with a segment's dictionary."""

import threading
from functools import lru_cache

import zstandard
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from rewind.sealing.changes import BlockDamaged

LEVEL = 3
# Of a block's content: it ends at 16 MiB, and one more change has at most 15.
MAX_CONTENT = 40 << 20
_CHECKSUM = 8
# Decompressors that a thread holds, one for each dictionary that it read with last.
_HELD = 16


class _Decompressors(threading.local):
    """A decompressor serves one thread at a time."""

    def __init__(self) -> None:
        self.of = lru_cache(maxsize=_HELD)(_decompressor)


def _decompressor(dictionary: bytes) -> tuple[zstandard.ZstdDecompressor, int]:
    return zstandard.ZstdDecompressor(dict_data=_loaded(dictionary)), _seed(dictionary)


def _loaded(dictionary: bytes) -> zstandard.ZstdCompressionDict | None:
    return zstandard.ZstdCompressionDict(dictionary) if dictionary else None


def _seed(dictionary: bytes) -> int:
    """Of the checksum: a block that is read with another dictionary is found damaged."""
    return xxh3_64_intdigest(dictionary) if dictionary else 0


_decompressors = _Decompressors()


class Compressor:
    """Content → body: a checksum over what follows, and the content, compressed."""

    def __init__(self, dictionary: bytes | None) -> None:
        self._seed = _seed(dictionary or b"")
        try:
            loaded = _loaded(dictionary or b"")
            if loaded is not None:
                loaded.precompute_compress(level=LEVEL)
            # All blocks have the same dictionary: its number is not written into each.
            self._zstd = zstandard.ZstdCompressor(
                level=LEVEL, dict_data=loaded, write_checksum=False, write_dict_id=False
            )
        except zstandard.ZstdError as error:
            raise ValueError(f"not a dictionary: {error}") from error

    def pack(self, content: bytes | bytearray) -> bytes:
        packed: bytes = self._zstd.compress(content)
        return xxh3_64_digest(packed, self._seed) + packed


def unpack(body: bytes, dictionary: bytes | None) -> bytes:
    """A body's content. BlockDamaged unless body and dictionary are those of a compressor."""
    try:
        decompressor, seed = _decompressors.of(dictionary or b"")
        packed = body[_CHECKSUM:]
        if xxh3_64_digest(packed, seed) != body[:_CHECKSUM]:
            raise BlockDamaged("the checksum differs")
        if not 0 < zstandard.frame_content_size(packed) <= MAX_CONTENT:
            raise BlockDamaged("the content has no size, or too large a one")
        content: bytes = decompressor.decompress(packed, allow_extra_data=False)
    except (zstandard.ZstdError, MemoryError) as error:
        raise BlockDamaged(f"not compressed as a block is: {error}") from error
    return content
