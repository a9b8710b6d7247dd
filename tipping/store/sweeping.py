"""Queries on batches to sweep, and on sweeps."""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db.models import F, Q, QuerySet, Sum
from solders.pubkey import Pubkey
from solders.signature import Signature

from columns.advisory_locks import AdvisoryLock, share, try_for
from tipping.models import TipAddress, TipBatch, TipEntry, TipSweep, TipSweepPart

State = TipSweep.State


def batches_due(expired_by: datetime, *, read_by: datetime, limit: int) -> QuerySet[TipBatch]:
    """Unswept closed batches that expired by then and whose balances were not read since `read_by`;
    those read longest ago first.
    """
    closed = TipBatch.objects.filter(
        state=TipBatch.State.CLOSED, swept_at__isnull=True, expires_at__lte=expired_by
    )
    unread = closed.filter(Q(balances_read_at__isnull=True) | Q(balances_read_at__lte=read_by))
    return unread.order_by(F("balances_read_at").asc(nulls_first=True), "expires_at")[:limit]


def issued_addresses(batch: TipBatch) -> QuerySet[TipAddress]:
    issued = TipAddress.objects.filter(batch=batch, issued_at__isnull=False)
    return issued.select_related("batch").order_by("position")


def busy(batch: TipBatch) -> set[Pubkey]:
    """The batch's addresses in sweeps without a fate."""
    parts = TipSweepPart.objects.filter(is_open=True, address__batch=batch)
    return _addresses(parts)


def failed_since(batch: TipBatch, since: datetime) -> set[Pubkey]:
    """The batch's addresses whose sweep failed on chain since then."""
    failed = TipSweepPart.objects.filter(
        address__batch=batch, sweep__state=State.FAILED, sweep__settled_at__gt=since
    )
    return _addresses(failed)


def settled_since(batch: TipBatch, since: datetime) -> bool:
    """Whether a sweep of some of its addresses was settled since then."""
    return TipSweepPart.objects.filter(address__batch=batch, sweep__settled_at__gte=since).exists()


def free_addresses(addresses: Collection[Pubkey], *, read_at: int) -> set[Pubkey]:
    """The addresses in no open sweep, with no sweep after the slot, and not locked by another
    transaction. They are locked until the transaction ends.
    """
    locked = TipAddress.objects.filter(pk__in=addresses).select_for_update(skip_locked=True)
    # A second statement, after the rows are locked: it sees what the last owner has committed.
    free = {address.pubkey for address in locked.only("pubkey")}
    taken = TipSweepPart.objects.filter(address__in=free).filter(
        Q(is_open=True) | Q(sweep__slot__gt=read_at)
    )
    return free - _addresses(taken)


def add_sweep(sweep: TipSweep, parts: Sequence[tuple[Pubkey, int]]) -> None:
    sweep.save()
    TipSweepPart.objects.bulk_create(
        TipSweepPart(sweep=sweep, address_id=address, lamports=lamports)
        for address, lamports in parts
    )


def planned() -> QuerySet[TipSweep]:
    return TipSweep.objects.filter(state=State.PLANNED).order_by("id")


def locked_sweep(signature: Signature) -> TipSweep | None:
    return TipSweep.objects.select_for_update().filter(signature=signature).first()


def close_parts(sweep: TipSweep) -> None:
    """Frees the sweep's addresses, and makes their batches due again."""
    TipSweepPart.objects.filter(sweep=sweep, is_open=True).update(is_open=False)
    # A locked row belongs to a transaction that settles another sweep of the batch. Waiting could
    # deadlock.
    read = TipBatch.objects.filter(balances_read_at__isnull=False)
    batches = read.filter(pk__in=sweep.parts.values("address__batch")).order_by("pk")
    rows = list(batches.select_for_update(skip_locked=True).values_list("pk", flat=True))
    TipBatch.objects.filter(pk__in=rows).update(balances_read_at=None)


def note(batch: TipBatch, text: str, *, read_at: datetime | None) -> None:
    TipBatch.objects.filter(pk=batch.pk).update(sweep_note=text, balances_read_at=read_at)


def ledger_balances(batch: TipBatch, *, at: int) -> dict[Pubkey, int]:
    """The addresses' balances after the slot by the tip ledger; none without entries."""
    rows = _entries(batch).filter(slot__lte=at)
    sums = rows.order_by().values_list("pubkey").annotate(held=Sum("lamports"))
    return {pubkey: int(held) for pubkey, held in sums}


def mark_swept(batch: TipBatch, *, empty_at: int, now: datetime) -> bool:
    """Whether it was marked: only if no open sweep has any of its addresses, the ledger has no
    change of their balances after `empty_at`, and no transaction is recording one.
    """
    # Transactions that add to the tip ledger share it.
    if not try_for(AdvisoryLock.TIP_LEDGER):
        return False
    # Waiting for a row here would block transactions that record entries.
    locked = TipBatch.objects.select_for_update(skip_locked=True).filter(pk=batch.pk)
    if not locked.exists() or busy(batch) or _entries(batch).filter(slot__gt=empty_at).exists():
        return False
    locked.update(swept_at=now)
    return True


def reopen_for_entries(pubkeys: Collection[bytes]) -> None:
    """Unmarks the addresses' batches as swept; none is marked again before the transaction ends.
    Call it in the transaction that adds entries of these addresses to the tip ledger.
    """
    share(AdvisoryLock.TIP_LEDGER)
    owning = TipAddress.objects.filter(pubkey__in=pubkeys).values("batch")
    swept = TipBatch.objects.filter(pk__in=owning, swept_at__isnull=False).order_by("pk")
    rows = list(swept.select_for_update().values_list("pk", flat=True))
    if rows:
        TipBatch.objects.filter(pk__in=rows).update(swept_at=None, balances_read_at=None)


def recheck(pks: Collection[int]) -> int:
    """Makes the closed ones of these batches due again. Returns how many."""
    closed = TipBatch.objects.filter(pk__in=pks, state=TipBatch.State.CLOSED)
    return closed.update(swept_at=None, balances_read_at=None)


def _addresses(parts: QuerySet[TipSweepPart]) -> set[Pubkey]:
    return {Pubkey.from_bytes(bytes(key)) for key in parts.values_list("address_id", flat=True)}


def _entries(batch: TipBatch) -> QuerySet[TipEntry]:
    return TipEntry.objects.filter(pubkey__in=TipAddress.objects.filter(batch=batch).values("pk"))
