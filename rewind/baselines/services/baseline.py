"""Baselines: what every account was at one slot, from a snapshot or from account files."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.addresses import STAKE
from chain.lattice import LatticeHash, lattice_of
from chain.units import I64_MAX, U64_MAX, Slot
from columns.queries import lift_timeouts
from rewind.baselines.errors import OtherStakes
from rewind.baselines.models import Baseline
from rewind.baselines.services import baseline_proof
from rewind.baselines.services.baseline_proof import Base, Declared, Proof
from rewind.baselines.store import baselines, snapshots
from rewind.errors import BadBaseline
from rewind.proof.store import epoch_stakes, proof_runs, stake_turns
from rewind.proof.store.epoch_stakes import Stake, StakeOrigin
from rewind.recording.store import owners as owner_store
from rewind.recording.store import partitions, runtime_accounts, writing
from rewind.recording.store import slots as store


@dataclass(frozen=True, slots=True)
class RecordedBaseline:
    """Accounts that were recorded, that were there already, and that are gone (0 lamports); whether
    they are all of the chain, and `shown`, which says so in a line.
    """

    accounts: int
    present: int
    gone: int
    proof: Proof = field(default_factory=Proof)
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a snapshot says of itself: the block of its slot, the lamports of all accounts, the full
    snapshot that an incremental one builds on, the sum of all accounts, and the stakes of epochs by
    vote account.
    """

    blockhash: bytes | None = None
    block_height: int | None = None
    capitalization: int | None = None
    base: Base | None = None
    declared: Declared = field(default_factory=Declared)
    stakes: Mapping[int, Mapping[bytes, Stake]] | None = None

    @property
    def base_slot(self) -> Slot | None:
        return None if self.base is None else self.base.slot


def require_base(
    base_slot: Slot, *, chosen_owners: Collection[bytes], blockhashes: Mapping[int, bytes]
) -> Base:
    """The full snapshot of the slot, which was brought in, and is of this chain as far as recent
    blockhashes (by number: height + 1) show. Raises BadBaseline.
    """
    found = [
        base
        for base in baselines.full_ones(base_slot)
        if base.whole or (chosen_owners and set(chosen_owners) <= set(map(bytes, base.owners)))
    ]
    if not found:
        others = ", ".join(map(str, baselines.slots_of_whole_ones(5)))
        here = f"; there are those of slots {others}" if others else ""
        raise BadBaseline(
            f"an incremental snapshot over the full one of slot {base_slot}, which is not here with"
            f" the same accounts{here}. Import it first"
        )
    for base in found:
        number = None if base.block_height is None else base.block_height + 1
        if number is None or number < min(blockhashes, default=number + 1):
            continue
        known = blockhashes.get(number)
        if known != bytes(base.blockhash):
            raise BadBaseline(
                f"an incremental snapshot over another full one of slot {base_slot} than what is"
                f" here ({base.source}): their blockhashes differ"
            )
    # A proven one first, then one whose sum is known.
    best = max(found, key=lambda each: (each.whole, each.proven, each.lattice is not None))
    lattice = None if best.lattice is None else bytes(best.lattice)
    return Base(base_slot, best.whole, lattice)


def record_baseline(
    accounts: Iterable[AccountWrite],
    slot: Slot,
    *,
    source: str,
    now: datetime,
    whole: bool = False,
) -> RecordedBaseline:
    """Each account is readable from the end of the slot on, filtered ones too; of several of one
    pubkey the last counts. `whole` says that the chain had no others. Doing it again changes
    nothing. Raises BadBaseline.
    """
    _check(slot)
    stored = ((slot, account) for account in accounts)
    return record_snapshot(stored, slot=lambda: slot, whole=lambda: whole, source=source, now=now)


def record_snapshot(
    stored: Iterable[tuple[Slot, AccountWrite]],
    *,
    slot: Callable[[], Slot],
    whole: Callable[[], bool],
    source: str,
    now: datetime,
    chosen_owners: Collection[bytes] = (),
    origin: Callable[[], Origin] = Origin,
    again: baseline_proof.ReadAgain | None = None,
    replace_stakes: bool = False,
) -> RecordedBaseline:
    """The same of an archive's stored accounts, where an account's highest slot counts; only those
    of the chosen owners, or all when none are chosen. `slot`, `whole` and `origin` are asked when
    all have been read. Where it builds on a base, accounts that are gone are recorded as such.

    With `again`, which reads them once more, the sum of all accounts is held against what the file
    declares: raises WrongSum, WrongBankHash and NoSum, OtherAccounts where a proven one contradicts
    what is recorded, and OtherStakes unless its stakes replace others. One that is proven is whole.
    """
    total = None if again is None else LatticeHash()
    of_runtime: set[bytes] = set()
    with snapshots.Staging() as staging:
        try:
            with transaction.atomic():
                lift_timeouts()
                staging.fill(_staged(stored, frozenset(chosen_owners), total, of_runtime))
        except writing.NotAU64 as error:
            raise BadBaseline("a number of an account is no u64") from error
        found = _Found(
            slot(),
            origin(),
            all_read=whole(),
            owners=chosen_owners,
            source=source,
            runtime_accounts=of_runtime,
        )
        _check(found.slot)
        if not chosen_owners:
            with transaction.atomic():
                lift_timeouts()
                _require_all_lamports(staging, found.origin)
        proof = Proof()
        if total is not None and again is not None:
            with transaction.atomic():
                lift_timeouts()
                of = found.origin
                proof = baseline_proof.prove(staging, total, of.declared, of.base, again)
        return _record(staging, found, proof, now=now, replace_stakes=replace_stakes)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read beside the accounts; `all_read` says that the file has all that it names.
    `runtime_accounts` are those of the runtime itself.
    """

    slot: Slot
    origin: Origin
    all_read: bool
    owners: Collection[bytes]
    source: str
    runtime_accounts: Collection[bytes]


def _staged(
    stored: Iterable[tuple[Slot, AccountWrite]],
    chosen_owners: frozenset[bytes],
    total: LatticeHash | None,
    of_runtime: set[bytes],
) -> Iterator[snapshots.Staged]:
    """What is read is added to `total`, accounts of the runtime itself to `of_runtime`."""
    for slot, account in stored:
        if len(account.pubkey) != 32 or len(account.owner) != 32:
            raise BadBaseline("an account's pubkey or owner has not 32 bytes")
        if total is not None:
            if not 0 <= account.lamports <= U64_MAX:
                raise writing.NotAU64(slot)
            total.add(lattice_of(account))
        wanted = not chosen_owners or account.owner in chosen_owners
        if wanted and account.owner in runtime_accounts.OWNERS:
            of_runtime.add(account.pubkey)
        yield snapshots.Staged(slot, wanted, account)


def _record(
    staging: snapshots.Staging, found: _Found, proof: Proof, *, now: datetime, replace_stakes: bool
) -> RecordedBaseline:
    slot, origin = found.slot, found.origin
    with transaction.atomic():  # of its own: what it locks, writers of new slots need too
        lift_timeouts()
        # Owners before partitions, as all who lock both do.
        owner_store.ids_of(staging.owners())
        partitions.ensure([slot])
    with transaction.atomic():
        lift_timeouts()
        store.lock_for_writing([])
        if slot < store.first_kept_slot():
            raise BadBaseline(
                f"slot {slot} lies below the archive's window, which begins at"
                f" {store.first_kept_slot()}"
            )
        accounts, gone = staging.counts()
        new = staging.insert_bases(slot, gone_too=origin.base_slot is not None)
        runtime_accounts.keep(found.runtime_accounts)
        staging.keep_stake_accounts(bytes(STAKE))
        if proof.is_proven and new < accounts - gone and _others_are_of(slot, proof):
            is_all = not found.owners and origin.base is None
            baseline_proof.require_same(staging, slot, proof.lattice if is_all else None)
        _keep(found, proof, accounts - gone, now=now, replace_stakes=replace_stakes)
    return RecordedBaseline(
        accounts=new,
        present=accounts - gone - new,
        gone=gone,
        proof=proof,
        shown=baseline_proof.shown(proof, origin.declared),
    )


def _others_are_of(slot: Slot, proof: Proof) -> bool:
    """Whether accounts of another sum were recorded at the slot, or of one that is not known."""
    return any(
        each.lattice is None or bytes(each.lattice) != proof.lattice
        for each in baselines.of_slot(slot)
    )


def _keep(
    found: _Found, proof: Proof, accounts: int, *, now: datetime, replace_stakes: bool
) -> None:
    origin, bank = found.origin, found.origin.declared.bank
    # The sum of all accounts leaves none out, whatever the file says of its storages.
    whole = (found.all_read or proof.is_proven) and not found.owners
    values = {
        "accounts": accounts,
        "whole": whole,
        "owners": [Pubkey(owner) for owner in sorted(found.owners)],
        "blockhash": origin.blockhash,
        "block_height": origin.block_height,
        "base_slot": origin.base_slot,
    }
    # A sum over some of the accounts is of no use to what builds on it.
    is_sum = proof.is_proven or found.all_read
    proved = {
        "proven": proof.is_proven,
        "why_unproven": proof.why_unproven,
        "lattice": proof.lattice if is_sum else None,
        "bank_hash": None if bank is None else bank.hash,
        "parent_hash": None if bank is None else bank.parent_hash,
        "parent_slot": None if bank is None else bank.parent_slot,
        "signature_count": None if bank is None else bank.signature_count,
    }
    kept = baselines.keep(found.slot, found.source, values, proved, now=now, replace=whole)
    for epoch, stakes in (origin.stakes or {}).items():
        _keep_stakes(kept, epoch, stakes, replace=replace_stakes)


def _keep_stakes(
    kept: Baseline, epoch: int, stakes: Mapping[bytes, Stake], *, replace: bool
) -> None:
    known, origin = epoch_stakes.of_epoch(epoch), epoch_stakes.origin_of(epoch)
    if not stakes:
        return
    if origin is None or origin.is_node:
        epoch_stakes.keep(StakeOrigin(kept), epoch, stakes)
    elif epoch_stakes.agree(known, stakes):
        if replace:
            stake_turns.overrule(epoch, kept.source)
        if known != stakes:  # in what is not known of voters
            epoch_stakes.keep(StakeOrigin(kept, origin.computed_slot), epoch, stakes)
    elif replace or (kept.proven and not _is_firm(origin)):
        epoch_stakes.keep(StakeOrigin(kept), epoch, stakes)
        stake_turns.overrule(epoch, kept.source)
    else:
        raise OtherStakes(epoch, str(origin))


def _is_firm(origin: StakeOrigin) -> bool:
    """Whether the accounts that the stakes came with, or were computed from, are proven."""
    if origin.baseline is not None and origin.baseline.proven:
        return True
    if origin.computed_slot is None:
        return False
    run = proof_runs.of_slot(origin.computed_slot)
    return run is not None and run.state == proof_runs.PROVEN


def _require_all_lamports(staging: snapshots.Staging, origin: Origin) -> None:
    """The staged accounts, over those of the base, hold what the chain held."""
    if origin.capitalization is None:
        return
    held = staging.lamports(origin.base_slot)
    if held == origin.capitalization:
        return
    fault = f"hold {held} lamports where its manifest says {origin.capitalization}"
    if origin.base_slot is None:
        raise BadBaseline(
            f"its accounts {fault}: an incremental snapshot by another name, or part of a full one"
        )
    raise BadBaseline(
        f"its accounts and those of the full snapshot of slot {origin.base_slot} that is here"
        f" {fault}: it builds on another one"
    )


def _check(slot: Slot) -> None:
    if not 0 <= slot <= I64_MAX // 2:
        raise BadBaseline(f"slot {slot} is out of range")
