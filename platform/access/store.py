"""The queries over customers, tiers, keys and usage."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import connection
from django.db.models import Q, QuerySet

from access.models import ApiKey, Customer, Tier, UsageClaim


def key_by_digest(digest: bytes) -> ApiKey | None:
    return ApiKey.objects.select_related("tier").filter(digest=digest).first()


def lock_key(key_id: int) -> ApiKey:
    """The key, locked until the transaction ends; raises ApiKey.DoesNotExist."""
    return ApiKey.objects.select_for_update(of=("self",)).select_related("tier").get(pk=key_id)


def tier_by_name(name: str) -> Tier | None:
    return Tier.objects.filter(name=name).first()


def tiers() -> QuerySet[Tier]:
    return Tier.objects.all()


def customer_by_name(name: str) -> Customer:
    return Customer.objects.get_or_create(name=name)[0]


def claim(name: str, now: datetime) -> bool:
    """True for the first that claims the name; others wait for its transaction, then get False."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO access_usageclaim (name, claimed_at) VALUES (%s, %s)"
            " ON CONFLICT DO NOTHING",
            [name, now],
        )
        return bool(cursor.rowcount == 1)


def forget_claims_before(moment: datetime) -> None:
    UsageClaim.objects.filter(claimed_at__lt=moment).delete()


UsageRow = tuple[int | None, str, str, datetime, int, int]


def add_usage(rows: Sequence[UsageRow]) -> None:
    """Adds (key_id, method, status, minute, calls, microseconds) rows to what is there; rows of
    keys that were deleted meanwhile are dropped.
    """
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO access_usageminute (key_id, method, status, minute, calls, microseconds)
            SELECT key_id, method, status, minute, calls, microseconds
            FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::timestamptz[],
                        %s::bigint[], %s::bigint[])
                 AS new (key_id, method, status, minute, calls, microseconds)
            WHERE key_id IS NULL OR EXISTS (SELECT FROM access_apikey k WHERE k.id = key_id)
            ORDER BY key_id, method, status, minute
            ON CONFLICT (key_id, method, status, minute) DO UPDATE
            SET calls = access_usageminute.calls + excluded.calls,
                microseconds = access_usageminute.microseconds + excluded.microseconds
            """,
            columns,
        )


def mark_used(uses: Iterable[tuple[int, datetime, str | None]]) -> None:
    """Moves last_used forward, never back: (key_id, moment, address) each."""
    for key_id, moment, address in sorted(uses, key=lambda use: use[0]):
        ApiKey.objects.filter(
            Q(last_used_at__isnull=True) | Q(last_used_at__lt=moment), pk=key_id
        ).update(last_used_at=moment, last_used_address=address)
