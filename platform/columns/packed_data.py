"""A column of account data: zstd where that makes it smaller, else the plain bytes.

Compressed here and not by PostgreSQL, which does not compress rows below 2 kB, and is slow above
where it was built without lz4 (docs/decisions/archive-storage.md).
"""

from typing import Any

import zstandard
from django.db import models

from eventloop.of_thread import OfThread

# Marks packed bytes. Data that begins with it is always packed, so that plain data is never taken
# for packed.
_MAGIC = b"\x28\xb5\x2f\xfd"
_SHORTEST = 96
_LEVEL = 1  # higher levels save 1 % on accounts, and are slow on large ones
_compressor = OfThread(lambda: zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False))
_decompressor = OfThread(zstandard.ZstdDecompressor)


def pack(data: bytes) -> bytes:
    """The bytes to store."""
    must = data.startswith(_MAGIC)
    if len(data) < _SHORTEST and not must:
        return data
    packed: bytes = _compressor.value.compress(data)
    # Saving less than an eighth is not worth unpacking it each time.
    return packed if must or len(packed) * 8 < len(data) * 7 else data


def as_stored(data: bytes) -> bytes:
    """Bytes that `unpack` gives the data of: packed only where they must be."""
    return pack(data) if data.startswith(_MAGIC) else data


def unpacked_size(stored: bytes) -> int:
    """The length of the account's data, which are not unpacked."""
    if not stored.startswith(_MAGIC):
        return len(stored)
    return zstandard.frame_content_size(stored)


def unpack(stored: bytes) -> bytes:
    """The account's data."""
    return _decompressor.value.decompress(stored) if stored.startswith(_MAGIC) else stored


class PackedDataColumn(models.BinaryField):  # type: ignore[type-arg]
    """An account's data, whole in code and packed in the table."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return None if value is None else unpack(bytes(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        packed = None if value is None else pack(bytes(value))
        return super().get_db_prep_value(packed, connection, prepared)
