"""What is vouched for of a chain of banks, and what becomes proven with it."""

from collections.abc import Mapping

from rewind.baselines.store import baselines
from rewind.proof.banks import Bank
from rewind.proof.models import ProofRun
from rewind.proof.store import proof_runs, slot_proofs
from rewind.proof.store.proof_runs import CONSISTENT, PROVEN, SETTLED, Basis
from rewind.proof.store.slot_proofs import State

RestsOn = ProofRun.RestsOn
# Bank hashes by slot that the operator set.
Roots = Mapping[int, bytes]


def proven_in(start_slot: int, head: int) -> tuple[int, Basis] | None:
    """The highest proven bank of the chain at or below its head, and what it rests on."""
    through = proof_runs.proven_through(head)
    run = None if through is None else proof_runs.of_slot(through)
    if through is None or run is None:
        return None
    row = slot_proofs.at_or_below(through, run.first)
    return None if row is None or row.start_slot != start_slot else (row.slot, run.basis)


def given_in(start_slot: int, head: int, roots: Roots) -> tuple[int, Basis] | None:
    """The highest slot of the chain whose state the operator gave, by a snapshot that it
    begins with, or by its bank's hash.
    """
    for slot in sorted(roots, reverse=True):
        if start_slot <= slot <= head:
            placed = slot_proofs.bank(slot)
            found = None if placed is None else (placed.start_slot, placed.bank.hash)
            if found == (start_slot, roots[slot]):
                return slot, Basis(RestsOn.OPERATOR, slot)
    if baselines.of_slot(start_slot).filter(proven=True).exists():
        return start_slot, Basis(RestsOn.SNAPSHOT, start_slot)
    return None


def confirm(roots: Roots) -> bool:
    """Consistent slots are proven that are in the hash of a bank which the operator gave since;
    whether there were any. By the only one that proves.
    """
    found = False
    given = [(slot, Basis(RestsOn.SNAPSHOT, slot)) for slot in slot_proofs.settled_baselines()]
    given += [(slot, Basis(RestsOn.OPERATOR, slot)) for slot in roots]
    for slot, basis in given:
        run, placed = proof_runs.of_slot(slot), slot_proofs.bank(slot)
        if run is None or run.state != CONSISTENT or placed is None:
            continue
        if basis.rests_on == RestsOn.OPERATOR and placed.bank.hash != roots[slot]:
            continue
        first = max(run.first, min(placed.bank.parent_slot + 1, slot))
        proof_runs.mark(first, slot, PROVEN, basis=basis)
        prove_below(placed.bank, basis)
        found = True
    return found


def prove_below(bank: Bank, basis: Basis) -> None:
    """Consistent slots right below a proven bank are proven, as far down as its hash has theirs."""
    low = bank
    while low.parent_slot < low.slot:
        run, below = proof_runs.of_slot(low.parent_slot), slot_proofs.bank(low.parent_slot)
        if run is None or run.state != CONSISTENT or below is None:
            return
        if below.state != State.SETTLED or below.bank.hash != low.parent_hash:
            return
        # Banks of one chain follow from each other.
        lowest = slot_proofs.bank(
            slot_proofs.lowest_of(below.start_slot, run.first, below.bank.slot)
        )
        assert lowest is not None
        low = lowest.bank
        first = max(run.first, min(low.parent_slot + 1, low.slot))
        proof_runs.mark(first, below.bank.slot, PROVEN, basis=basis)


def degree_above(slot: int) -> tuple[str, Basis]:
    """Of a settled slot whose run does not say it any more: that of settled slots above, whose
    banks have its hash.
    """
    run, placed = proof_runs.settled_above(slot), slot_proofs.bank(slot)
    if run is not None and placed is not None:
        lowest = slot_proofs.lowest_of(placed.start_slot, run.first, run.last)
        above = slot_proofs.bank(lowest)
        if above is not None and above.state == State.SETTLED:
            of_one_chain = above.start_slot == placed.start_slot
            if of_one_chain or above.bank.parent_hash == placed.bank.hash:
                return run.state, run.basis
    return degree_of(slot)


def degree_of(slot: int) -> tuple[str, Basis]:
    """Of a settled slot; what is no longer so counts as consistent."""
    run = proof_runs.of_slot(slot)
    if run is None or run.state not in SETTLED:
        return CONSISTENT, Basis(RestsOn.UNCHECKED)
    return run.state, run.basis
