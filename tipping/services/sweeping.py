"""What expired addresses hold goes to the treasury, each lamport once."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from tipping.models import TipAddress, TipBatch, TipSweep
from tipping.services.tip_keys import tip_keypair
from tipping.store import sweeping as store
from tipping.sweep_transactions import Group, grouped, sweep_transaction
from upstream.balances import Balances, balances, latest_blockhash
from upstream.node import Node

log = logging.getLogger(__name__)

# So many batches in one run, fewer when their addresses are many; and when one that could not be
# swept is looked at again.
_BATCHES, _ADDRESSES = 20, 20_000
_LOOK_AGAIN = timedelta(minutes=10)

State = TipSweep.State
# A fate as the submissions have it → the sweep's.
_FATES = {"landed": State.LANDED, "failed": State.FAILED}


@dataclass(frozen=True, slots=True)
class Terms:
    """`after` the expiry a batch is swept: what was sent to it in time may still be on its way."""

    seed: bytes
    treasury: Pubkey
    after: timedelta


def plan(node: Node, *, terms: Terms, now: datetime) -> int:
    """Stores a transaction for as many addresses with lamports as it can, to be sent by whoever
    finds it planned; the number of transactions. Raises NodeError.
    """
    looks: list[_Look] = []
    for batch in store.batches_due(now - terms.after, read_by=now - _LOOK_AGAIN, limit=_BATCHES):
        looks.append(_read(node, batch, terms=terms, now=now))
        if sum(len(look.addresses) for look in looks) >= _ADDRESSES:
            break
    return _sweep(node, looks, terms, now)


def is_due(*, after: timedelta, now: datetime) -> bool:
    """Whether sweeps are planned, or batches are to be looked at."""
    looks = store.batches_due(now - after, read_by=now - _LOOK_AGAIN, limit=1)
    return looks.exists() or planned().exists()


def settle(
    signature: Signature | bytes, *, state: str, slot: int | None, reason: str, now: datetime
) -> None:
    """The sweep's fate, final: `landed`, `failed`, `expired` or `refused`. Again, or for what is
    no sweep, it changes nothing.
    """
    fate = _FATES.get(state, State.EXPIRED)
    with transaction.atomic():
        sweep = store.locked_sweep(Signature.from_bytes(bytes(signature)))
        if sweep is None or sweep.state == fate:
            return
        if sweep.state != State.PLANNED and fate == State.EXPIRED:
            return
        if sweep.state == State.EXPIRED:
            log.error("sweep %s is in slot %s though it had expired", sweep, slot)
        sweep.state, sweep.slot, sweep.settled_at = fate, slot, now
        sweep.reason = (reason or state)[:200] if fate != State.LANDED else ""
        sweep.save(update_fields=["state", "slot", "settled_at", "reason"])
        store.close_parts(sweep)
    if fate != State.LANDED:
        log.warning("sweep %s: %s, %s", sweep, fate, sweep.reason)


def planned() -> QuerySet[TipSweep]:
    """Sweeps whose fate is not known, oldest first."""
    return store.planned()


def ledger_grows(pubkeys: Collection[bytes]) -> None:
    """To be called in the transaction that adds entries to the ledger of tips, with the issued
    addresses among theirs: what came to a swept address is swept too.
    """
    if pubkeys:
        store.reopen_for_entries([bytes(pubkey) for pubkey in pubkeys])


def look_again(batches: Collection[int]) -> int:
    """How many of the batches are closed, and are looked at again when they are due."""
    return store.look_again(batches)


@dataclass(frozen=True, slots=True)
class _Look:
    """What a batch's addresses hold, and which of them may be swept now."""

    batch: TipBatch
    found: Balances
    addresses: dict[Pubkey, TipAddress]
    sweepable: dict[Pubkey, int]
    note: str


def _read(node: Node, batch: TipBatch, *, terms: Terms, now: datetime) -> _Look:
    addresses = {address.pubkey: address for address in store.issued_addresses(batch)}
    found = balances(node, list(addresses))
    held = {pubkey: lamports for pubkey, lamports in found.lamports.items() if lamports}
    # Who sends something to an address makes its sweep fail, for a fee of ours: not each second.
    resting = store.busy(batch) | store.failed_since(batch, now - _LOOK_AGAIN)
    told = store.ledger_balances(batch, at=found.slot)
    foreign = [key for key in held if _keypair(terms.seed, addresses[key]).pubkey() != key]
    free = held.keys() - resting - set(foreign)
    sweepable: dict[Pubkey, int] = {key: held[key] for key in free}
    note = _disagreement({key: held.get(key, 0) - told.get(key, 0) for key in addresses})
    if foreign:
        note = f"no key for {len(foreign)} of its addresses: TIP_SECRET_SEED is another one"
        log.error("tip batch %s: %s", batch, note)
    return _Look(batch, found, addresses, sweepable, note)


def _disagreement(more_on_chain: dict[Pubkey, int]) -> str:
    wrong = [lamports for lamports in more_on_chain.values() if lamports]
    if not wrong:
        return ""
    more, less = sum(each for each in wrong if each > 0), -sum(each for each in wrong if each < 0)
    told = [f"{more:,} lamports more"] * bool(more) + [f"{less:,} less"] * bool(less)
    who = "1 address holds" if len(wrong) == 1 else f"{len(wrong):,} addresses hold"
    return f"{who} {' and '.join(told)} than the ledger of tips says"


def _sweep(node: Node, looks: list[_Look], terms: Terms, now: datetime) -> int:
    held = {key: lamports for look in looks for key, lamports in look.sweepable.items()}
    addresses = {key: address for look in looks for key, address in look.addresses.items()}
    groups = grouped(held)
    blockhash = latest_blockhash(node) if groups else Hash.default()
    read_at = min((look.found.slot for look in looks), default=0)
    left_out: set[Pubkey] = set()
    for group in groups:
        sources = [addresses[key] for key, _ in group.sources]
        if not _store(group, sources, blockhash, read_at=read_at, terms=terms, now=now):
            left_out |= {key for key, _ in group.sources}
    waiting = held.keys() - {key for group in groups for key, _ in group.sources}
    for look in looks:
        _conclude(look, waiting=waiting, again=bool(left_out & look.addresses.keys()), now=now)
    return len(groups) - sum(group.sources[0][0] in left_out for group in groups)


def _store(
    group: Group,
    sources: list[TipAddress],
    blockhash: Hash,
    *,
    read_at: int,
    terms: Terms,
    now: datetime,
) -> bool:
    """Whether it is stored; not where another one plans with the same addresses, or has moved them
    since their balances were read.
    """
    keypairs = [_keypair(terms.seed, source) for source in sources]
    signed = sweep_transaction(group, keypairs, to=terms.treasury, blockhash=blockhash)
    sweep = TipSweep(
        signature=signed.signatures[0],
        wire=bytes(signed),
        treasury=terms.treasury,
        lamports=group.lamports,
        fee=group.fee,
        planned_at=now,
    )
    keys = [key for key, _ in group.sources]
    try:
        with transaction.atomic():
            if store.free_addresses(keys, read_at=read_at) != set(keys):
                return False
            store.add_sweep(sweep, group.sources)
    except IntegrityError:
        # The very same bytes were stored before: they failed, and the blockhash is still new.
        return False
    return True


def _conclude(look: _Look, *, waiting: Collection[Pubkey], again: bool, now: datetime) -> None:
    notes = [look.note] * bool(look.note)
    dust = [look.sweepable[key] for key in look.sweepable.keys() & waiting]
    if dust:
        where = "1 address" if len(dust) == 1 else f"{len(dust):,} addresses"
        notes.append(f"{sum(dust):,} lamports on {where} wait for a richer one that can pay")
    swept = False
    if not any(look.found.lamports.values()):
        with transaction.atomic():
            swept = store.mark_swept(look.batch, empty_at=look.found.slot, now=now)
        again = not swept and not store.busy(look.batch)
    # What was settled meanwhile has asked for another look itself.
    again = again or store.settled_since(look.batch, now)
    store.note(look.batch, "; ".join(notes)[:300], read_at=None if again else now)
    if swept and look.note:
        log.warning("tip batch %s is swept, but %s", look.batch, look.note)


def _keypair(seed: bytes, address: TipAddress) -> Keypair:
    batch = address.batch
    return tip_keypair(
        seed,
        epoch=batch.epoch,
        ttl_seconds=batch.ttl_seconds,
        number=batch.number,
        position=address.position,
    )
