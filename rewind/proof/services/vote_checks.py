"""Which votes of a chain of banks count, in two degrees: by stakes and voters that the operator
gave, or that follow from those (proven), or by whatever is known of them (consistent).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chain.epochs import EpochSchedule
from rewind.proof import votes
from rewind.proof.models import ProofRun
from rewind.proof.services.voters import Voters
from rewind.proof.store import epoch_stakes, proof_queue, proof_runs
from rewind.proof.store.epoch_stakes import Stake, StakeOrigin
from rewind.proof.store.proof_runs import CONSISTENT, PROVEN, Basis
from rewind.proof.votes import CastVote, Landed, Weights

RestsOn = ProofRun.RestsOn
_NO_ONE = frozenset[bytes]()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an epoch's stakes, and whether that is vouched for."""

    stakes: Mapping[bytes, Stake]
    basis: Basis
    is_given: bool
    weights: Weights


@dataclass(frozen=True, slots=True)
class Root:
    """The highest slot of a chain whose state is vouched for."""

    slot: int
    basis: Basis


@dataclass(slots=True)
class Memory:
    """What a process remembers of a chain's votes: voters by degree, and who signed a vote, as the
    transaction in the block of a slot shows.
    """

    voters: Mapping[str, Voters]
    signers: dict[tuple[CastVote, int], frozenset[bytes]] = field(default_factory=dict)

    def forget_to(self, slot: int) -> None:
        for key in [key for key in self.signers if key[0].slot <= slot]:
            del self.signers[key]
        for each in self.voters.values():
            each.forget_before(each.schedule.epoch_of(slot))


@dataclass(slots=True)
class Checks:
    """For one look at a chain's votes. `root` is None if nothing of the chain is vouched for;
    `settled` is the slot whose states count otherwise.
    """

    memory: Memory
    schedule: EpochSchedule
    root: Root | None
    settled: int
    quorum: int
    trusts_node: bool
    _stakes: dict[int, Known] = field(default_factory=dict)
    _transactions: dict[int, dict[CastVote, list[bytes]]] = field(default_factory=dict)

    def stakes(self, slot: int) -> Known:
        """Of the slot's epoch."""
        epoch = self.schedule.epoch_of(slot)
        if epoch not in self._stakes:
            self._stakes[epoch] = self._known(epoch)
        return self._stakes[epoch]

    def _known(self, epoch: int) -> Known:
        stakes, origin = epoch_stakes.of_epoch(epoch), epoch_stakes.origin_of(epoch)
        if origin is None:
            return Known({}, Basis(RestsOn.ACCOUNTS), False, Weights(None, self.quorum))
        basis, is_given = _basis_of(origin, trusts_node=self.trusts_node)
        lamports = {account: stake.lamports for account, stake in stakes.items()}
        return Known(stakes, basis, is_given, Weights(lamports, self.quorum))

    def weights(self, degree: str, slot: int) -> Weights:
        """Nothing weighs anything in this degree if the stakes are not vouched for."""
        known = self.stakes(slot)
        return known.weights if degree == CONSISTENT or known.is_given else Weights({}, 1)

    def check(
        self, degree: str, slot: int, bank_hash: bytes, cast: Sequence[Landed]
    ) -> Iterator[bool]:
        """Which of these votes for a slot's bank its account's voter signed."""
        accounts: dict[int, set[bytes]] = defaultdict(set)
        epoch_of = self.schedule.epoch_of
        for each in cast:
            accounts[epoch_of(each.slot)].add(each.account)
        voters = {epoch: self._voters(degree, epoch, some) for epoch, some in accounts.items()}
        for each in cast:
            voter = voters[epoch_of(each.slot)].get(each.account)
            vote = CastVote(each.account, slot, bank_hash)
            yield voter is not None and voter in self._signers(vote, each.slot)

    def _voters(self, degree: str, epoch: int, accounts: set[bytes]) -> dict[bytes, bytes]:
        """By the stakes' own word, else by the accounts' states."""
        first_slot = self.schedule.slots_of(epoch)[0]
        known, found = self.stakes(first_slot), dict[bytes, bytes]()
        if known.is_given or degree == CONSISTENT:
            for account in accounts & known.stakes.keys():
                voter = known.stakes[account].voter
                if voter is not None:
                    found[account] = voter
        at = self.settled if degree == CONSISTENT else None if self.root is None else self.root.slot
        if at is not None:
            rest = sorted(accounts - found.keys())
            found.update(self.memory.voters[degree].of(epoch, rest, at=at))
        return found

    def _signers(self, vote: CastVote, landed: int) -> frozenset[bytes]:
        known = self.memory.signers
        if (vote, landed) not in known:
            transactions = self._landed_in(landed).get(vote, ())
            found = (votes.signers_of(each, vote) for each in transactions)
            known[vote, landed] = _NO_ONE.union(*found)
        return known[vote, landed]

    def _landed_in(self, slot: int) -> dict[CastVote, list[bytes]]:
        """Transactions by the votes in the slot's block. Rows of older versions have none."""
        if slot not in self._transactions:
            cast, transactions = proof_queue.votes_in(slot)
            found = self._transactions[slot] = {}
            pairs = zip(
                votes.unpacked(cast), votes.unpacked_transactions(transactions), strict=False
            )
            for vote, transaction in pairs:
                found.setdefault(vote, []).append(transaction)
        return self._transactions[slot]

    def are_given(self, slot: int) -> bool:
        """Whether nothing more counts of the slot's votes in another degree than proven."""
        is_known = self.root is not None and self.root.slot >= self.settled
        return is_known and self.stakes(slot).is_given

    def basis(self, degree: str, slot: int) -> Basis:
        """What a slot that these votes settled rests on."""
        known = self.stakes(slot)
        if degree == CONSISTENT:
            return Basis(RestsOn.STREAM) if known.is_given else known.basis
        assert degree == PROVEN
        are_named = all(stake.voter is not None for stake in known.stakes.values())
        if self.root is not None and not are_named and self.root.basis.rests_on == RestsOn.NODE:
            return self.root.basis
        return known.basis


def _basis_of(origin: StakeOrigin, *, trusts_node: bool) -> tuple[Basis, bool]:
    """What stakes rest on, and whether that is vouched for."""
    if origin.computed_slot is not None:
        run = proof_runs.of_slot(origin.computed_slot)
        if run is not None and run.state == PROVEN:
            return run.basis, True
    baseline = origin.baseline
    if baseline is not None:
        return Basis(RestsOn.SNAPSHOT, baseline.slot), baseline.proven
    if origin.computed_slot is not None:
        return Basis(RestsOn.STREAM), trusts_node
    return Basis(RestsOn.NODE), trusts_node
