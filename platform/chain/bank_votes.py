"""Votes for banks: which bank's hash each vote instruction of a transaction signs."""

from collections.abc import Iterator
from typing import NamedTuple

from chain import addresses
from chain.parsed.cursor import Cursor, UnreadableError
from chain.transactions import Wire
from chain.units import U64_MAX

VOTE_PROGRAM = bytes(addresses.VOTE)


class BankVote(NamedTuple):
    """A vote account's vote for the bank of a slot, the highest that it names, by the bank's hash.
    `signers` are those who signed the transaction and are accounts of the instruction: the
    account's authorized voter is among them, or the vote program refuses it. `tower` are all slots
    that it names, ascending: the last is `slot`, the others are slots of ancestors of its bank.
    """

    vote_account: bytes
    slot: int
    bank_hash: bytes
    signers: tuple[bytes, ...]
    tower: tuple[int, ...]


def votes_in(wire: Wire) -> Iterator[BankVote]:
    """The votes of a transaction's instructions, in their order; whatever cannot be read, is of a
    retired kind, or has its accounts in a lookup table, is none.
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
            tower, bank_hash = voted
            yield BankVote(keys[accounts[0]], tower[-1], bank_hash, signers, tower)


def _read(data: bytes) -> tuple[tuple[int, ...], bytes] | None:
    """The slots and the bank's hash; None if the data are not a vote."""
    cursor = Cursor(data)
    try:
        rest = _RESTS.get(cursor.u32())
        return None if rest is None else _tower(cursor, rest)
    except UnreadableError:
        return None


def _tower(cursor: Cursor, rest: int) -> tuple[tuple[int, ...], bytes]:
    """Lockouts, each as many slots above the one before; then the bank's hash, perhaps a time, and
    `rest` bytes.
    """
    root = cursor.u64()
    slot = 0 if root == U64_MAX else root
    count = cursor.short_length()
    if not count:
        raise UnreadableError
    slots = []
    for _ in range(count):
        slot += cursor.varint()
        slots.append(slot)
        cursor.u8()  # its confirmations
    if slot > U64_MAX:
        raise UnreadableError
    bank_hash = cursor.take(32)
    cursor.optional_i64()  # the time
    cursor.take(rest)
    return tuple(slots), bank_hash


# TowerSync and TowerSyncSwitch, by the instruction's number; the switch's hash and the block's id
# follow the time. Validators have sent no other votes since TowerSync was enabled, which was before
# bank hashes had lattice hashes; Vote, UpdateVoteState, its compact form and their switches are
# retired (SIMD-0138, Agave's programs/vote/src/vote_processor.rs).
_RESTS = {14: 32, 15: 64}
