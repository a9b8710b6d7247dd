"""A cache of large rows: most simulations load the same programs and sysvars.

A row is known by its account, its place and the transaction that stored it. PostgreSQL compares all
of them when it reads, and sends the data only of a row that is another.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from solders.account import Account

from columns.caches import ByteCache
from columns.packed_data import unpacked_size

# Shorter data cost less to send than to remember.
_SHORTEST = 512


class Version(NamedTuple):
    """A row of an account: where it stands, and the transaction that stored it, a number that is
    given again after some four thousand million others.
    """

    slot: int
    position: int
    xid: int


NO_VERSION = Version(-1, 0, 0)


@dataclass(slots=True)
class Kept:
    """A row's data as they are stored, and its account once it was made; the `size` of both."""

    version: Version
    packed: bytes
    size: int
    account: Account | None = None


_rows: ByteCache[Kept] = ByteCache(64 * 1024 * 1024, size_of=attrgetter("size"))


def known(pubkey: bytes) -> Kept | None:
    """The row of the account that was read last, if its data are worth it."""
    return _rows.find(pubkey)


def keep(pubkey: bytes, version: Version, packed: bytes) -> Kept | None:
    """Remembers the row in place of the account's former one; None where it is too short."""
    size = unpacked_size(packed)
    if size < _SHORTEST:
        return None
    kept = Kept(version, packed, len(packed) + size)
    _rows.replace(pubkey, kept)
    return kept


def forget() -> None:
    """Remembers nothing."""
    _rows.forget()
