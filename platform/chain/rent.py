"""The minimum balance of an account."""

from chain.units import Lamports

LAMPORTS_PER_BYTE = 6_960
_STORAGE_OVERHEAD = 128


def rent_exempt(size: int) -> Lamports:
    """The minimum lamports of an account with this many bytes of data."""
    return Lamports((_STORAGE_OVERHEAD + size) * LAMPORTS_PER_BYTE)
