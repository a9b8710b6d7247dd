"""Sweeping: moves the balances of expired tip addresses to the treasury."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.units import Slot
from staff.formatting import with_sol
from tipping.models import TipAddress, TipBatch, TipSweep
from tipping.services.tip_keys import tip_keypair
from tipping.store import sweeping as store
from tipping.sweep_transactions import Group, grouped, sweep_transaction
from upstream.balances import Balances, balances, latest_blockhash
from upstream.node import Node

log = logging.getLogger(__name__)

# The most batches and addresses of one run; and when a batch that could not be swept is read again.
_BATCHES, _ADDRESSES = 20, 20_000
_RECHECK_AFTER = timedelta(minutes=10)

State = TipSweep.State
# The highest slot whose tips are in the ledger of tips; None without any block.
RecordedTo = Callable[[], Slot | None]
# A submission's fate → the sweep's state.
_FATES = {"landed": State.LANDED, "failed": State.FAILED}


@dataclass(frozen=True, slots=True)
class SweepPolicy:
    """A batch is swept `after` its expiry: tips that were sent in time may land late."""

    seed: bytes
    treasury: Pubkey
    after: timedelta


def plan(node: Node, *, policy: SweepPolicy, recorded_to: RecordedTo, now: datetime) -> int:
    """Stores sweep transactions for addresses with a balance; the lander sends planned sweeps.
    Returns the number of transactions. Raises NodeError.

    A batch is done once its addresses are empty. While the ledger of tips has not reached the slot
    that the balances were read at, a difference between the two says nothing: the batch is read
    again in the next call.
    """
    looks: list[_Balances] = []
    for batch in store.batches_due(
        now - policy.after, read_by=now - _RECHECK_AFTER, limit=_BATCHES
    ):
        looks.append(_read(node, batch, policy=policy, recorded_to=recorded_to, now=now))
        if sum(len(look.addresses) for look in looks) >= _ADDRESSES:
            break
    return _sweep(node, looks, policy, now)


def is_due(*, after: timedelta, now: datetime) -> bool:
    """Whether sweeps are planned, or batches are due."""
    looks = store.batches_due(now - after, read_by=now - _RECHECK_AFTER, limit=1)
    return looks.exists() or planned().exists()


def settle(
    signature: Signature | bytes, *, state: str, slot: int | None, reason: str, now: datetime
) -> None:
    """Sets the sweep's final fate: `landed`, `failed`, `expired` or `refused`. Changes nothing if
    it is set already, or if the signature is not a sweep's.
    """
    fate = _FATES.get(state, State.EXPIRED)
    with transaction.atomic():
        sweep = store.locked_sweep(Signature.from_bytes(bytes(signature)))
        if sweep is None or sweep.state == fate:
            return
        if sweep.state != State.PLANNED and fate == State.EXPIRED:
            return
        if sweep.state == State.EXPIRED:
            log.error("sweep %s landed in slot %s although it had expired", sweep, slot)
        sweep.state, sweep.slot, sweep.settled_at = fate, slot, now
        sweep.reason = (reason or state)[:200] if fate != State.LANDED else ""
        sweep.save(update_fields=["state", "slot", "settled_at", "reason"])
        store.close_parts(sweep)
    if fate != State.LANDED:
        log.warning("sweep %s: %s, %s", sweep, fate, sweep.reason)


def planned() -> QuerySet[TipSweep]:
    """Sweeps whose fate is not known, oldest first."""
    return store.planned()


def reopen_swept(pubkeys: Collection[bytes]) -> None:
    """Makes batches of these issued addresses due again if they were swept: tips arrived later.
    Call it in the transaction that adds the entries to the tip ledger.
    """
    if pubkeys:
        store.reopen_for_entries([bytes(pubkey) for pubkey in pubkeys])


def recheck(batches: Collection[int]) -> int:
    """Makes the closed ones of the batches due again. Returns how many."""
    return store.recheck(batches)


@dataclass(frozen=True, slots=True)
class _Balances:
    """The balances of a batch's addresses, and those that may be swept now. `is_ahead`: the ledger
    of tips differs, and has not reached their slot.
    """

    batch: TipBatch
    found: Balances
    addresses: dict[Pubkey, TipAddress]
    sweepable: dict[Pubkey, int]
    note: str
    is_ahead: bool


def _read(
    node: Node, batch: TipBatch, *, policy: SweepPolicy, recorded_to: RecordedTo, now: datetime
) -> _Balances:
    addresses = {address.pubkey: address for address in store.issued_addresses(batch)}
    found = balances(node, list(addresses))
    held = {pubkey: lamports for pubkey, lamports in found.lamports.items() if lamports}
    # A transfer to an address makes its sweep fail, and costs us a fee: do not retry each second.
    excluded = store.busy(batch) | store.failed_since(batch, now - _RECHECK_AFTER)
    # Asked before the sums: these have all that was recorded by then.
    recorded = recorded_to()
    by_ledger = store.ledger_balances(batch, at=found.slot)
    foreign = [key for key in held if _keypair(policy.seed, addresses[key]).pubkey() != key]
    free = held.keys() - excluded - set(foreign)
    sweepable: dict[Pubkey, int] = {key: held[key] for key in free}
    note = _disagreement({key: held.get(key, 0) - by_ledger.get(key, 0) for key in addresses})
    is_ahead = bool(note) and recorded is not None and recorded < found.slot
    if is_ahead:
        note = (
            f"the ledger of tips has not reached slot {found.slot:,}, which the node answered for"
        )
    if foreign:
        note = f"no key for {len(foreign)} of its addresses: TIP_SECRET_SEED has changed"
        log.error("tip batch %s: %s", batch, note)
    return _Balances(batch, found, addresses, sweepable, note, is_ahead)


def _disagreement(more_on_chain: dict[Pubkey, int]) -> str:
    wrong = [lamports for lamports in more_on_chain.values() if lamports]
    if not wrong:
        return ""
    more, less = sum(each for each in wrong if each > 0), -sum(each for each in wrong if each < 0)
    parts = [f"{with_sol(more)} more"] * bool(more) + [f"{with_sol(less)} less"] * bool(less)
    who = "1 address holds" if len(wrong) == 1 else f"{len(wrong):,} addresses hold"
    return f"{who} {' and '.join(parts)} than the ledger of tips says"


def _sweep(node: Node, looks: list[_Balances], policy: SweepPolicy, now: datetime) -> int:
    held = {key: lamports for look in looks for key, lamports in look.sweepable.items()}
    addresses = {key: address for look in looks for key, address in look.addresses.items()}
    groups = grouped(held)
    blockhash = latest_blockhash(node) if groups else Hash.default()
    read_at = min((look.found.slot for look in looks), default=0)
    left_out: set[Pubkey] = set()
    for group in groups:
        sources = [addresses[key] for key, _ in group.sources]
        if not _store(group, sources, blockhash, read_at=read_at, policy=policy, now=now):
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
    policy: SweepPolicy,
    now: datetime,
) -> bool:
    """Whether it was stored: not if another sweep has the same addresses, or has moved lamports
    since their balances were read.
    """
    keypairs = [_keypair(policy.seed, source) for source in sources]
    signed = sweep_transaction(group, keypairs, to=policy.treasury, blockhash=blockhash)
    sweep = TipSweep(
        signature=signed.signatures[0],
        wire=bytes(signed),
        treasury=policy.treasury,
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
        # The same bytes were stored before: they failed, and the blockhash is unchanged.
        return False
    return True


def _conclude(look: _Balances, *, waiting: Collection[Pubkey], again: bool, now: datetime) -> None:
    notes = [look.note] * bool(look.note)
    dust = [look.sweepable[key] for key in look.sweepable.keys() & waiting]
    if dust:
        where = "1 address" if len(dust) == 1 else f"{len(dust):,} addresses"
        notes.append(f"{with_sol(sum(dust))} on {where} wait for a richer one that can pay")
    swept, again = False, again or look.is_ahead
    if not look.is_ahead and not any(look.found.lamports.values()):
        with transaction.atomic():
            swept = store.mark_swept(look.batch, empty_at=look.found.slot, now=now)
        again = not swept and not store.busy(look.batch)
    # Sweeps that were settled meanwhile have reset `balances_read_at`.
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
