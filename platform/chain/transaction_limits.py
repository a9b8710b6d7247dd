"""How large a transaction of each version may be (SIMD-0385 and SIMD-0296 for version 1)."""

from typing import NamedTuple

from chain.transactions import Version

_V1_FIRST_BYTE = 0x81


class TransactionLimits(NamedTuple):
    """The most of everything that a node runs: wire bytes, signatures, instructions of the
    transaction itself, and keys, looked-up ones included.
    """

    size: int
    signatures: int
    instructions: int
    keys: int


# Agave's transaction view (`sanitize.rs` of agave-transaction-view 7.0).
_OLDER = TransactionLimits(size=1_232, signatures=12, instructions=64, keys=256)
_VERSION_1 = TransactionLimits(size=4_096, signatures=12, instructions=64, keys=64)
MOST_BYTES = _VERSION_1.size
# Base58 was not extended to the size of version 1.
MOST_BYTES_IN_BASE58 = _OLDER.size


def limits_of(version: Version) -> TransactionLimits:
    """The limits of a version."""
    return _VERSION_1 if version == 1 else _OLDER


def most_bytes(first: int) -> int:
    """How many bytes a transaction with this first byte may have, before it is decoded.

    As Agave's RPC since 4.2.2, which compares the first letters of the base64 text with "gQ":
    from 0xd0 on the letters are digits and signs, which sort before it.
    """
    return _VERSION_1.size if _V1_FIRST_BYTE <= first < 0xD0 else _OLDER.size
