"""A column of account data: zstd where that makes it smaller, else the plain bytes.

Compressed here and not by PostgreSQL, which does not compress rows below 2 kB, and is slow above
where it was built without lz4 (docs/decisions/archive-storage.md).
"""

import threading
from typing import Any

import zstandard
from django.db import models

# Marks packed bytes. Data that begins with it is always packed, so that plain data is never taken
# for packed.
_MAGIC = b"\x28\xb5\x2f\xfd"
_SHORTEST = 96
_LEVEL = 1  # higher levels save 1 % on accounts, and are slow on large ones
_local = threading.local()


def pack(data: bytes) -> bytes:
    """The bytes to store."""
    must = data.startswith(_MAGIC)
    if len(data) < _SHORTEST and not must:
        return data
    try:
        packed: bytes = _local.compressor.compress(data)
    except AttributeError:  # zstandard's objects are not thread-safe
        _local.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
        packed = _local.compressor.compress(data)
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
    if not stored.startswith(_MAGIC):
        return stored
    try:
        data: bytes = _local.decompressor.decompress(stored)
    except AttributeError:
        _local.decompressor = zstandard.ZstdDecompressor()
        data = _local.decompressor.decompress(stored)
    return data


class PackedDataColumn(models.BinaryField):  # type: ignore[type-arg]
    """An account's data, whole in code and packed in the table."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return None if value is None else unpack(bytes(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        packed = None if value is None else pack(bytes(value))
        return super().get_db_prep_value(packed, connection, prepared)
