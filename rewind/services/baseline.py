"""Baselines: what every account was at one slot, from a snapshot or from account files."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.units import I64_MAX, Slot
from rewind.errors import BadBaseline
from rewind.store import baselines, partitions, snapshots, writing
from rewind.store import owners as owner_store
from rewind.store import slots as store


@dataclass(frozen=True, slots=True)
class RecordedBaseline:
    """Accounts that were recorded, that were there already, and that are gone (0 lamports)."""

    accounts: int
    present: int
    gone: int


@dataclass(frozen=True, slots=True)
class Origin:
    """What a snapshot says of itself: the block of its slot, the lamports of all accounts, and the
    slot of the full snapshot that an incremental one builds on.
    """

    blockhash: bytes | None = None
    block_height: int | None = None
    capitalization: int | None = None
    base_slot: Slot | None = None


def require_base(
    base_slot: Slot, *, chosen_owners: Collection[bytes], blockhashes: Mapping[int, bytes]
) -> bool:
    """That the full snapshot of the slot was brought in, and is of this chain as far as recent
    blockhashes (by number: height + 1) show; whether it is whole. Raises BadBaseline.
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
    return any(base.whole for base in found)


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
) -> RecordedBaseline:
    """The same of an archive's stored accounts, where an account's highest slot counts; only those
    of the chosen owners, or all when none are chosen. `slot`, `whole` and `origin` are asked when
    all have been read. Where it builds on a base, accounts that are gone are recorded as such.
    """
    with snapshots.Staging() as staging:
        try:
            with transaction.atomic():
                writing.lift_timeouts()
                staging.fill(_staged(stored, frozenset(chosen_owners)))
        except writing.NotAU64 as error:
            raise BadBaseline("a number of an account is no u64") from error
        return _record(
            staging,
            slot(),
            origin(),
            whole=whole() and not chosen_owners,
            owners=chosen_owners,
            source=source,
            now=now,
        )


def _staged(
    stored: Iterable[tuple[Slot, AccountWrite]], chosen_owners: frozenset[bytes]
) -> Iterator[snapshots.Staged]:
    for slot, account in stored:
        if len(account.pubkey) != 32 or len(account.owner) != 32:
            raise BadBaseline("an account's pubkey or owner has not 32 bytes")
        wanted = not chosen_owners or account.owner in chosen_owners
        yield snapshots.Staged(slot, wanted, account)


def _record(
    staging: snapshots.Staging,
    slot: Slot,
    origin: Origin,
    *,
    whole: bool,
    owners: Collection[bytes],
    source: str,
    now: datetime,
) -> RecordedBaseline:
    _check(slot)
    with transaction.atomic():  # of its own: what it locks, writers of new slots need too
        writing.lift_timeouts()
        # Owners before partitions, as all who lock both do.
        owner_store.ids_of(staging.owners())
        partitions.ensure([slot])
    with transaction.atomic():
        writing.lift_timeouts()
        store.lock_for_writing([])
        if slot < store.first_kept_slot():
            raise BadBaseline(
                f"slot {slot} lies below the archive's window, which begins at"
                f" {store.first_kept_slot()}"
            )
        if not owners:
            _require_all_lamports(staging, origin)
        accounts, gone = staging.counts()
        new = staging.insert_bases(slot, gone_too=origin.base_slot is not None)
        values = {
            "accounts": accounts - gone,
            "whole": whole,
            "owners": [Pubkey(owner) for owner in sorted(owners)],
            "blockhash": origin.blockhash,
            "block_height": origin.block_height,
            "base_slot": origin.base_slot,
        }
        baselines.keep(slot, source, values, now=now, replace=whole)
    return RecordedBaseline(accounts=new, present=accounts - gone - new, gone=gone)


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
