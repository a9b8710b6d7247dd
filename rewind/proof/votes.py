"""Votes for banks as they are kept between recording and proving, and what they come to."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chain.bank_votes import VOTE_PROGRAM, votes_in
from chain.blocks import SlotRecord
from chain.transactions import BadTransaction, Wire
from columns.packed_data import pack, unpack

_VOTE = struct.Struct("<32sQ32s")
# Before version 1 a transaction's first byte is the count of its signatures.
_VERSIONED = 0x80
# A vote for a bank further below counts no more, as on the chain (its slot hashes).
MOST_SLOTS = 512


class CastVote(NamedTuple):
    """A vote account's vote for the bank of a slot, by the bank's hash."""

    account: bytes
    slot: int
    bank_hash: bytes


class Weights(NamedTuple):
    """What votes count in an epoch: lamports by vote account; None where they are not known. Then
    `quorum` accounts that agree are enough.
    """

    stakes: Mapping[bytes, int] | None
    quorum: int

    @property
    def total(self) -> int | None:
        return None if self.stakes is None else sum(self.stakes.values())


class Weighed(NamedTuple):
    """The votes for one bank hash of a slot: of how many accounts, their lamports (None where they
    are not known), whether they are enough, and the blocks that the first and the last of them
    landed in.
    """

    bank_hash: bytes
    voters: int
    stake: int | None
    enough: bool
    first_landed: int
    last_landed: int


@dataclass(slots=True)
class VoteCount:
    """Votes by the slot that they are for; of an account the first one counts."""

    _votes: dict[int, dict[bytes, tuple[bytes, int]]] = field(default_factory=dict)

    def add(self, landed: int, votes: Iterable[CastVote]) -> None:
        """Votes in the block of the slot `landed`."""
        for account, slot, bank_hash in votes:
            if landed - MOST_SLOTS <= slot < landed:
                self._votes.setdefault(slot, {}).setdefault(account, (bank_hash, landed))

    def weigh(self, slot: int, weights: Weights) -> list[Weighed]:
        """The bank hashes that were voted for, the heaviest first."""
        by_hash: dict[bytes, list[tuple[bytes, int]]] = {}
        for account, (bank_hash, landed) in self._votes.get(slot, {}).items():
            if weights.stakes is None or weights.stakes.get(account):
                by_hash.setdefault(bank_hash, []).append((account, landed))
        total = weights.total
        found = []
        for bank_hash, votes in by_hash.items():
            stake = None
            if weights.stakes is None or total is None:
                enough = len(votes) >= weights.quorum
            else:
                stake = sum(weights.stakes[account] for account, _ in votes)
                enough = 3 * stake > 2 * total
            blocks = [landed for _, landed in votes]
            found.append(Weighed(bank_hash, len(votes), stake, enough, min(blocks), max(blocks)))
        return sorted(found, key=lambda each: (-(each.stake or 0), -each.voters, each.bank_hash))

    def slots(self) -> list[int]:
        """The slots that votes are for, ascending."""
        return sorted(self._votes)

    def forget_to(self, slot: int) -> None:
        """Of this slot and those below no vote is needed any more."""
        for each in [each for each in self._votes if each <= slot]:
            del self._votes[each]


def signature_count(record: SlotRecord) -> int | None:
    """Signatures of the block's transactions; None where one cannot be read."""
    count = 0
    for each in record.transactions:
        content = each.content
        if isinstance(content, bytes) and content and 0 < content[0] < _VERSIONED:
            count += content[0]
            continue
        try:
            count += each.decoded.header.required_signatures
        except BadTransaction:
            return None
    return count


def votes_of(record: SlotRecord) -> Iterator[CastVote]:
    """The votes that landed in the block; of transactions that failed, or cannot be read, none."""
    for each in record.transactions:
        content = each.content
        keys = content.account_keys if isinstance(content, Wire) else content
        if VOTE_PROGRAM not in keys:
            continue
        if each.meta is not None and each.meta.get("err") is not None:
            continue
        try:
            yield from _of(each.decoded)
        except BadTransaction:
            continue


def _of(wire: Wire) -> Iterator[CastVote]:
    for vote in votes_in(wire):
        yield CastVote(vote.vote_account, vote.slot, vote.bank_hash)


def packed(votes: Iterable[CastVote]) -> bytes:
    return pack(b"".join(_VOTE.pack(*each) for each in sorted(votes)))


def unpacked(stored: bytes) -> list[CastVote]:
    return [CastVote(*each) for each in _VOTE.iter_unpack(unpack(stored))]
