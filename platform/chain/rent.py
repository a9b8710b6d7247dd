"""What an account must hold to live."""

from chain.units import Lamports

LAMPORTS_PER_BYTE = 6_960
_STORAGE_OVERHEAD = 128


def rent_exempt(size: int) -> Lamports:
    """The lamports that an account with so many bytes of data must hold."""
    return Lamports((_STORAGE_OVERHEAD + size) * LAMPORTS_PER_BYTE)
