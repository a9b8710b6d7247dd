"""What is said of the proof: of a slot, of an answer's position, of ranges."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, Required, TypedDict, cast

from msgspec import UNSET, UnsetType
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.addresses import VOTE
from chain.bank_votes import BankVote, votes_in
from chain.encodings import b64encode
from chain.lattice import LatticeHash
from chain.signed import is_signed
from chain.transactions import BadTransaction, Wire, decode_wire, encode_wire
from chain.units import I64_MAX, Slot
from historical.blocks.services import stored_content
from historical.transactions.services import recorded_transactions
from rewind.coverage.services import epochs
from rewind.errors import SlotTooNew, SlotTooOld, SlotUnproven
from rewind.proof.models import SlotProof
from rewind.proof.results import ProofRange, ProofVote, ProvenSlot, RestsOn, Standing, StateName
from rewind.proof.services.proof_records import NOT_COMPUTED, VOTES_NOT_SEEN
from rewind.proof.services.proving import NO_BASELINE
from rewind.proof.services.voters import voters_at
from rewind.proof.store import epoch_stakes, proof_runs, slot_proofs
from rewind.proof.store.proof_runs import NOTHING, UNPROVEN, Basis, Run
from rewind.recording.store import slots as slot_store

MOST_RANGES = 1_000
_MOST_DRAWN = 10_000
NO_BLOCK = "no_block"
# Blocks above a slot that are read for votes for its bank: validators vote within a few.
_MOST_BLOCKS = 8
_VOTE_PROGRAM = str(VOTE)


def standing(slot: int) -> Standing:
    """Of what the archive has at the end of the slot."""
    slot = min(slot, I64_MAX)
    run = proof_runs.of_slot(slot) or Run(slot, slot, UNPROVEN, _why_nothing(slot))
    said = _said(run)
    row = slot_proofs.at_or_below(slot, run.first)
    if row is None:
        return Standing(**said)
    is_voted = run.state != UNPROVEN and row.voted_slot is not None
    share: float | None = None
    if is_voted and row.stake is not None and row.total_stake:
        share = row.stake / row.total_stake
    return Standing(
        slot=row.slot,
        bank_hash=row.bank_hash,
        voted_through=row.voted_slot if is_voted and row.voted_slot is not None else UNSET,
        share=UNSET if share is None else share,
        voters=row.voters if is_voted and row.voters is not None else UNSET,
        **said,
    )


class _Said(TypedDict, total=False):
    state: Required[StateName]
    reason: str | UnsetType
    rests_on: RestsOn | UnsetType
    rests_on_slot: int | UnsetType


def _said(run: Run) -> _Said:
    basis = _basis(run)
    return _Said(
        state=cast(StateName, run.state),
        reason=run.reason or UNSET,
        rests_on=cast(RestsOn, basis.rests_on) if basis.rests_on else UNSET,
        rests_on_slot=UNSET if basis.slot is None else basis.slot,
    )


def _basis(run: Run | None) -> Basis:
    """What the run rests on; nothing for slots that are lost."""
    return NOTHING if run is None or run.before_gap else run.basis


def ranges(first: int, last: int) -> list[ProofRange]:
    """Lowest first, at most MOST_RANGES; what lies between them was not computed yet."""
    found = proof_runs.between(first, last, MOST_RANGES)
    return [ProofRange(from_slot=run.first, to_slot=run.last, **_said(run)) for run in found]


def runs(first: int, last: int) -> list[Run]:
    """Lowest first, for a picture of them: at most so many that a page can draw."""
    return proof_runs.between(first, last, _MOST_DRAWN)


def newest_runs() -> list[Run]:
    """The newest ones, lowest first, for a picture of them."""
    return proof_runs.newest(200)[::-1]


class Through(NamedTuple):
    """The highest proven slot, and the highest that is proven or consistent."""

    proven: int | None
    settled: int | None


def through(first: int, last: int) -> Through:
    """Of the slots from `first` to `last`."""
    found = (proof_runs.proven_through(last), proof_runs.settled_through(last))
    return Through(*(None if slot is None or slot < first else slot for slot in found))


@dataclass(frozen=True, slots=True)
class Overview:
    """Runs of refuted slots, the newest first; how far slots are proven, and how far the highest
    computed bank is above the highest one that is at least consistent.
    """

    refuted: list[tuple[int, int]]
    through: Through
    lag: int | None


def overview() -> Overview:
    found = through(0, I64_MAX)
    newest = slot_proofs.newest()
    lag = None if found.settled is None or newest is None else max(0, newest - found.settled)
    return Overview([(run.first, run.last) for run in proof_runs.refuted(100)], found, lag)


def slot_proof(slot: int, *, with_lattice: bool, with_votes: bool) -> ProvenSlot:
    """Raises SlotTooNew, SlotTooOld and SlotUnproven."""
    bounds = slot_store.bounds()
    if bounds is None or slot > bounds[1]:
        raise SlotTooNew(slot, None if bounds is None else Slot(bounds[1]))
    if slot < slot_store.first_kept_slot():
        raise SlotTooOld(slot, Slot(bounds[0]))
    row = slot_proofs.row(slot)
    run = proof_runs.of_slot(slot)
    if row is None:
        raise SlotUnproven(slot, _why_no_bank(slot, run))
    state = cast(StateName, UNPROVEN if run is None else run.state)
    epoch = _epoch_of(slot)
    stakes = epoch_stakes.of_epoch(epoch)
    lattice = bytes(row.lattice)
    is_settled, basis = state != UNPROVEN, _basis(run)
    return ProvenSlot(
        slot=slot,
        state=state,
        reason=None if run is None else run.reason or None,
        rests_on=cast(RestsOn, basis.rests_on) if basis.rests_on else None,
        rests_on_slot=basis.slot,
        bank_hash=row.bank_hash,
        parent_slot=row.parent_slot,
        parent_bank_hash=row.parent_hash,
        signature_count=row.signature_count,
        blockhash=row.blockhash,
        accounts_lattice_checksum=Hash(LatticeHash(lattice).checksum),
        accounts_lattice_hash=b64encode(lattice) if with_lattice else UNSET,
        epoch=epoch,
        total_stake=sum(each.lamports for each in stakes.values()) if stakes else None,
        voted_through=row.voted_slot if is_settled else None,
        voted_bank_hash=row.voted_hash if row.state == SlotProof.State.REFUTED else None,
        votes=list(_votes(row, stakes)) if with_votes else [],
    )


def _why_no_bank(slot: int, run: Run | None) -> str:
    if run is None:
        return _why_nothing(slot)
    # These runs are of slots with a bank, and of skipped ones below each.
    is_computed = run.state != UNPROVEN or run.reason == VOTES_NOT_SEEN
    return NO_BLOCK if is_computed else run.reason


def _why_nothing(slot: int) -> str:
    return NO_BASELINE if proof_runs.settled_through(slot) is None else NOT_COMPUTED


class _Found(NamedTuple):
    """A vote of a transaction of the ledger, which landed in the block of the slot `landed`."""

    vote: BankVote
    landed: int
    wire: Wire
    signature: Signature


def _votes(row: SlotProof, stakes: Mapping[bytes, epoch_stakes.Stake]) -> Iterator[ProofVote]:
    """Of blocks of the ledger above the slot: of each account the first that its voter signed."""
    found = list(_for_bank(row))
    voters: dict[int, Mapping[bytes, bytes]] = {}
    for epoch, some in groupby(found, key=lambda each: _epoch_of(each.landed)):
        accounts = {each.vote.vote_account for each in some}
        voters[epoch] = _voters(row.slot, epoch, accounts)
    seen: set[bytes] = set()
    for vote, landed, wire, signature in found:
        account, known = vote.vote_account, stakes.get(vote.vote_account)
        if account in seen or (stakes and known is None):
            continue
        voter = voters[_epoch_of(landed)].get(account)
        if not vote.signers or voter not in (None, *vote.signers) or not is_signed(wire):
            continue
        seen.add(account)
        yield ProofVote(
            vote_pubkey=Pubkey(account),
            signature=signature,
            slot=landed,
            stake=None if known is None else known.lamports,
            authorized_voter=None if voter is None else Pubkey(voter),
            transaction=b64encode(encode_wire(wire)),
        )


def _voters(slot: int, epoch: int, accounts: Set[bytes]) -> dict[bytes, bytes]:
    """Those of the epoch that came with its stakes, else by the accounts' states in the archive."""
    known = epoch_stakes.of_epoch(epoch)
    named = {key: voter for key in accounts & known.keys() if (voter := known[key].voter)}
    return named | voters_at(slot, accounts - named.keys(), epoch)


def _for_bank(row: SlotProof) -> Iterator[_Found]:
    wanted = (row.slot, bytes(row.bank_hash))
    for landed in _blocks_above(row):
        for index in _vote_transactions(landed):
            recorded = recorded_transactions.recorded_at(landed, index)
            if recorded is None:
                continue
            try:
                wire = decode_wire(bytes(recorded.transaction))
            except BadTransaction:
                continue
            for vote in votes_in(wire):
                if (vote.slot, vote.bank_hash) == wanted:
                    yield _Found(vote, landed, wire, recorded.signature)


def _epoch_of(slot: int) -> int:
    return epochs.epochs().schedule.epoch_of(slot)


def _blocks_above(row: SlotProof) -> list[int]:
    first, last = row.slot + 1, row.slot + 32
    if row.voted_slot == row.slot and row.first_landed is not None and row.last_landed is not None:
        first, last = row.first_landed, row.last_landed
    return slot_store.archived_between(first, last)[:_MOST_BLOCKS]


def _vote_transactions(slot: int) -> Iterator[int]:
    """Indexes of the block's transactions that name the vote program and did not fail."""
    try:
        entries = stored_content.transactions_of(slot)
    except stored_content.Unreadable:
        return
    for index, entry in enumerate(entries):
        failed = (entry.get("meta") or {}).get("err") is not None
        if not failed and _VOTE_PROGRAM in entry["transaction"]["message"]["accountKeys"]:
            yield index
