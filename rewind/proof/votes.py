"""Votes for banks, and the transactions that carry them, as they are kept between recording and
proving, and what they come to.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple, TypeAlias

from chain.bank_votes import VOTE_PROGRAM, votes_in
from chain.blocks import SlotRecord
from chain.signed import is_signed
from chain.transactions import BadTransaction, Wire, decode_wire, sanitize
from columns.packed_data import pack, unpack

_VOTE = struct.Struct("<32sQ32s")
_LENGTH = struct.Struct("<H")
# Before version 1 a transaction's first byte is the count of its signatures.
_VERSIONED = 0x80
# A vote for a bank further below counts no more, as on the chain (its slot hashes).
MOST_SLOTS = 512


class CastVote(NamedTuple):
    """A vote account's vote for the bank of a slot, by the bank's hash."""

    account: bytes
    slot: int
    bank_hash: bytes


@dataclass(frozen=True)
class Weights:
    """What votes count in an epoch: lamports by vote account; None if they are not known. Then
    `quorum` accounts that agree are enough.
    """

    stakes: Mapping[bytes, int] | None
    quorum: int

    @cached_property
    def total(self) -> int | None:
        return None if self.stakes is None else sum(self.stakes.values())

    @cached_property
    def needed(self) -> int:
        """The least that is enough: more than two thirds of the stake, or so many accounts."""
        return self.quorum if self.total is None else 2 * self.total // 3 + 1

    def of(self, account: bytes) -> int:
        """Its lamports, or 1 if stakes are not known."""
        return 1 if self.stakes is None else self.stakes.get(account, 0)


class Weighed(NamedTuple):
    """Votes for one bank hash of a slot that are enough, each checked: of how many accounts, their
    lamports (None if they are not known), and the blocks that the first and the last of them landed
    in.
    """

    bank_hash: bytes
    voters: int
    stake: int | None
    first_landed: int
    last_landed: int


class Landed(NamedTuple):
    """An account's vote, and the slot of the block that it landed in."""

    account: bytes
    slot: int


# Of votes for the slot's bank hash, in their order: which of them hold. No more are asked for than
# are needed.
Check: TypeAlias = Callable[[int, bytes, Sequence[Landed]], Iterator[bool]]


@dataclass(slots=True)
class VoteCount:
    """Votes by the slot that they are for."""

    _votes: dict[int, dict[bytes, dict[Landed, None]]] = field(default_factory=dict)

    def add(self, landed: int, votes: Iterable[CastVote]) -> None:
        """Votes in the block of the slot `landed`. Those for slots that get no more are forgotten:
        what they did not settle is settled from above.
        """
        self.forget_to(landed - MOST_SLOTS - 1)
        for account, slot, bank_hash in votes:
            if landed - MOST_SLOTS <= slot < landed:
                by_hash = self._votes.setdefault(slot, {})
                by_hash.setdefault(bank_hash, {})[Landed(account, landed)] = None

    def weigh(self, slot: int, weights: Weights, check: Check) -> list[Weighed]:
        """The bank hashes that enough of the stake voted for: one, unless validators sign two."""
        found = []
        for bank_hash, votes in self._votes.get(slot, {}).items():
            weighed = self._weigh(slot, bank_hash, list(votes), weights, check)
            if weighed is not None:
                found.append(weighed)
        return found

    def _weigh(
        self, slot: int, bank_hash: bytes, votes: Iterable[Landed], weights: Weights, check: Check
    ) -> Weighed | None:
        """Checks the heaviest first, until they are enough or cannot be any more."""
        ranked = [vote for vote in votes if weights.of(vote.account)]
        possible = sum(weights.of(account) for account in {vote.account for vote in ranked})
        if possible < weights.needed:
            return None
        ranked.sort(key=lambda vote: (-weights.of(vote.account), vote.account))
        checked = zip(ranked, check(slot, bank_hash, ranked), strict=True)
        found, blocks = 0, list[int]()
        for account, of_account in groupby(checked, key=lambda pair: pair[0].account):
            landed = next((vote.slot for vote, holds in of_account if holds), None)
            if landed is None:
                possible -= weights.of(account)
                if possible < weights.needed:
                    return None
                continue
            found += weights.of(account)
            blocks.append(landed)
            if found >= weights.needed:
                stake = None if weights.stakes is None else found
                return Weighed(bank_hash, len(blocks), stake, min(blocks), max(blocks))
        return None

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


def votes_of(record: SlotRecord) -> Iterator[tuple[CastVote, bytes]]:
    """The votes that landed in the block, each with its transaction; of transactions that failed,
    or cannot be read, none.
    """
    for each in record.transactions:
        content = each.content
        keys = content.account_keys if isinstance(content, Wire) else content
        if VOTE_PROGRAM not in keys:
            continue
        if each.meta is not None and each.meta.get("err") is not None:
            continue
        try:
            found = list(votes_in(each.decoded))
        except BadTransaction:
            continue
        if found:
            transaction = each.wire
            for vote in found:
                yield CastVote(vote.vote_account, vote.slot, vote.bank_hash), transaction


def packed(votes: Iterable[CastVote]) -> bytes:
    return pack(b"".join(_VOTE.pack(*each) for each in sorted(votes)))


def unpacked(stored: bytes) -> list[CastVote]:
    return [CastVote(*each) for each in _VOTE.iter_unpack(unpack(stored))]


def packed_transactions(transactions: Iterable[bytes]) -> bytes:
    """The wire transactions that carry votes, in the order of their votes."""
    parts: list[bytes] = []
    for each in transactions:
        parts.append(_LENGTH.pack(len(each)))
        parts.append(each)
    return pack(b"".join(parts))


def unpacked_transactions(stored: bytes) -> list[bytes]:
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
