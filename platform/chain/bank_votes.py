"""Votes for banks: which bank's hash each vote instruction of a transaction signs."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from solders.pubkey import Pubkey

from chain.parsed.cursor import Cursor, UnreadableError
from chain.transactions import Wire
from chain.units import U64_MAX

VOTE_PROGRAM = bytes(Pubkey.from_string("Vote111111111111111111111111111111111111111"))


class BankVote(NamedTuple):
    """A vote account's vote for the bank of a slot, the highest that it names, by the bank's hash.
    `signers` are those who signed the transaction and stand in the instruction: the account's
    authorized voter is among them, or the vote program refuses it.
    """

    vote_account: bytes
    slot: int
    bank_hash: bytes
    signers: tuple[bytes, ...]


def votes_in(wire: Wire) -> Iterator[BankVote]:
    """The votes of a transaction's instructions, in their order; whatever cannot be read, or has
    its accounts in a lookup table, is none.
    """
    keys, signed = wire.account_keys, wire.header.required_signatures
    for program, accounts, data in wire.instructions:
        if program >= len(keys) or keys[program] != VOTE_PROGRAM or len(accounts) < 2:
            continue
        if accounts[0] >= len(keys):
            continue
        voted = _read(data)
        if voted is not None:
            signers = tuple(keys[index] for index in accounts if index < signed)
            yield BankVote(keys[accounts[0]], *voted, signers)


def _read(data: bytes) -> tuple[int, bytes] | None:
    """The slot and the bank's hash; None where the data are of no vote."""
    cursor = Cursor(data)
    try:
        reader = _READERS.get(cursor.u32())
        return None if reader is None else reader(cursor)
    except UnreadableError:
        return None


def _slots(cursor: Cursor) -> tuple[int, bytes]:
    count = cursor.u64()
    if not 0 < count <= (len(cursor.data) - cursor.at) // 8:
        raise UnreadableError
    cursor.take(8 * (count - 1))
    return cursor.u64(), cursor.take(32)


def _lockouts(cursor: Cursor) -> tuple[int, bytes]:
    count = cursor.u64()
    if not 0 < count <= (len(cursor.data) - cursor.at) // 12:
        raise UnreadableError
    cursor.take(12 * (count - 1))
    slot = cursor.u64()
    cursor.take(4)  # its confirmations
    cursor.optional_u64()  # the root
    return slot, cursor.take(32)


def _offsets(cursor: Cursor) -> tuple[int, bytes]:
    """Lockouts, each as many slots above the one before."""
    root = cursor.u64()
    slot = 0 if root == U64_MAX else root
    count = cursor.short_length()
    if not count:
        raise UnreadableError
    for _ in range(count):
        slot += cursor.varint()
        cursor.u8()  # its confirmations
    if slot > U64_MAX:
        raise UnreadableError
    return slot, cursor.take(32)


# By the number of the instruction: vote, updateVoteState, its compact form and towerSync, each of
# them without and with a switch of forks.
_READERS: dict[int, Callable[[Cursor], tuple[int, bytes]]] = {
    **dict.fromkeys((2, 6), _slots),
    **dict.fromkeys((8, 9), _lockouts),
    **dict.fromkeys((12, 13, 14, 15), _offsets),
}
