"""The ledger of tips: what finalized transactions did to the balances of our addresses."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from solders.pubkey import Pubkey

from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58decode
from chain.transactions import first_signature, joined_static_keys
from tipping.models import TipEntry
from tipping.services import sweeping
from tipping.store import ledger as store

Kind = TipEntry.Kind
# Signatures → the keys with which they were submitted; those that came another way are not in it.
Submitters = Callable[[Collection[bytes]], Mapping[bytes, int]]


@dataclass(frozen=True, slots=True)
class OwnAddresses:
    """Those that the settings name. The treasury may be a tip address too."""

    static: frozenset[bytes]
    treasury: bytes


class Totals(NamedTuple):
    """Lamports: tips by what they went to, what sweeps took out and brought in, and the rest."""

    static_tips: int
    dynamic_tips: int
    swept_out: int
    swept_in: int
    other: int


class _Change(NamedTuple):
    slot: int
    wire: bytes
    lamports: int


@transaction.atomic(savepoint=False)
def record(
    records: Iterable[SlotRecord], *, own: OwnAddresses, submitters: Submitters, now: datetime
) -> int:
    """One entry for each transaction of the finalized blocks and each address of ours whose balance
    it changed; how many there are. The same blocks again change nothing. To be called in the
    transaction that stores the blocks.
    """
    changes = _changes(records)
    issued = store.addresses_among(changes.keys())
    ours = issued | (changes.keys() & {*own.static, own.treasury})
    if not ours:
        return 0
    signatures = {first_signature(each.wire) for key in ours for each in changes[key]}
    sweeps, keys = store.sweeps_among(signatures), submitters(signatures)
    entries = []
    # In one order: two workers that record the same entries wait for each other, and not forever.
    for pubkey in sorted(ours):
        for change in changes[pubkey]:
            signature = first_signature(change.wire)
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
    sweeping.ledger_grows(issued)
    return len(entries)


def attribute(keys: Mapping[bytes, int]) -> None:
    """Transactions whose submission became known after they were recorded: whose they were."""
    if keys:
        store.attribute(keys)


def balance_of(pubkeys: Collection[bytes]) -> dict[bytes, int]:
    """What finalized blocks left on each address, as far as they are stored: since it was first
    issued, or named in the settings.
    """
    found = store.sums(pubkeys) if pubkeys else {}
    return {bytes(key): int(found.get(Pubkey.from_bytes(bytes(key)), 0)) for key in pubkeys}


def totals(*, earliest: datetime | None = None, key_id: int | None = None) -> Totals:
    """Sums of all entries, or of those recorded since `earliest`, or of one key's."""
    static = dynamic = out = into = other = 0
    for kind, is_static, came, lamports in store.sums_by_kind(earliest=earliest, key_id=key_id):
        if kind == Kind.OTHER:
            other += lamports
        elif kind == Kind.SWEEP:
            out, into = (out, into + lamports) if came else (out - lamports, into)
        elif is_static:
            static += lamports
        else:
            dynamic += lamports
    return Totals(static, dynamic, out, into, other)


def _kind(
    pubkey: bytes, lamports: int, is_sweep: bool, own: OwnAddresses, issued: Collection[bytes]
) -> TipEntry.Kind:
    if is_sweep:
        return Kind.SWEEP
    is_tip = lamports > 0 and (pubkey in own.static or pubkey in issued)
    return Kind.TIP if is_tip else Kind.OTHER


def _changes(records: Iterable[SlotRecord]) -> dict[bytes, list[_Change]]:
    """By the account whose lamports became more or less."""
    found: dict[bytes, list[_Change]] = {}
    for record in records:
        for each in record.transactions:
            for key, lamports in _changes_of(each):
                found.setdefault(key, []).append(_Change(record.slot, each.wire, lamports))
    return found


def _changes_of(executed: TransactionRecord) -> Iterator[tuple[bytes, int]]:
    meta = executed.meta
    if meta is None:
        return
    before, after = meta["preBalances"], meta["postBalances"]
    static = joined_static_keys(executed.wire)
    loaded: Sequence[str] | None = None
    for index, (pre, post) in enumerate(zip(before, after, strict=False)):
        if pre == post:
            continue
        at = 32 * index
        if at < len(static):
            yield static[at : at + 32], post - pre
            continue
        if loaded is None:
            addresses = meta.get("loadedAddresses") or {"writable": (), "readonly": ()}
            loaded = [*addresses["writable"], *addresses["readonly"]]
        place = index - len(static) // 32
        if place < len(loaded):  # a node of before 1.10 does not tell them
            yield b58decode(loaded[place]), post - pre
