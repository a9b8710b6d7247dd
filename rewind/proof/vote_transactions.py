"""The transactions that carry votes, as they are kept until their slot is settled, and what their
signatures show.
"""

import struct
from collections.abc import Iterable

from chain.bank_votes import votes_in
from chain.signed import is_signed
from chain.transactions import BadTransaction, decode_wire, sanitize
from columns.packed_data import pack, unpack
from rewind.proof.votes import CastVote

_LENGTH = struct.Struct("<H")


def packed(transactions: Iterable[bytes]) -> bytes:
    """Wire transactions, in the order of their votes."""
    parts: list[bytes] = []
    for each in transactions:
        parts.append(_LENGTH.pack(len(each)))
        parts.append(each)
    return pack(b"".join(parts))


def unpacked(stored: bytes) -> list[bytes]:
    data, at, found = unpack(stored), 0, []
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        found.append(data[at : at + length])
        at += length
    return found


def signers_of(transaction: bytes, vote: CastVote) -> frozenset[bytes]:
    """Who signed the vote; no one unless the transaction carries it and all of its signatures
    verify.
    """
    try:
        wire = decode_wire(transaction)
        sanitize(wire)
    except BadTransaction:
        return frozenset()
    if not is_signed(wire):
        return frozenset()
    return frozenset(
        signer
        for each in votes_in(wire)
        if (each.vote_account, each.slot, each.bank_hash) == vote
        for signer in each.signers
    )
