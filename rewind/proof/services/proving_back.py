"""From a proven snapshot down to a gap: the archive's slots in between, each from the one above.

It ends where a sum is not met: an account that a slot wrote was last written in the gap.
"""

from collections.abc import Collection, Mapping

from chain.lattice import LatticeHash, lattice_of
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import newest_states
from rewind.positions import CARRIED, Position
from rewind.proof import accounts, votes
from rewind.proof.accounts import KeptState
from rewind.proof.backwards import parent_of
from rewind.proof.banks import Bank, SlotWrites
from rewind.proof.services import degrees
from rewind.proof.services.near_accounts import NearAccounts
from rewind.proof.services.proof_records import UNKNOWN
from rewind.proof.store import proof_queue, proof_runs, slot_proofs
from rewind.proof.store.proof_queue import QueuedSlot

# Votes for a block land within a few; states of filtered accounts that change often are near.
_VOTES_SLOTS = 32
_FILTERED_SLOTS = 64

# Where this process found that it does not go on; another one looks again.
_ended: set[int] = set()


def forget() -> None:
    """The process remembers nothing."""
    _ended.clear()


def step_back() -> bool:
    """Proves one slot below a proven one; whether there was any. Inside of a transaction, as the
    only one that proves.
    """
    for placed in slot_proofs.settled_with_rows():
        if placed.bank.slot not in _ended:
            if _step(placed):
                return True
            _ended.add(placed.bank.slot)
            proof_queue.drop_done_between(placed.bank.slot + 1, placed.start_slot)
    return False


def _step(placed: slot_proofs.Placed) -> bool:
    bank = placed.bank
    mine, below = proof_queue.waiting(bank.slot), proof_queue.waiting(bank.parent_slot)
    if mine is None:
        return False
    archived = [mine.pubkeys[at : at + 32] for at in range(0, len(mine.pubkeys), 32)]
    new = NearAccounts(bank.slot, 0, 1).after(bank.slot, archived)
    slot_proofs.keep_written(bank.slot, LatticeHash.sum_of(new.values()).checksum)
    if below is None or slot_proofs.bank(below.slot) is not None:
        return False
    if (mine.parent_slot, below.slot) != (bank.parent_slot, bank.parent_slot):
        return False
    if UNKNOWN in (mine.signature_count, below.signature_count) or below.slot <= below.parent_slot:
        return False
    found = _parent(bank, mine, below, new)
    if found is None:
        return False
    slot_proofs.put(found, start_slot=placed.start_slot, floor_slot=0, written=None)
    slot_proofs.settle_as([found.slot], like=placed.start_slot)
    state, basis = degrees.degree_of(bank.slot)
    proof_runs.mark(found.parent_slot + 1, bank.slot - 1, state, basis=basis)
    proof_queue.mark_done(bank.slot)
    proof_queue.drop_done_between(bank.slot + _VOTES_SLOTS, placed.start_slot)
    return True


def _parent(
    bank: Bank, mine: QueuedSlot, below: QueuedSlot, archived: Mapping[bytes, bytes]
) -> Bank | None:
    filtered = {state.pubkey: state for state in accounts.unpacked(mine.filtered)}
    new = {**archived, **{key: lattice_of(state) for key, state in filtered.items()}}
    old = _before(bank.slot, new.keys(), filtered.keys())
    writes = SlotWrites(*below[:4], [])
    return parent_of(bank, writes, old, new.values(), _hashes(below))


def _hashes(below: QueuedSlot) -> set[bytes]:
    """Of the bank below it, as anyone voted for it."""
    last = below.slot + _VOTES_SLOTS
    return {
        vote.bank_hash
        for queued in proof_queue.between(below.slot, last)
        for vote in votes.unpacked(queued.votes)
        if vote.slot == below.parent_slot
    }


def _before(slot: int, pubkeys: Collection[bytes], filtered: Collection[bytes]) -> list[bytes]:
    """Lattice hashes of living accounts as the slots below left them."""
    keys = list(pubkeys)
    states = newest_states(keys, Position(slot, CARRIED), look_up_slot(slot).layout)
    kept = _kept_before(slot, set(filtered))
    found = [lattice_of(state) for state in kept.values()]
    found += [lattice_of(state) for key, state in states.items() if key not in kept]
    return found


def _kept_before(slot: int, wanted: set[bytes]) -> dict[bytes, KeptState]:
    """Of filtered accounts, as rows of slots below have them."""
    found: dict[bytes, KeptState] = {}
    rows = proof_queue.between(max(0, slot - _FILTERED_SLOTS), slot - 1) if wanted else []
    for queued in reversed(rows):
        for state in accounts.unpacked(queued.filtered):
            if state.pubkey in wanted:
                found[state.pubkey] = state
                wanted.discard(state.pubkey)
        if not wanted:
            break
    return found
