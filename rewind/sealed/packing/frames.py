"""Checksum and compression of a block's body, with a segment's dictionary."""

from functools import lru_cache

import zstandard
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from eventloop.of_thread import OfThread
from rewind.sealed.packing.changes import BlockDamaged

LEVEL = 6
# Of a block's content: it ends at 16 MiB, and one more change has at most 19.
MAX_CONTENT = 40 << 20
_CHECKSUM = 8
# Dictionaries that a process holds, and decompressors that each of its threads holds.
_DICTIONARIES, _DECOMPRESSORS = 48, 8


@lru_cache(maxsize=_DICTIONARIES)
def _loaded(dictionary: bytes) -> tuple[zstandard.ZstdCompressionDict | None, int]:
    """What threads share of a dictionary, and the checksum's seed: a block that is read with
    another dictionary is found damaged.
    """
    if not dictionary:
        return None, 0
    return zstandard.ZstdCompressionDict(dictionary), xxh3_64_intdigest(dictionary)


def _decompressor(dictionary: bytes) -> tuple[zstandard.ZstdDecompressor, int]:
    loaded, seed = _loaded(dictionary)
    return zstandard.ZstdDecompressor(dict_data=loaded), seed


_decompressors = OfThread(lambda: lru_cache(maxsize=_DECOMPRESSORS)(_decompressor))


class Compressor:
    """Content → body: a checksum over what follows, and the content, compressed."""

    def __init__(self, dictionary: bytes | None) -> None:
        loaded = None
        self._seed = 0
        try:
            if dictionary:
                self._seed = xxh3_64_intdigest(dictionary)
                loaded = zstandard.ZstdCompressionDict(dictionary)
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


def check(body: bytes, dictionary: bytes | None) -> None:
    """BlockDamaged unless the body is as it was packed, with this dictionary."""
    if xxh3_64_digest(body[_CHECKSUM:], _loaded(dictionary or b"")[1]) != body[:_CHECKSUM]:
        raise BlockDamaged("the checksum differs")


def unpack(body: bytes, dictionary: bytes | None) -> bytes:
    """A body's content. BlockDamaged unless body and dictionary are those of a compressor."""
    try:
        decompressor, seed = _decompressors.value(dictionary or b"")
        packed = body[_CHECKSUM:]
        if xxh3_64_digest(packed, seed) != body[:_CHECKSUM]:
            raise BlockDamaged("the checksum differs")
        if not 0 < zstandard.frame_content_size(packed) <= MAX_CONTENT:
            raise BlockDamaged("the content has no size, or too large a one")
        content: bytes = decompressor.decompress(packed, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BlockDamaged(f"not compressed as a block is: {error}") from error
    return content
