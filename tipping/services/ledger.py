"""The tip ledger: changes of our addresses' balances by finalized transactions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from solders.pubkey import Pubkey

from chain.blocks import SlotRecord, TransactionRecord
from tipping.models import TipEntry
from tipping.services import sweeping
from tipping.store import ledger as store

Kind = TipEntry.Kind
# Signatures → ids of the keys that submitted them; without those that were not submitted here.
Submitters = Callable[[Collection[bytes]], Mapping[bytes, int]]


@dataclass(frozen=True, slots=True)
class OwnAddresses:
    """The addresses named in the settings. The treasury may be a tip address too."""

    static: frozenset[bytes]
    treasury: bytes


class _Change(NamedTuple):
    slot: int
    signature: bytes
    lamports: int


@transaction.atomic(savepoint=False)
def record(
    records: Iterable[SlotRecord], *, own: OwnAddresses, submitters: Submitters, now: datetime
) -> int:
    """Adds an entry for each balance change of our addresses in the finalized blocks. Returns how
    many there are. Recording the same blocks again changes nothing. Call it in the transaction that
    stores the blocks.
    """
    changes = _changes(records)
    if not changes:
        return 0
    issued = store.addresses_among(changes.keys())
    ours = issued | (changes.keys() & {*own.static, own.treasury})
    if not ours:
        return 0
    signatures = {each.signature for key in ours for each in changes[key]}
    sweeps, keys = store.sweeps_among(signatures), submitters(signatures)
    entries = []
    # Sorted, so that two workers that record the same entries cannot deadlock.
    for pubkey in sorted(ours):
        for change in changes[pubkey]:
            signature = change.signature
            entries.append(
                TipEntry(
                    signature=signature,
                    pubkey=pubkey,
                    kind=_kind(pubkey, change.lamports, signature in sweeps, own, issued),
                    lamports=change.lamports,
                    slot=change.slot,
                    is_static=pubkey in own.static,
                    key_id=keys.get(signature),
                    recorded_at=now,
                )
            )
    store.add(entries)
    sweeping.reopen_swept(issued)
    return len(entries)


def attribute(keys: Mapping[bytes, int]) -> None:
    """Sets the submitting keys of transactions that were recorded before their submissions."""
    if keys:
        store.attribute(keys)


def balance_of(pubkeys: Collection[bytes]) -> dict[bytes, int]:
    """Each address's balance by the stored finalized blocks, since it was issued or named in the
    settings.
    """
    found = store.sums(pubkeys) if pubkeys else {}
    return {bytes(key): int(found.get(Pubkey.from_bytes(bytes(key)), 0)) for key in pubkeys}


def _kind(
    pubkey: bytes, lamports: int, is_sweep: bool, own: OwnAddresses, issued: Collection[bytes]
) -> TipEntry.Kind:
    if is_sweep:
        return Kind.SWEEP
    is_tip = lamports > 0 and (pubkey in own.static or pubkey in issued)
    return Kind.TIP if is_tip else Kind.OTHER


def _changes(records: Iterable[SlotRecord]) -> dict[bytes, list[_Change]]:
    """Changes by the account whose balance changed."""
    found: dict[bytes, list[_Change]] = {}
    for record in records:
        for each in record.transactions:
            for key, lamports in _changes_of(each):
                found.setdefault(key, []).append(_Change(record.slot, each.signature, lamports))
    return found


def _changes_of(executed: TransactionRecord) -> Iterator[tuple[bytes, int]]:
    meta = executed.meta
    if meta is None:
        return
    before, after = meta["preBalances"], meta["postBalances"]
    keys = executed.account_keys
    for index, (pre, post) in enumerate(zip(before, after, strict=False)):
        if pre != post and index < len(keys):  # nodes older than 1.10 leave loaded ones out
            yield keys[index], post - pre
