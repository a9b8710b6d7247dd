"""The proof of a slot with those of the slots above it, up to the one whose votes settle it."""

import msgspec

from rewind.proof.results import ProvenSlot
from rewind.proof.services.slot_proofs import slot_proof
from rewind.proof.store import slot_proofs

# Of some 3 kB each. The last one's `votedThrough` says how far is left to ask for.
MOST_ABOVE = 128


def slot_chain(slot: int, *, with_lattice: bool, with_votes: bool) -> ProvenSlot:
    """Raises SlotTooNew, SlotTooOld and SlotUnproven."""
    first = slot_proof(slot, with_lattice=with_lattice, with_votes=with_votes)
    through = first.voted_through
    above = [] if through is None else _banks_above(slot, through)
    chain = [
        slot_proof(each, with_lattice=with_lattice, with_votes=with_votes and each == through)
        for each in above
    ]
    return msgspec.structs.replace(first, chain=chain)


def _banks_above(slot: int, through: int) -> list[int]:
    """Each the parent of the next; they end where one is missing."""
    found: list[int] = []
    for above, parent_slot in slot_proofs.parents_between(slot + 1, through, MOST_ABOVE):
        if parent_slot != (found[-1] if found else slot):
            break
        found.append(above)
    return found
