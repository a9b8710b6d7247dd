"""Daily sums of the tip ledger (UTC), recounted while a day may still grow."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db import transaction
from django.db.models import Max, Min, Sum
from solders.pubkey import Pubkey

from columns.advisory_locks import AdvisoryLock, try_for
from columns.queries import execute
from tipping.models import TipDay, TipEntry

_COUNT = """
INSERT INTO tipping_tipday (day, pubkey, ttl_seconds, kind, is_static, count, received, paid)
SELECT (e.recorded_at AT TIME ZONE 'UTC')::date AS d, CASE WHEN a.pubkey IS NULL THEN e.pubkey END
    AS p, b.ttl_seconds, e.kind, e.is_static, count(*),
  coalesce(sum(e.lamports) FILTER (WHERE e.lamports > 0), 0),
  coalesce(-sum(e.lamports) FILTER (WHERE e.lamports < 0), 0)
FROM tipping_tipentry e LEFT JOIN tipping_tipaddress a ON a.pubkey = e.pubkey
LEFT JOIN tipping_tipbatch b ON b.id = a.batch_id
WHERE e.recorded_at >= %s GROUP BY d, p, b.ttl_seconds, e.kind, e.is_static
"""


@dataclass(frozen=True, slots=True)
class KindSum:
    """Lamports of some days for one kind of entry."""

    kind: str
    is_static: bool
    is_dynamic: bool
    count: int
    received: int
    paid: int


@transaction.atomic
def count_days() -> None:
    """Counts today and yesterday, or all days if none is counted yet. Does nothing while another
    worker counts.
    """
    if not try_for(AdvisoryLock.TIP_DAYS):
        return
    newest = TipDay.objects.aggregate(newest=Max("day"))["newest"]
    if newest is None:
        oldest = TipEntry.objects.aggregate(oldest=Min("recorded_at"))["oldest"]
        if oldest is None:
            return
        first = oldest.astimezone(UTC).date()
    else:
        first = newest - timedelta(days=1)  # entries from before midnight may be committed after it
    TipDay.objects.filter(day__gte=first).delete()
    execute(_COUNT, [datetime(first.year, first.month, first.day, tzinfo=UTC)])


def sums(*, since: date | None = None) -> list[KindSum]:
    """Sums of all days, or of those since `since`."""
    days = TipDay.objects.all() if since is None else TipDay.objects.filter(day__gte=since)
    rows = days.order_by().values_list("kind", "is_static", "ttl_seconds")
    found = rows.annotate(Sum("count"), Sum("received"), Sum("paid"))
    return [
        KindSum(kind, is_static, ttl_seconds is not None, int(count), int(received), int(paid))
        for kind, is_static, ttl_seconds, count, received, paid in found
    ]


def named_addresses() -> dict[Pubkey, dict[str, tuple[int, int, int]]]:
    """(entries, lamports received, lamports paid) by kind, of each address that the settings name
    or once named.
    """
    rows = TipDay.objects.filter(pubkey__isnull=False).order_by()
    sums = (Sum("count"), Sum("received"), Sum("paid"))
    found: dict[Pubkey, dict[str, tuple[int, int, int]]] = {}
    for pubkey, kind, count, received, paid in rows.values_list("pubkey", "kind").annotate(*sums):
        found.setdefault(pubkey, {})[kind] = (int(count), int(received), int(paid))
    return found
