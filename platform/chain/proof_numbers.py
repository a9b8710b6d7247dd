"""Which slot numbers of a chain of documents votes cover: they are in no bank's hash."""

from collections.abc import Sequence
from itertools import pairwise

from chain.false_proofs import WrongNumber
from chain.proof_votes import Votes
from chain.slot_proof import SlotProof


def uncovered(proofs: Sequence[SlotProof], counted: Sequence[Votes]) -> list[int]:
    """The slots, ascending, whose numbers no votes of two thirds of the stake cover.

    Votes name the slot of their bank, and slots of its ancestors. A bank's parent has a number
    below its own: if the next lower one is an ancestor's, it is the parent's. Between two numbers
    that are covered, those of as many banks as there are numbers are covered, too.
    """
    covered = [votes.is_supermajority for votes in counted]
    ancestors: frozenset[int] = frozenset()
    for at in range(len(proofs) - 1, -1, -1):
        if covered[at]:
            ancestors |= counted[at].ancestors
        if at and covered[at] and _is_next(proofs[at - 1].slot, proofs[at].slot, ancestors):
            covered[at - 1] = True
    known = [at for at, is_covered in enumerate(covered) if is_covered]
    for low, high in pairwise(known):
        if proofs[high].slot - proofs[low].slot == high - low:
            covered[low:high] = [True] * (high - low)
    return [proof.slot for proof, is_covered in zip(proofs, covered, strict=True) if not is_covered]


def check_ancestors(proofs: Sequence[SlotProof], counted: Sequence[Votes]) -> None:
    """Raises WrongNumber if votes name an ancestor between the slots that no document has."""
    slots = {proof.slot for proof in proofs}
    lowest = proofs[0].parent_slot
    for proof, votes in zip(proofs, counted, strict=True):
        others = {slot for slot in votes.ancestors if lowest < slot < proof.slot} - slots
        if others:
            raise WrongNumber(
                proof.slot,
                f"its votes name slot {max(others)} as an ancestor, which no document has",
            )


def is_parent_covered(proofs: Sequence[SlotProof], counted: Sequence[Votes]) -> bool:
    """Whether votes cover the number of the first slot's parent; there the slot's own is."""
    ancestors = frozenset(slot for votes in counted for slot in votes.ancestors)
    return _is_next(proofs[0].parent_slot, proofs[0].slot, ancestors)


def _is_next(parent_slot: int, slot: int, ancestors: frozenset[int]) -> bool:
    return parent_slot == slot - 1 and parent_slot in ancestors
