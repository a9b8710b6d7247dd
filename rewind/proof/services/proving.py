"""The running proof: recorded slots, in the order of the chain, held against the cluster's votes.

Each call of `prove_step` takes one slot and may be the last: all that it found is in one
transaction. What a process remembers in between is made again from the tables by another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from django.db import transaction

from chain.lattice import LATTICE_BYTES, LatticeHash, lattice_of
from columns.queries import lift_timeouts
from rewind.coverage.services import epochs
from rewind.proof import accounts, votes
from rewind.proof.banks import Bank, Chain, SlotWrites, Verdict
from rewind.proof.models import ProofRun
from rewind.proof.services import degrees, proving_back
from rewind.proof.services.near_accounts import NearAccounts
from rewind.proof.services.proof_records import (
    NOT_COMPUTED,
    UNKNOWN,
    VOTES_NOT_SEEN,
    prove_again,
)
from rewind.proof.services.vote_checks import Checks, Memory, Root
from rewind.proof.services.voters import Voters
from rewind.proof.store import proof_queue, proof_runs, slot_proofs
from rewind.proof.store.proof_queue import QueuedSlot
from rewind.proof.store.proof_runs import CONSISTENT, PROVEN, SETTLED, Basis
from rewind.proof.store.slot_proofs import State

# Why slots are unproven, beside those of rewind/proof/services/proof_records.py.
GAP_BEFORE = "gap_before"
NO_BASELINE = "no_baseline"
OTHER_SNAPSHOT = "snapshot_differs"
OTHER_VOTES = "votes_differ"
UNCOUNTED = "signature_count_unknown"
ANOTHER_FORK = "another_fork"
# Votes are looked at once in so many slots, if not before.
_SETTLED_TOGETHER = 8


@dataclass(frozen=True, slots=True)
class Policy:
    """How many vote accounts that agree are enough where an epoch's stakes are not known; for how
    many slots one waits that cannot be proven yet; bytes of the memory of hashes; whether the
    followed node's word counts as the operator's; bank hashes that the operator set.
    """

    quorum: int = 20
    wait_slots: int = 20_000
    cache_bytes: int = 128 << 20
    trusts_node: bool = False
    roots: degrees.Roots = field(default_factory=dict)


@dataclass(slots=True)
class _Following:
    """A chain of banks that is followed, in this process's memory."""

    start_slot: int
    floor: int
    chain: Chain
    near: NearAccounts
    memory: Memory

    @classmethod
    def of(cls, start: int, floor: int, chain: Chain, cache_bytes: int) -> "_Following":
        near = NearAccounts(start, floor, cache_bytes)
        schedule = epochs.epochs().schedule
        voters = {degree: Voters(near.vote_states, schedule) for degree in SETTLED}
        return cls(start, floor, chain, near, Memory(voters))

    def checks(self, policy: Policy) -> Checks:
        """For a look at the votes now."""
        head, pending = self.chain.head.slot, self.chain.pending
        settled = head
        if pending:
            # Of a chain that no vote settled yet, the states that it began with; from genesis on
            # the newest, whose filtered accounts the proof keeps.
            is_settled = pending[0].slot != self.start_slot
            settled = pending[0].parent_slot if is_settled else self.start_slot or head
        given = [
            degrees.given_in(self.start_slot, head, policy.roots),
            degrees.proven_in(self.start_slot, head),
            (settled, Basis(RestsOn.NODE)) if policy.trusts_node else None,
        ]
        known = [Root(*each) for each in given if each is not None]
        root = max(known, key=lambda each: each.slot, default=None)
        schedule = epochs.epochs().schedule
        for voters in self.memory.voters.values():
            voters.schedule = schedule  # a node may have reported it since
        return Checks(self.memory, schedule, root, settled, policy.quorum, policy.trusts_node)


RestsOn = ProofRun.RestsOn


class _Result(Enum):
    """What became of a slot: its chain goes on from it, or ends for now; or nothing was changed,
    for the next one's votes have to come first.
    """

    GOES_ON = 1
    ENDS = 2
    WAITS = 3


_followed: _Following | None = None


def forget() -> None:
    """The process remembers nothing: the tables are others."""
    global _followed
    _followed = None
    proving_back.forget()


def prove_step(policy: Policy) -> bool:
    """Computes the next slot's bank, and settles what its votes settle; whether there was one. It
    may be stopped anywhere and run twice at once.
    """
    global _followed
    followed, _followed = _followed, None  # in case it fails
    with transaction.atomic():
        if not proof_queue.claim():
            return False
        lift_timeouts()
        found = _next(followed, policy)
        if found is None:
            is_proven = proving_back.step_back()
            _followed = followed  # with what it remembers
            return is_proven
        followed, queued = found
        taken = _take(followed, queued, policy)
    if taken is _Result.WAITS:
        return False
    _followed = followed if taken is _Result.GOES_ON else None
    return True


def trim(policy: Policy) -> None:
    """Slots that waited too long for a gap below them, or a baseline, stay unproven."""
    with transaction.atomic():
        if not proof_queue.claim():
            return
        newest = proof_queue.newest()
        if newest is None:
            return
        below = newest - policy.wait_slots
        going_on = proof_queue.newest_to_extend()
        if going_on is not None:
            below = min(below, going_on)
        if degrees.confirm(policy.roots):
            forget()
        _end_unvoted(policy)
        dropped = proof_queue.drop_below(below) if below > 0 else []
        if dropped:
            _leave(dropped)
            slot_proofs.forget_states_of_chains(newest - 4 * policy.wait_slots)


def _end_unvoted(policy: Policy) -> None:
    """A chain of banks for which no votes come is not followed for ever."""
    oldest, newest = slot_proofs.oldest_pending(), slot_proofs.newest()
    if oldest is None or newest is None or newest - oldest[0] <= policy.wait_slots:
        return
    gone = slot_proofs.forget_pending(oldest[1], -1)
    proof_queue.drop([slot for slot, _ in gone])


def drop_all() -> None:
    """Nothing waits."""
    with transaction.atomic():
        newest = proof_queue.newest()
        if newest is not None and proof_queue.claim():
            proof_queue.drop_below(newest + 1)


def _leave(dropped: Sequence[tuple[int, int]]) -> None:
    computed = slot_proofs.states([slot for slot, _ in dropped])
    slots = [each for each in dropped if each[0] not in computed]
    if not slots:
        return
    through = proof_runs.settled_through(slots[0][0])
    reason = NO_BASELINE if through is None else GAP_BEFORE
    first, last = min(slots[0][1] + 1, slots[0][0]), slots[0][0]
    for slot, parent in slots[1:]:
        if parent > last:
            proof_runs.mark(first, last, proof_runs.UNPROVEN, reason)
            first = parent + 1
        last = slot
    proof_runs.mark(first, last, proof_runs.UNPROVEN, reason)


def _next(followed: _Following | None, policy: Policy) -> tuple[_Following, QueuedSlot] | None:
    """The slot to take, and the chain that it extends."""
    if followed is not None:
        head = followed.chain.head
        placed = slot_proofs.bank(head.slot)
        if placed is not None and placed.bank == head and placed.state != State.REFUTED:
            child = proof_queue.following(head.slot)
            if child is not None:
                return followed, child
    slot = proof_queue.newest_to_extend()
    if slot is None:
        slot = _begin_at_baseline()
    if slot is not None:
        child = proof_queue.following(slot)
        return None if child is None else (_loaded(slot, policy), child)
    first, placed = proof_queue.genesis(), slot_proofs.bank(0)
    if first is None or (placed is not None and placed.state != State.REFUTED):
        return None
    nothing = Bank(0, 0, bytes(32), bytes(32), 0, bytes(32), bytes(LATTICE_BYTES))
    return _Following.of(0, 0, Chain(nothing, []), policy.cache_bytes), first


def _begin_at_baseline() -> int | None:
    found = slot_proofs.next_baseline()
    if found is None:
        return None
    bank = Bank(
        slot=found.slot,
        parent_slot=max(0, found.slot - 1) if found.parent_slot is None else found.parent_slot,
        hash=bytes(found.bank_hash),
        parent_hash=bytes(32) if found.parent_hash is None else bytes(found.parent_hash),
        signature_count=found.signature_count or 0,
        blockhash=bytes(32) if found.blockhash is None else bytes(found.blockhash),
        lattice=bytes(found.lattice or b""),
    )
    floor = found.slot if found.base_slot is None else found.base_slot
    slot_proofs.put(bank, start_slot=bank.slot, floor_slot=floor, written=None)
    proof_runs.mark(bank.slot, bank.slot, proof_runs.UNPROVEN, VOTES_NOT_SEEN)
    return bank.slot


def _loaded(head: int, policy: Policy) -> _Following:
    """The chain of banks that has its head there, from the tables."""
    placed = slot_proofs.bank(head)
    assert placed is not None
    chain = Chain(placed.bank, slot_proofs.pending(placed.start_slot, head))
    found = _Following.of(placed.start_slot, placed.floor_slot, chain, policy.cache_bytes)
    for queued in proof_queue.done([bank.slot for bank in chain.pending]):
        chain.count.add(queued.slot, votes.unpacked(queued.votes))
        found.near.keep(queued.slot, accounts.unpacked(queued.filtered))
    return found


def _take(followed: _Following, queued: QueuedSlot, policy: Policy) -> _Result:
    """The chain has the slot on it."""
    chain, near = followed.chain, followed.near
    if queued.signature_count == UNKNOWN:
        proof_queue.mark_done(queued.slot)
        parent = min(queued.parent_slot + 1, queued.slot)
        proof_runs.mark(parent, queued.slot, proof_runs.UNPROVEN, UNCOUNTED)
        return _Result.ENDS
    filtered = list(accounts.unpacked(queued.filtered))
    archived = [queued.pubkeys[at : at + 32] for at in range(0, len(queued.pubkeys), 32)]
    new = near.after(queued.slot, archived)
    written = LatticeHash.sum_of(new.values())
    hidden = {state.pubkey: lattice_of(state) for state in filtered}
    new |= hidden
    old = near.before(queued.slot, new.keys())
    writes = SlotWrites(*queued[:4], votes.unpacked(queued.votes))
    made = chain.extend(writes, old.values(), [bytes(written), *hidden.values()])
    there = slot_proofs.bank(made.slot)
    if there is not None and there.start_slot != followed.start_slot:
        return _join(followed, made, there, written.checksum)
    slot_proofs.put(
        made,
        start_slot=followed.start_slot,
        floor_slot=followed.floor,
        written=written.checksum,
    )
    proof_queue.mark_done(made.slot)
    _mark([made], proof_runs.UNPROVEN, VOTES_NOT_SEEN)
    near.follow(made.slot, new, filtered)
    if _is_due(made) and not _settle_all(followed, policy):
        return _Result.ENDS
    return _Result.GOES_ON


def _is_due(made: Bank) -> bool:
    """Whether votes are looked at: those for one slot settle all below it, and checking them is
    expensive. At the newest slot, below a snapshot that the chain meets, and now and then.
    """
    if made.slot // _SETTLED_TOGETHER != made.parent_slot // _SETTLED_TOGETHER:
        return True
    child = proof_queue.child_of(made.slot)
    return child is None or bool(slot_proofs.states([child]))


def _settle_all(followed: _Following, policy: Policy) -> bool:
    """Writes down what votes settle, in both degrees; whether the chain goes on from its head."""
    chain, checks = followed.chain, followed.checks(policy)
    followed.memory.forget_to(max(0, chain.head.slot - votes.MOST_SLOTS - 1))
    for degree in SETTLED:
        before = list(chain.pending)
        if degree == CONSISTENT and all(checks.are_given(bank.slot) for bank in before):
            break
        verdict = chain.settle(partial(checks.weights, degree), partial(checks.check, degree))
        if not _settle(followed, before, verdict, checks, degree):
            return False
    return True


def _settle(
    followed: _Following, pending: Sequence[Bank], verdict: Verdict, checks: Checks, degree: str
) -> bool:
    """The same in one degree."""
    through = verdict.through
    if through is not None:
        total = checks.stakes(through.slot).weights.total
        settled = [bank for bank in pending if bank.slot <= through.slot]
        slot_proofs.settle(
            [bank.slot for bank in settled], State.SETTLED, through.slot, verdict.votes, total
        )
        _finish(followed, settled, degree, checks.basis(degree, through.slot))
    refuted = verdict.refuted
    if refuted is None:
        return True
    total = checks.stakes(refuted.slot).weights.total
    slot_proofs.settle([refuted.slot], State.REFUTED, refuted.slot, verdict.against, total)
    _mark([refuted], proof_runs.REFUTED, OTHER_VOTES)
    gone = slot_proofs.forget_pending(followed.start_slot, refuted.slot)
    proof_queue.reopen([slot for slot, _ in gone])
    for slot, parent in gone:
        proof_runs.mark(parent + 1, slot, proof_runs.UNPROVEN, NOT_COMPUTED)
    return False


def _finish(followed: _Following, settled: Sequence[Bank], degree: str, basis: Basis) -> None:
    """What the proof kept for these banks goes; states of filtered accounts are of the last."""
    _mark(settled, degree, basis=basis)
    if degree == PROVEN:
        degrees.prove_below(settled[0], basis)
    slots = [bank.slot for bank in settled]
    newest: dict[bytes, tuple[int, accounts.KeptState]] = {}
    for queued in proof_queue.done(slots):
        for state in accounts.unpacked(queued.filtered):
            newest[state.pubkey] = queued.slot, state
    slot_proofs.keep_states(followed.start_slot, newest.values())
    followed.near.settle(slots[-1])
    followed.memory.forget_to(slots[-1])
    forks = slot_proofs.forget_forks(followed.start_slot, slots[-1])
    proof_queue.drop_done([*slots, *forks])
    for slot in forks:
        proof_runs.mark(slot, slot, proof_runs.UNPROVEN, ANOTHER_FORK)


def _join(followed: _Following, made: Bank, there: slot_proofs.Placed, written: bytes) -> _Result:
    """The chain reached the baseline that another one began with: are they the same?"""
    banks = followed.chain.pending[:-1]
    if there.bank.hash != made.hash:
        proof_queue.drop([made.slot, *(bank.slot for bank in banks)])
        _mark(banks, proof_runs.UNPROVEN, OTHER_SNAPSHOT)
        return _Result.ENDS
    if there.state != State.SETTLED:
        return _Result.WAITS
    if banks:
        slot_proofs.settle_as([bank.slot for bank in banks], like=made.slot)
        _finish(followed, banks, *degrees.degree_of(made.slot))
    slot_proofs.keep_written(made.slot, written)
    prove_again(made.slot)
    proof_queue.drop([made.slot])
    return _Result.ENDS


def _mark(
    banks: Sequence[Bank], state: str, reason: str = "", basis: Basis = proof_runs.NOTHING
) -> None:
    """Skipped slots below each are of its state. The banks follow from each other."""
    if banks:
        first = banks[0]
        begin = min(first.parent_slot + 1, first.slot)
        proof_runs.mark(begin, banks[-1].slot, state, reason, basis)
