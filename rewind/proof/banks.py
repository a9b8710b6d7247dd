"""Banks that follow from each other: each one's hash from its parent's; what votes say of it."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from chain.lattice import LatticeHash, bank_hash
from rewind.proof.votes import CastVote, Check, VoteCount, Weighed, Weights


class Bank(NamedTuple):
    """A slot's bank as it follows from what is archived; `lattice` is that of all accounts."""

    slot: int
    parent_slot: int
    hash: bytes
    parent_hash: bytes
    signature_count: int
    blockhash: bytes
    lattice: bytes


class SlotWrites(NamedTuple):
    """What a slot adds to its parent's bank; `votes` landed in its block."""

    slot: int
    parent_slot: int
    blockhash: bytes
    signature_count: int
    votes: list[CastVote]


class Disconnected(ValueError):
    """A slot whose parent is not the head of the chain."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What votes settled: banks up to and with `through` are proven by `votes` for it (None: none
    is); `refuted` is the bank that votes contradict, by `against`.
    """

    through: Bank | None = None
    votes: Weighed | None = None
    refuted: Bank | None = None
    against: Weighed | None = None


@dataclass(slots=True)
class Chain:
    """`head` is the newest bank, `pending` those that no vote settled yet, oldest first; the head
    is the last of them unless it is settled.
    """

    head: Bank
    pending: list[Bank]
    count: VoteCount = field(default_factory=VoteCount)

    def extend(self, writes: SlotWrites, old: Iterable[bytes], new: Iterable[bytes]) -> Bank:
        """The next bank: `old` are the lattice hashes of what the slot wrote before it, `new` those
        after. Raises Disconnected.
        """
        if writes.parent_slot != self.head.slot:
            raise Disconnected(f"slot {writes.slot} does not follow slot {self.head.slot}")
        total = LatticeHash(self.head.lattice)
        for value in old:
            total.take(value)
        for value in new:
            total.add(value)
        lattice = bytes(total)
        parts = (self.head.hash, writes.signature_count, writes.blockhash)
        own = bank_hash(*parts, lattice)
        made = Bank(writes.slot, writes.parent_slot, own, *parts, lattice)
        self.count.add(writes.slot, writes.votes)
        self.head = made
        self.pending.append(made)
        return made

    def settle(self, weights: Callable[[int], Weights], check: Check) -> Verdict:
        """What the votes that hold say of pending banks: proven ones leave them. Above a refuted
        one nothing follows: the chain ends, and another goes on from the bank below. `weights`
        gives a slot's.

        A bank's hash has its parent's in it: votes for one prove all below it.
        """
        proven, votes = self._highest_voted(weights, check)
        through = None if proven < 0 else self.pending[proven]
        del self.pending[: proven + 1]
        if through is not None:
            self.count.forget_to(through.slot)
        for number in self._voted():
            bank = self.pending[number]
            for each in self.count.weigh(bank.slot, weights(bank.slot), check):
                if each.bank_hash != bank.hash:
                    del self.pending[number:]
                    return Verdict(through, votes, bank, each)
        return Verdict(through, votes)

    def _voted(self) -> list[int]:
        """Places of the pending banks that votes are for, ascending. A chain without votes has many
        pending banks, and each slot looks again.
        """
        found = []
        for slot in self.count.slots():
            place = bisect_left(self.pending, slot, key=lambda bank: bank.slot)
            if place < len(self.pending) and self.pending[place].slot == slot:
                found.append(place)
        return found

    def _highest_voted(
        self, weights: Callable[[int], Weights], check: Check
    ) -> tuple[int, Weighed | None]:
        for number in reversed(self._voted()):
            bank = self.pending[number]
            for each in self.count.weigh(bank.slot, weights(bank.slot), check):
                if each.bank_hash == bank.hash:
                    return number, each
        return -1, None
