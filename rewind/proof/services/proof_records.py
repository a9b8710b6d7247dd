"""What recording a slot leaves for the running proof: one row, in the slot's own transaction."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.lattice import LatticeHash, lattice_of
from chain.slot_ranges import runs
from chain.units import I64_MAX
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import newest_states
from rewind.positions import Position
from rewind.proof import accounts, votes
from rewind.proof.services import degrees
from rewind.proof.store import proof_queue, proof_runs, slot_proofs
from rewind.proof.store.slot_proofs import State
from rewind.recording.store import slots

# Reasons of unproven slots.
VOTES_NOT_SEEN = "votes_not_seen"
NOT_COMPUTED = "not_computed"
REWRITTEN = "rewritten"
IN_GAP = "in_gap"
# Of a block's signatures, where they cannot be counted.
UNKNOWN = -1


@dataclass(slots=True)
class LastWrites:
    """By slot and account: None where its last write is archived, else that write, which a filter
    dropped. Writes of an account come in their order. `archived` counts the writes that no filter
    dropped, by slot.
    """

    archived: Counter[int] = field(default_factory=Counter)
    _by_slot: dict[int, dict[bytes, AccountWrite | None]] = field(default_factory=dict)

    def of_slot(self, slot: int) -> dict[bytes, AccountWrite | None]:
        """To be filled."""
        return self._by_slot.setdefault(slot, {})


@dataclass(frozen=True, slots=True)
class Before:
    """Slots with a bank, and how it stands; of settled ones that are archived and recorded again,
    the sum of what their accounts were at its end.
    """

    known: dict[int, slot_proofs.Known]
    sums: dict[int, bytes]


def before(records: Sequence[SlotRecord], improved: Collection[int]) -> Before:
    """What the proof knows of the slots that are about to be written."""
    known = slot_proofs.known([record.slot for record in records])
    sums: dict[int, bytes] = {
        record.slot: bytes(LatticeHash.sum_of(_lattices(record).values()))
        for record in records
        if record.slot in improved and record.slot in known
        if known[record.slot].state == State.SETTLED
    }
    return Before(known, sums)


def note(records: Sequence[SlotRecord], last: LastWrites, there: Before) -> None:
    """The slots wait for the proof. One that votes settled stays so if its accounts end as they
    did, or as they were proven.
    """
    waiting: list[SlotRecord] = []
    for record in records:
        known, total = there.known.get(record.slot), there.sums.get(record.slot)
        if known is not None and known.state == State.SETTLED:
            # A snapshot's that comes for the first time: the chain of banks below may meet it now.
            if total is not None or known.written is not None or not known.is_start:
                _hold_against_proven(record, last, known, total)
                continue
            if proof_runs.is_lost(record.slot):
                _mark_rewritten(record.slot)
        elif known is not None:
            _compute_again(record.slot)
        waiting.append(record)
    proof_queue.put([_queued(record, last) for record in waiting])


def lose(slots: Collection[int]) -> None:
    """The slots are about to leave the archive: settled ones are not proven until equal ones come,
    banks that no vote settled are computed again from the next ones. Refuted slots stay so.
    """
    proof_queue.wait()
    known = slot_proofs.known(slots)
    settled = sorted(slot for slot, each in known.items() if each.state == State.SETTLED)
    for part in runs(settled):
        for run in proof_runs.between(*part, part.size):
            if run.state in proof_runs.SETTLED:
                proof_runs.mark(
                    run.first,
                    run.last,
                    proof_runs.UNPROVEN,
                    IN_GAP,
                    basis=run.basis,
                    before_gap=run.state,
                )
    unsettled = [slot for slot in slots if slot not in known or known[slot].state == State.PENDING]
    for slot in unsettled:
        if slot in known:
            _compute_again(slot)
    proof_queue.drop(unsettled)


def _hold_against_proven(
    record: SlotRecord, last: LastWrites, known: slot_proofs.Known, total: bytes | None
) -> None:
    """The slot is no longer proven unless it is as it was proven, or as before: `total`, None if it
    was not there.
    """
    lattices, ends = _lattices(record), last.of_slot(record.slot)
    own = LatticeHash.sum_of(each for key, each in lattices.items() if ends[key] is None)
    block = (record.parent_slot, bytes(Hash.from_string(record.blockhash)))
    # A snapshot need not say which block its bank is of.
    is_block = known.is_start or block == (known.parent_slot, known.blockhash)
    # Rows that the record does not have may be left of another one.
    is_whole = is_block and _changes(record.slot) == last.archived[record.slot]
    if is_block and own.checksum == known.written:
        if is_whole:
            prove_again(record.slot)
    elif total is None or total != bytes(LatticeHash.sum_of(lattices.values())):
        _mark_rewritten(record.slot)
    elif is_whole and known.written is None and _is_settled(record.slot):
        slot_proofs.keep_written(record.slot, own.checksum)


def _mark_rewritten(slot: int) -> None:
    proof_queue.wait()
    proof_runs.mark(slot, slot, proof_runs.UNPROVEN, REWRITTEN)


def _is_settled(slot: int) -> bool:
    run = proof_runs.of_slot(slot)
    return run is not None and run.state in proof_runs.SETTLED


def _compute_again(slot: int) -> None:
    """The slot's bank and those above it no longer follow from the archive."""
    proof_queue.wait()
    placed = slot_proofs.bank(slot)
    if placed is None or placed.state == State.SETTLED:
        return
    # The bank that a chain begins with is a snapshot's, unless it is genesis.
    above = slot if 0 < slot == placed.start_slot else slot - 1
    again = {slot: placed.bank.parent_slot}
    again.update(slot_proofs.forget_pending(placed.start_slot, above))
    proof_queue.reopen(list(again))
    for each, parent in again.items():
        proof_runs.mark(min(parent + 1, each), each, proof_runs.UNPROVEN, NOT_COMPUTED)


def prove_again(slot: int) -> None:
    """The slot is again as votes settled it."""
    run = proof_runs.of_slot(slot)
    if run is None or run.reason not in (REWRITTEN, IN_GAP):
        return
    proof_queue.wait()
    state, basis = degrees.degree_above(slot)
    if run.before_gap:
        state, basis = run.before_gap, run.basis
    proof_runs.mark(slot, slot, state, basis=basis)
    if run.before_gap and not proof_runs.is_any_lost():
        _compute_above_again(slot)


def _compute_above_again(slot: int) -> None:
    """Banks above that no vote settled, or that votes refuted, may be of accounts as they were
    before slots that were lost.
    """
    refuted = proof_runs.refuted_from(slot, I64_MAX)
    if refuted is not None:
        for queued in proof_queue.between(refuted.first, refuted.last):
            _compute_again(queued.slot)
    pending = slot_proofs.oldest_pending()
    if pending is not None and pending[0] > slot:
        _compute_again(pending[0])


def _changes(slot: int) -> int:
    """How many writes the archive has of the slot."""
    return sum(changes for _, _, changes in slots.contents_between(slot, slot))


def _queued(record: SlotRecord, last: LastWrites) -> proof_queue.RecordedSlot:
    ends = last.of_slot(record.slot)
    signatures = votes.signature_count(record)
    cast = sorted(votes.votes_of(record))
    queued = proof_queue.QueuedSlot(
        slot=record.slot,
        parent_slot=record.parent_slot,
        blockhash=bytes(Hash.from_string(record.blockhash)),
        signature_count=UNKNOWN if signatures is None else signatures,
        pubkeys=b"".join(pubkey for pubkey, write in ends.items() if write is None),
        filtered=accounts.packed(write for write in ends.values() if write is not None),
        votes=votes.packed(vote for vote, _ in cast),
    )
    transactions = votes.packed_transactions(transaction for _, transaction in cast)
    return proof_queue.RecordedSlot(queued, transactions)


def _lattices(record: SlotRecord) -> dict[bytes, bytes]:
    """Lattice hashes of the record's archived accounts at the end of its slot."""
    pubkeys = list({write.pubkey for write in record.account_writes or ()})
    layout = look_up_slot(record.slot).layout
    found = newest_states(pubkeys, Position.end_of(record.slot), layout)
    return {key: lattice_of(state) for key, state in found.items()}
