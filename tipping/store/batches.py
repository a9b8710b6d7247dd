"""Queries on batches: due classes, the next batch, and adding a batch's addresses by COPY."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet

from columns.advisory_locks import AdvisoryLock, try_for
from columns.queries import execute
from columns.raw_queries import copy_rows, exists, fetch_all
from tipping.models import TipAddress, TipBatch, TtlClass

_OPEN, _PREPARED, _CLOSED = TipBatch.State.OPEN, TipBatch.State.PREPARED, TipBatch.State.CLOSED


# A prepared statement, since it runs each second.
_DUE = f"""
SELECT c.id FROM tipping_ttlclass c
LEFT JOIN tipping_tipbatch b ON b.ttl_class_id = c.id AND b.state = '{_OPEN}'
WHERE CASE WHEN b.id IS NULL THEN
    EXISTS (
        SELECT FROM tipping_tipbatch p WHERE p.ttl_class_id = c.id AND p.state = '{_PREPARED}'
    )
ELSE
    b.window_ends_at <= to_timestamp($1 / 1000000.0)
    OR b.ttl_seconds <> c.ttl_seconds
    -- Not as NOT EXISTS, for which the planner reads all addresses there are.
    OR (
        SELECT true FROM tipping_tipaddress a
        WHERE a.batch_id = b.id AND a.issued_at IS NULL LIMIT 1
    ) IS NULL
END
ORDER BY c.ttl_seconds
"""


def ttl_classes() -> list[TtlClass]:
    """All TTL classes, shortest first."""
    return list(TtlClass.objects.order_by("ttl_seconds"))


def class_by_id(ttl_class_id: int) -> TtlClass | None:
    return TtlClass.objects.filter(pk=ttl_class_id).first()


def lock_class(ttl_class_id: int, *, wait: bool) -> TtlClass | None:
    """The class, locked until the transaction ends; None if it was deleted, or (without `wait`) if
    another transaction has locked it.
    """
    return TtlClass.objects.select_for_update(skip_locked=not wait).filter(pk=ttl_class_id).first()


def open_batch(ttl_class_id: int) -> TipBatch | None:
    return TipBatch.objects.filter(ttl_class=ttl_class_id, state=_OPEN).first()


def open_batches() -> list[TipBatch]:
    return list(TipBatch.objects.filter(state=_OPEN))


def oldest_prepared(ttl_class: TtlClass) -> TipBatch | None:
    """The next batch to open, of the class's current TTL."""
    waiting = prepared(ttl_class).filter(ttl_seconds=ttl_class.ttl_seconds)
    return waiting.order_by("number").first()


def prepared_count(ttl_class: TtlClass) -> int:
    """Prepared batches of the class's current TTL and size."""
    waiting = prepared(ttl_class).filter(ttl_seconds=ttl_class.ttl_seconds)
    return waiting.filter(size=ttl_class.batch_size).count()


def prepared(ttl_class: TtlClass) -> QuerySet[TipBatch]:
    return TipBatch.objects.filter(ttl_class=ttl_class, state=_PREPARED)


def outdated(ttl_class: TtlClass) -> QuerySet[TipBatch]:
    """Prepared batches made before the class's TTL or size was edited."""
    return prepared(ttl_class).exclude(ttl_seconds=ttl_class.ttl_seconds, size=ttl_class.batch_size)


def may_prepare() -> bool:
    """Takes the lock on preparing batches until the transaction ends; False if it is taken."""
    return try_for(AdvisoryLock.TIP_BATCHES)


def last_number() -> int:
    return TipBatch.objects.aggregate(last=Max("number"))["last"] or 0


def unclaimed(batch: TipBatch) -> bool:
    """Whether an unissued address is not claimed by any edge."""
    addresses = TipAddress.objects.filter(batch=batch, issued_at__isnull=True)
    return addresses.filter(edge__isnull=True).exists()


def unissued(batch: TipBatch, *, edge_id: int | None = None) -> bool:
    """Whether an address is left to issue; with `edge_id`, in that edge's slice."""
    addresses = TipAddress.objects.filter(batch=batch, issued_at__isnull=True)
    return (addresses if edge_id is None else addresses.filter(edge=edge_id)).exists()


def close(batch: TipBatch, *, now: datetime) -> bool:
    """False if it is no longer open."""
    one = TipBatch.objects.filter(pk=batch.pk, state=_OPEN)
    return one.update(state=_CLOSED, closed_at=now) == 1


def open_(
    batch: TipBatch, *, now: datetime, window_ends_at: datetime, expires_at: datetime
) -> None:
    one = TipBatch.objects.filter(pk=batch.pk, state=_PREPARED)
    one.update(state=_OPEN, opened_at=now, window_ends_at=window_ends_at, expires_at=expires_at)


def add(
    ttl_class: TtlClass, *, epoch: str, number: int, now: datetime, pubkeys: Iterable[bytes]
) -> TipBatch:
    """A prepared batch with its addresses, in order."""
    listed = list(pubkeys)
    batch = TipBatch.objects.create(
        ttl_class=ttl_class,
        epoch=epoch,
        number=number,
        ttl_seconds=ttl_class.ttl_seconds,
        size=len(listed),
        prepared_at=now,
    )
    columns, types = ("pubkey", "batch_id", "position"), ["bytea", "int8", "int4"]
    rows = [(pubkey, batch.pk, position) for position, pubkey in enumerate(listed)]
    copy_rows("tipping_tipaddress", columns, types, rows)
    return batch


def delete_unseen(batches: QuerySet[TipBatch]) -> None:
    """Deletes prepared batches with their addresses, none of which was issued."""
    chosen = list(batches.filter(state=_PREPARED).select_for_update().values_list("pk", flat=True))
    TipAddress.objects.filter(batch__in=chosen).delete()
    TipBatch.objects.filter(pk__in=chosen).delete()


def due(*, now: datetime) -> list[int]:
    """Ids of classes whose open batch ended, is used up or has an outdated TTL, or that have a
    prepared batch but none open.
    """
    return [pk for (pk,) in fetch_all(_DUE, int(now.timestamp() * 1_000_000))]


def delete_never_issued(*, most: int) -> int:
    """Deletes at most `most` unissued addresses of closed batches. Returns how many.

    An address that is being issued while its batch closes is kept: the delete rechecks a row that
    it waited for.
    """
    return execute(
        "DELETE FROM tipping_tipaddress WHERE issued_at IS NULL AND pubkey IN ("
        " SELECT a.pubkey FROM tipping_tipbatch b JOIN tipping_tipaddress a"
        " ON a.batch_id = b.id AND a.issued_at IS NULL"
        " WHERE b.state = 'closed' AND b.swept_at IS NULL LIMIT %s)",
        [most],
    )


def has_too_few_prepared(fewest: int) -> bool:
    """Whether a class has fewer batches that could open (`prepared_count`), or closed batches have
    unissued addresses.
    """
    return exists(
        "SELECT FROM tipping_ttlclass c WHERE $1 > (SELECT count(*) FROM tipping_tipbatch b"
        f" WHERE b.ttl_class_id = c.id AND b.state = '{_PREPARED}'"
        " AND b.ttl_seconds = c.ttl_seconds AND b.size = c.batch_size)",
        f"SELECT FROM tipping_tipbatch b WHERE b.state = '{_CLOSED}' AND b.swept_at IS NULL"
        " AND EXISTS (SELECT FROM tipping_tipaddress a"
        " WHERE a.batch_id = b.id AND a.issued_at IS NULL)",
        parameters=(fewest,),
    )


def counts(batch_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
    """(issued, left) of each batch."""
    addresses = TipAddress.objects.filter(batch__in=list(batch_ids)).values("batch")
    found = addresses.annotate(
        issued=Count("pk", filter=Q(issued_at__isnull=False)),
        left=Count("pk", filter=Q(issued_at__isnull=True)),
    )
    return {row["batch"]: (row["issued"], row["left"]) for row in found}


def last_closed_at(ttl_class: TtlClass) -> datetime | None:
    closed = TipBatch.objects.filter(ttl_class=ttl_class, state=_CLOSED).order_by("-number")
    return closed.values_list("closed_at", flat=True).first()
