"""Checks the documents that prove slots (chain/slot_proof.py): no database, no network.

What holds is arithmetic and signatures. What is left to believe is listed: unless the reader gives
them, how much stake each vote account has, and who may sign its votes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from solders.hash import Hash

from chain.electorates import Electorate
from chain.false_proofs import (
    Disconnected,
    OtherEpoch,
    WrongBankHash,
    WrongChecksum,
    WrongEpoch,
)
from chain.lattice import LatticeHash, bank_hash
from chain.proof_numbers import check_ancestors, is_parent_covered, uncovered
from chain.proof_votes import Votes, check_votes
from chain.slot_proof import SlotProof

# Slots that are listed by number.
_MOST_LISTED = 8


class Basis(Enum):
    """Whose word the count of votes rests on."""

    DOCUMENT = "the document names stakes and voters itself"
    STAKES = "the reader gave stakes, and the document names the voters"
    VOTERS = "the reader gave stakes and voters"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was checked: the slots from `first` to `last` hold, and the votes for the bank of
    `voted_slot`, which has every bank before it in its hash. `believed` is what was not checked;
    `missing` the slot up to which documents are missing, None if none is known to be.
    """

    first: int
    last: int
    slots: int
    bank_hash: bytes
    voted_slot: int
    votes: Votes
    unvoted: int
    basis: Basis
    believed: tuple[str, ...] = ()
    missing: int | None = None

    @property
    def is_voted(self) -> bool:
        """More than two thirds of the stake voted for a bank that has all slots in its hash."""
        return self.votes.is_supermajority and not self.unvoted

    @property
    def is_proven(self) -> bool:
        """The same, by stakes and voters that the reader gave."""
        return self.is_voted and self.basis is Basis.VOTERS


def check(proofs: Sequence[SlotProof], given: Sequence[Electorate] = ()) -> Verdict:
    """Checks slots, oldest first. Electorates that are given count and not the documents' word.
    Raises FalseProof, and OtherEpoch if none of the given ones is of the slots' epochs.
    """
    for proof in proofs:
        check_bank(proof)
    for before, proof in pairwise(proofs):
        _check_connected(before, proof)
    electorates = [_electorate(proof, given) for proof in proofs]
    counted = [
        _counted(proof, electorate, is_given=bool(given))
        for proof, electorate in zip(proofs, electorates, strict=True)
    ]
    if given:
        _require_one(proofs, electorates, given)
    check_ancestors(proofs, counted)
    # The highest one with two thirds behind it, or the one with most.
    best = max(
        range(len(proofs)),
        key=lambda number: (
            counted[number].is_supermajority,
            number if counted[number].is_supermajority else (counted[number].share or 0),
            counted[number].accounts,
        ),
    )
    basis = _basis(electorates[best])
    last = proofs[-1]
    through = last.voted_through
    return Verdict(
        first=proofs[0].slot,
        last=last.slot,
        slots=len(proofs),
        bank_hash=last.bank_hash,
        voted_slot=proofs[best].slot,
        votes=counted[best],
        unvoted=len(proofs) - 1 - best,
        basis=basis,
        believed=(
            *_believed_of_votes(proofs[best], basis),
            *_believed_of_epochs(proofs, electorates),
            *_believed_of_numbers(proofs, counted),
        ),
        missing=through if through is not None and through > last.slot else None,
    )


def check_bank(proof: SlotProof) -> None:
    """Raises WrongChecksum and WrongBankHash."""
    checksum = LatticeHash(proof.lattice).checksum
    if checksum != proof.checksum:
        raise WrongChecksum(
            proof.slot,
            f"the lattice hash has the checksum {Hash(checksum)}, not {Hash(proof.checksum)}",
        )
    parts = (proof.parent_bank_hash, proof.signature_count, proof.blockhash, proof.lattice)
    found = bank_hash(*parts, hard_fork=proof.hard_fork)
    if found != proof.bank_hash:
        raise WrongBankHash(
            proof.slot, f"its parts make the bank hash {Hash(found)}, not {Hash(proof.bank_hash)}"
        )


def _check_connected(before: SlotProof, proof: SlotProof) -> None:
    if proof.parent_slot != before.slot or proof.slot <= before.slot:
        missing = ""
        if before.slot < proof.parent_slot < proof.slot:
            missing = f": the document of slot {proof.parent_slot} is missing"
        raise Disconnected(
            proof.slot, f"its parent is slot {proof.parent_slot}, not slot {before.slot}{missing}"
        )
    if proof.parent_bank_hash != before.bank_hash:
        raise Disconnected(
            proof.slot,
            f"its parent's bank hash is {Hash(proof.parent_bank_hash)}, slot {before.slot} has"
            f" {Hash(before.bank_hash)}",
        )


def _electorate(proof: SlotProof, given: Sequence[Electorate]) -> Electorate | None:
    """The one of the slot's epoch. Raises WrongEpoch if the document names another epoch."""
    for each in given:
        if each.slots is not None:
            if not each.slots[0] <= proof.slot <= each.slots[1]:
                continue
            if proof.epoch not in (None, each.epoch):
                raise WrongEpoch(
                    proof.slot, f"it is in epoch {each.epoch}, not in epoch {proof.epoch}"
                )
            return each
        if each.epoch in (None, proof.epoch) or (proof.epoch is None and len(given) == 1):
            return each
    return None


def _counted(proof: SlotProof, electorate: Electorate | None, *, is_given: bool) -> Votes:
    votes = check_votes(proof, electorate)
    if electorate is None and is_given:  # their weight is not known
        return replace(votes, stake=None, total=None, ancestors=frozenset())
    return votes


def _require_one(
    proofs: Sequence[SlotProof],
    electorates: Sequence[Electorate | None],
    given: Sequence[Electorate],
) -> None:
    voted = [
        (proof, electorate)
        for proof, electorate in zip(proofs, electorates, strict=True)
        if proof.votes
    ]
    if voted and all(electorate is None for _, electorate in voted):
        proof = voted[-1][0]
        epochs = ", ".join(_epoch_and_slots(each) for each in given[:_MOST_LISTED])
        epoch = "an unknown epoch" if proof.epoch is None else f"epoch {proof.epoch}"
        raise OtherEpoch(
            f"the stakes given are those of {epochs}; slot {proof.slot} is said to be in {epoch}:"
            " give those of its epoch"
        )


def _epoch_and_slots(electorate: Electorate) -> str:
    if electorate.slots is None:
        return f"epoch {electorate.epoch}"
    first, last = electorate.slots
    return f"epoch {electorate.epoch} (slots {first} to {last})"


def _basis(electorate: Electorate | None) -> Basis:
    if electorate is None:
        return Basis.DOCUMENT
    return Basis.STAKES if electorate.voters is None else Basis.VOTERS


def _believed_of_votes(proof: SlotProof, basis: Basis) -> Iterator[str]:
    if not proof.votes:
        return
    epoch = "the epoch" if proof.epoch is None else f"epoch {proof.epoch}"
    if basis is Basis.VOTERS:
        yield f"that the stakes and voters given are those of {epoch}"
        return
    if basis is Basis.STAKES:
        yield f"that the stakes given are those of {epoch}"
    else:
        yield f"the stakes of {epoch}, as the document has them: give your own with --stakes"
    given = ": the stakes given name no voters" if basis is Basis.STAKES else ""
    if any(vote.voter is None for vote in proof.votes):
        yield f"that the signers of a vote may vote for its account: no voter is named{given}"
    else:
        yield f"that the voters named may vote for their accounts in that epoch{given}"


def _believed_of_epochs(
    proofs: Sequence[SlotProof], electorates: Sequence[Electorate | None]
) -> Iterator[str]:
    found = [
        proof.slot
        for proof, electorate in zip(proofs, electorates, strict=True)
        if proof.epoch is not None and (electorate is None or electorate.slots is None)
    ]
    if found:
        yield f"the epoch of {_listed(found)}: no hash covers it"


def _believed_of_numbers(proofs: Sequence[SlotProof], counted: Sequence[Votes]) -> Iterator[str]:
    found = uncovered(proofs, counted)
    if found:
        yield f"the number of {_listed(found)}: no hash and no vote covers it"
    first = proofs[0]
    if first.slot in found or not is_parent_covered(proofs, counted):
        yield f"that slot {first.parent_slot} is the parent of slot {first.slot}: no hash covers it"


def _listed(slots: Sequence[int]) -> str:
    if len(slots) == 1:
        return f"slot {slots[0]}"
    more = f" and {len(slots) - _MOST_LISTED} more" if len(slots) > _MOST_LISTED else ""
    return "slots " + ", ".join(map(str, slots[:_MOST_LISTED])) + more
