"""What recording a slot leaves for the running proof: one row, in the slot's own transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from solders.hash import Hash

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.lattice import LatticeHash, account_lattice
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import newest_states
from rewind.positions import Position
from rewind.proof import accounts, vote_transactions, votes
from rewind.proof.store import proof_queue, proof_runs, slot_proofs
from rewind.proof.store.slot_proofs import State

# Reasons of unproven slots.
VOTES_NOT_SEEN = "votes_not_seen"
NOT_COMPUTED = "not_computed"
REWRITTEN = "rewritten"
# Of a block's signatures, where they cannot be counted.
UNKNOWN = -1


@dataclass(slots=True)
class LastWrites:
    """By slot and account: None where its last write is archived, else that write, which a filter
    dropped. Writes of an account come in their order.
    """

    _by_slot: dict[int, dict[bytes, AccountWrite | None]] = field(default_factory=dict)

    def of_slot(self, slot: int) -> dict[bytes, AccountWrite | None]:
        """To be filled."""
        return self._by_slot.setdefault(slot, {})


@dataclass(frozen=True, slots=True)
class Before:
    """Of slots with a bank, how it stands; of proven ones that are recorded again, the sum of what
    their accounts were at its end; those that had no block here, but a snapshot.
    """

    states: dict[int, int]
    sums: dict[int, bytes]
    starts: frozenset[int]


def before(records: Sequence[SlotRecord], improved: Collection[int]) -> Before:
    """What the proof knows of the slots that are about to be written."""
    states = slot_proofs.states([record.slot for record in records])
    sums: dict[int, bytes] = {
        record.slot: _sum_of(record)
        for record in records
        if record.slot in improved and states.get(record.slot) == State.SETTLED
    }
    fresh = [slot for slot in states if slot not in improved]
    return Before(states, sums, slot_proofs.starts(fresh) if fresh else frozenset())


def note(records: Sequence[SlotRecord], last: LastWrites, known: Before) -> None:
    """The slots wait for the proof. One that is proven stays so if its accounts end as they did."""
    waiting: list[SlotRecord] = []
    for record in records:
        state = known.states.get(record.slot)
        if state == State.SETTLED and record.slot in known.starts:
            state = None  # a snapshot's: the chain of banks below may meet it now
        if state == State.SETTLED:
            if known.sums.get(record.slot) != _sum_of(record):
                proof_queue.wait()
                proof_runs.mark(record.slot, record.slot, proof_runs.UNPROVEN, REWRITTEN)
            continue
        if state is not None:
            _compute_again(record.slot)
        waiting.append(record)
    proof_queue.put([_queued(record, last) for record in waiting])


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
    transactions = vote_transactions.packed(transaction for _, transaction in cast)
    return proof_queue.RecordedSlot(queued, transactions)


def _sum_of(record: SlotRecord) -> bytes:
    """The lattice hash of what the record's accounts are at the end of its slot, as archived."""
    total = LatticeHash()
    pubkeys = list({write.pubkey for write in record.account_writes or ()})
    layout = look_up_slot(record.slot).layout
    for each in newest_states(pubkeys, Position.end_of(record.slot), layout).values():
        parts = (each.pubkey, each.lamports, each.owner, each.data)
        total.add(account_lattice(*parts, executable=each.executable))
    return bytes(total)
