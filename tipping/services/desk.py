"""The page TTL classes: the state of each TTL class, and tips by day, address and treasury."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from solders.pubkey import Pubkey

from tipping.models import TipBatch, TipEntry, TtlClass
from tipping.services import batches
from tipping.services.batches import ClassState
from tipping.services.treasury_reading import Reading, last_reading
from tipping.store import desk as store
from tipping.store import tip_days

_RATE_OVER = timedelta(minutes=10)
_BATCHES_SHOWN = 24
_SPANS = (("today", 0), ("7 days", 6), ("30 days", 29))
Kind = TipEntry.Kind


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class. `dry_at` is when its open batch runs out at the rate of the last ten minutes; None
    if its window ends before.
    """

    state: ClassState
    per_minute: float
    dry_at: datetime | None
    waiting: int
    noted: int
    last_swept_at: datetime | None
    batches: Sequence[tuple[TipBatch, int]]


@dataclass(frozen=True, slots=True)
class TipSums:
    """Lamports of some days: tips by kind of address, and swept lamports."""

    label: str
    tips: int
    static: int
    dynamic: int
    swept: int
    fees: int

    @property
    def total(self) -> int:
        return self.static + self.dynamic


@dataclass(frozen=True, slots=True)
class NamedAddress:
    """A static address or the treasury: its tips, and all lamports received and paid."""

    pubkey: Pubkey
    is_static: bool
    is_treasury: bool
    tips: int
    tipped: int
    received: int
    paid: int

    @property
    def balance(self) -> int:
        return self.received - self.paid


@dataclass(frozen=True, slots=True)
class TreasuryState:
    """The treasury's balance by the tip ledger and by the node. `unswept` are the lamports on
    addresses of batches by the ledger; `sweeping` counts sweeps without a fate.
    """

    address: Pubkey
    by_ledger: int
    by_node: Reading | None
    unswept: int
    sweeping: int
    sweeping_since: datetime | None

    @property
    def difference(self) -> int | None:
        """The node's balance minus the ledger's."""
        return None if self.by_node is None else self.by_node.lamports - self.by_ledger


@dataclass(frozen=True, slots=True)
class Desk:
    """The contents of the page."""

    classes: Sequence[ClassRow]
    sums: Sequence[TipSums]
    treasury: TreasuryState
    named: Sequence[NamedAddress]


def desk(*, treasury: Pubkey, static: Collection[Pubkey], now: datetime) -> Desk:
    """The current state; sums are up to a minute old."""
    named = _named(treasury, static)
    return Desk(_classes(now), _sums(now), _treasury(treasury, named), named)


def batches_to_sweep(ttl_class: TtlClass, *, now: datetime) -> list[int]:
    """Expired batches of the class that are not swept."""
    rows = store.to_sweep(now=now).filter(ttl_class=ttl_class)
    return list(rows.order_by("expires_at").values_list("pk", flat=True))


def _classes(now: datetime) -> list[ClassRow]:
    states = batches.overview(now=now)
    ids = [state.ttl_class.pk for state in states]
    issued = store.issued_since(now - _RATE_OVER)
    waiting, swept = store.waiting_to_be_swept(now=now), store.last_swept()
    last = store.last_batches(ids, since=now - timedelta(days=2), most=_BATCHES_SHOWN)
    counts = store.issued_of([batch.pk for batch in last])
    classes = []
    for state in states:
        pk = state.ttl_class.pk
        since = _RATE_OVER.total_seconds() / 60
        per_minute = issued.get(pk, 0) / since
        found = waiting.get(pk, store.Waiting(0, 0))
        classes.append(
            ClassRow(
                state=state,
                per_minute=per_minute,
                dry_at=_dry_at(state, per_minute, now),
                waiting=found.batches,
                noted=found.noted,
                last_swept_at=swept.get(pk),
                batches=[
                    (each, counts.get(each.pk, 0)) for each in last if each.ttl_class_id == pk
                ],
            )
        )
    return classes


def _dry_at(state: ClassState, per_minute: float, now: datetime) -> datetime | None:
    if state.batch is None or state.batch.window_ends_at is None or not per_minute:
        return None
    at = now + timedelta(minutes=min(state.left / per_minute, 1e6))
    return at if at < state.batch.window_ends_at else None


def _sums(now: datetime) -> list[TipSums]:
    today = now.astimezone(UTC).date()
    found = []
    for label, days in _SPANS:
        rows = tip_days.sums(since=today - timedelta(days=days))
        tips = [row for row in rows if row.kind == Kind.TIP]
        sweeps = [row for row in rows if row.kind == Kind.SWEEP]
        swept = sum(row.received for row in sweeps)
        found.append(
            TipSums(
                label=label,
                tips=sum(row.count for row in tips),
                static=sum(row.received for row in tips if row.is_static),
                dynamic=sum(row.received for row in tips if not row.is_static),
                swept=swept,
                fees=max(0, sum(row.paid for row in sweeps if row.is_dynamic) - swept),
            )
        )
    return found


def _named(treasury: Pubkey, static: Collection[Pubkey]) -> list[NamedAddress]:
    sums = tip_days.named_addresses()
    found = []
    for pubkey in dict.fromkeys([*static, treasury]):
        kinds = sums.get(pubkey, {})
        count, tipped, _ = kinds.get(Kind.TIP, (0, 0, 0))
        found.append(
            NamedAddress(
                pubkey=pubkey,
                is_static=pubkey in static,
                is_treasury=pubkey == treasury,
                tips=count,
                tipped=tipped,
                received=sum(received for _, received, _ in kinds.values()),
                paid=sum(paid for _, _, paid in kinds.values()),
            )
        )
    return found


def _treasury(address: Pubkey, named: Sequence[NamedAddress]) -> TreasuryState:
    rows = [row for row in tip_days.sums() if row.is_dynamic]
    sweeping, since = store.sweeps_under_way()
    return TreasuryState(
        address=address,
        by_ledger=next(each.balance for each in named if each.is_treasury),
        by_node=last_reading(address),
        unswept=sum(row.received - row.paid for row in rows),
        sweeping=sweeping,
        sweeping_since=since,
    )
