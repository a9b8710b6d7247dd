"""A cache of large rows: most simulations load the same programs and sysvars.

A row is known by its account, its place and the transaction that stored it. PostgreSQL compares all
of them when it reads, and sends the data only of a row that is another.
"""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from solders.account import Account

from columns.packed_data import unpacked_size

# Shorter data cost less to send than to remember.
_SHORTEST = 512
# Packed and unpacked.
_MOST_BYTES = 64 * 1024 * 1024


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


_rows: OrderedDict[bytes, Kept] = OrderedDict()
_size = 0
_lock = Lock()


def known(pubkey: bytes) -> Kept | None:
    """The row of the account that was read last, if its data are worth it."""
    return _rows.get(pubkey)


def keep(pubkey: bytes, version: Version, packed: bytes) -> Kept | None:
    """Remembers the row in place of the account's former one; None where it is too short."""
    global _size
    size = unpacked_size(packed)
    if size < _SHORTEST:
        return None
    kept = Kept(version, packed, len(packed) + size)
    with _lock:
        former = _rows.pop(pubkey, None)
        _rows[pubkey] = kept
        _size += kept.size - (0 if former is None else former.size)
        while _size > _MOST_BYTES:
            _, oldest = _rows.popitem(last=False)
            _size -= oldest.size
    return kept


def used(pubkey: bytes) -> None:
    """It is the last to be forgotten."""
    with _lock:
        if pubkey in _rows:
            _rows.move_to_end(pubkey)


def forget() -> None:
    """Remembers nothing."""
    global _size
    with _lock:
        _rows.clear()
        _size = 0
