"""Accounts as a slot left them, as they are kept between recording and proving."""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chain.accounts import AccountWrite
from columns.packed_data import pack, unpack

# Pubkey, owner, lamports, executable, and how many bytes of data follow.
_STATE = struct.Struct("<32s32sQ?I")


class KeptState(NamedTuple):
    """An account without a stored history."""

    pubkey: bytes
    owner: bytes
    lamports: int
    executable: bool
    data: bytes


def packed(writes: Iterable[AccountWrite]) -> bytes:
    """Together: states of one program compress well."""
    parts: list[bytes] = []
    for each in writes:
        parts.append(
            _STATE.pack(each.pubkey, each.owner, each.lamports, each.executable, len(each.data))
        )
        parts.append(each.data)
    return pack(b"".join(parts))


def unpacked(stored: bytes) -> Iterator[KeptState]:
    data = unpack(stored)
    at = 0
    while at < len(data):
        pubkey, owner, lamports, executable, size = _STATE.unpack_from(data, at)
        at += _STATE.size
        yield KeptState(pubkey, owner, lamports, executable, data[at : at + size])
        at += size


def packed_state(state: KeptState) -> bytes:
    """One alone."""
    head = _STATE.pack(state.pubkey, state.owner, state.lamports, state.executable, len(state.data))
    return pack(head + state.data)
