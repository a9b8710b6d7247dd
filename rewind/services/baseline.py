"""Baselines: what every account was at one slot, from a snapshot or from account files."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from chain.accounts import AccountWrite
from chain.units import I64_MAX, Slot
from rewind.errors import BadBaseline
from rewind.models import Baseline
from rewind.store import owners, partitions, snapshots, writing
from rewind.store import slots as store


@dataclass(frozen=True, slots=True)
class RecordedBaseline:
    """Accounts that were recorded, that were there already, and that are gone (0 lamports)."""

    accounts: int
    present: int
    gone: int


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
) -> RecordedBaseline:
    """The same of an archive's stored accounts, where an account's highest slot counts; only those
    of the chosen owners, or all when none are chosen. `slot` and `whole` are asked when all have
    been read.
    """
    with snapshots.Staging() as staging:
        try:
            with transaction.atomic():
                writing.lift_timeouts()
                staging.fill(_staged(stored, frozenset(chosen_owners)))
        except writing.NotAU64 as error:
            raise BadBaseline("a number of an account is no u64") from error
        return _record(staging, slot(), whole=whole() and not chosen_owners, source=source, now=now)


def _staged(
    stored: Iterable[tuple[Slot, AccountWrite]], chosen_owners: frozenset[bytes]
) -> Iterator[snapshots.Staged]:
    for slot, account in stored:
        if len(account.pubkey) != 32 or len(account.owner) != 32:
            raise BadBaseline("an account's pubkey or owner has not 32 bytes")
        wanted = not chosen_owners or account.owner in chosen_owners
        yield snapshots.Staged(slot, wanted, account)


def _record(
    staging: snapshots.Staging, slot: Slot, *, whole: bool, source: str, now: datetime
) -> RecordedBaseline:
    _check(slot)
    with transaction.atomic():  # of its own: what it locks, writers of new slots need too
        writing.lift_timeouts()
        # Owners before partitions, as all who lock both do.
        owners.ids_of(staging.owners())
        partitions.ensure([slot])
    with transaction.atomic():
        writing.lift_timeouts()
        store.lock_for_writing([])
        if slot < store.first_kept_slot():
            raise BadBaseline(
                f"slot {slot} lies below the archive's window, which begins at"
                f" {store.first_kept_slot()}"
            )
        accounts, gone = staging.counts()
        new = staging.insert_bases(slot)
        told = {"accounts": accounts - gone, "whole": whole}
        Baseline.objects.update_or_create(
            slot=slot,
            source=source,
            defaults=told if whole else {},
            create_defaults={**told, "recorded_at": now},
        )
    return RecordedBaseline(accounts=new, present=accounts - gone - new, gone=gone)


def _check(slot: Slot) -> None:
    if not 0 <= slot <= I64_MAX // 2:
        raise BadBaseline(f"slot {slot} is out of range")
