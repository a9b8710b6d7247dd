"""The queries over customers, tiers and keys, and what was claimed of usage."""

from collections.abc import Iterable
from datetime import datetime

from django.db import connection
from django.db.models import QuerySet

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


def mark_used(uses: Iterable[tuple[int, datetime, str | None]]) -> None:
    """Moves last_used forward, never back: (key_id, moment, address) each."""
    columns = [list(column) for column in zip(*uses, strict=True)]
    if not columns:
        return
    with connection.cursor() as cursor:
        # Locked in one order, so that two runs wait for one another and never both ways.
        cursor.execute(
            """
            WITH new AS (
                SELECT * FROM unnest(%s::bigint[], %s::timestamptz[], %s::inet[])
                     AS new (key_id, at, address)
            ), locked AS (
                SELECT id FROM access_apikey WHERE id IN (SELECT key_id FROM new)
                ORDER BY id FOR NO KEY UPDATE
            )
            UPDATE access_apikey SET last_used_at = new.at, last_used_address = new.address
            FROM new JOIN locked ON locked.id = new.key_id
            WHERE access_apikey.id = new.key_id
              AND (last_used_at IS NULL OR last_used_at < new.at)
            """,
            columns,
        )
