"""Queries on customers, tiers, keys and the claims of usage."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import CharField, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Cast, Coalesce

from access.models import ApiKey, Customer, Tier, UsageClaim
from columns.queries import execute
from staff.models import AuditEntry


def with_creator(keys: QuerySet[ApiKey], *, of_customer: bool) -> QuerySet[ApiKey]:
    """Each key with `created_by`: who issued it, by the audit log; None if that is not known, and
    `of_customer` if it was staff.
    """
    entries = AuditEntry.objects.filter(
        subject_type=ApiKey._meta.label_lower,
        subject_id=Cast(OuterRef("pk"), CharField()),
        verb__in=("issued", "added"),
    )
    if of_customer:
        staff = User.objects.filter(is_staff=True).values("pk")
        entries = entries.filter(user_id__isnull=False).exclude(user_id__in=staff)
    return keys.annotate(created_by=Subquery(entries.order_by("pk").values("who")[:1]))


def key_by_digest(digest: bytes) -> ApiKey | None:
    return ApiKey.objects.select_related("tier").filter(digest=digest).first()


def lock_key(key_id: int) -> ApiKey:
    """The key, locked until the transaction ends; raises ApiKey.DoesNotExist."""
    return ApiKey.objects.select_for_update(of=("self",)).select_related("tier").get(pk=key_id)


def create_key(**values: Any) -> ApiKey:
    return ApiKey.objects.create(**values)


def has_successor(key: ApiKey) -> bool:
    return ApiKey.objects.filter(rotated_from=key).exists()


def keys_by_id(key_ids: Collection[int]) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(pk__in=key_ids)


def keys_of_customer(customer_id: int) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(customer_id=customer_id)


def key_ids_of_customer(customer_id: int) -> list[int]:
    return list(keys_of_customer(customer_id).values_list("pk", flat=True))


def keys_of_tier_without_limit(tier_id: int) -> QuerySet[ApiKey]:
    """Keys that are not revoked and have the monthly limit of their tier."""
    return ApiKey.objects.filter(
        tier_id=tier_id, calls_per_month__isnull=True, revoked_at__isnull=True
    )


def count_keys_of_tier(tier: Tier) -> int:
    return ApiKey.objects.filter(tier=tier).count()


def keys_with_customers(key_ids: Collection[int]) -> dict[int, ApiKey]:
    return ApiKey.objects.select_related("customer").in_bulk(key_ids)


def keys_with_monthly_limit(now: datetime) -> QuerySet[ApiKey]:
    """Keys with a limit of their own or of their tier, neither revoked nor expired."""
    return ApiKey.objects.filter(
        Q(calls_per_month__isnull=False) | Q(tier__calls_per_month__isnull=False),
        Q(expires_at__isnull=True) | Q(expires_at__gt=now),
        revoked_at__isnull=True,
    )


def monthly_limits(keys: QuerySet[ApiKey]) -> list[tuple[int, int, int | None]]:
    """(key_id, customer_id, calls per month: the key's, else its tier's) by key."""
    limited = keys.annotate(limit=Coalesce(F("calls_per_month"), F("tier__calls_per_month")))
    return list(limited.order_by("pk").values_list("pk", "customer_id", "limit"))


def keys_over_quota(until: datetime) -> dict[int, int | None]:
    """The recorded calls of each key whose quota is reached until then."""
    return dict(ApiKey.objects.filter(quota_reached_until=until).values_list("pk", "quota_used"))


def set_quota_reached(
    key_ids: Collection[int], *, until: datetime | None, used: int | None
) -> None:
    keys_by_id(key_ids).update(quota_reached_until=until, quota_used=used)


def predecessors(customer_ids: Collection[int]) -> dict[int, int]:
    """The key that each rotated key of the customers replaced."""
    rotated = ApiKey.objects.filter(customer__in=customer_ids, rotated_from__isnull=False)
    pairs = rotated.values_list("pk", "rotated_from")
    return {pk: before for pk, before in pairs if before is not None}


def lock_customer(customer: Customer) -> None:
    """Locked until the transaction ends; raises Customer.DoesNotExist."""
    Customer.objects.select_for_update().get(pk=customer.pk)


def lock_tier(tier: Tier) -> None:
    """Locked until the transaction ends; raises Tier.DoesNotExist."""
    Tier.objects.select_for_update().get(pk=tier.pk)


def tier_name(tier_id: int) -> str | None:
    return Tier.objects.filter(pk=tier_id).values_list("name", flat=True).first()


def tier_by_name(name: str) -> Tier | None:
    return Tier.objects.filter(name=name).first()


def tiers() -> QuerySet[Tier]:
    return Tier.objects.all()


def ranks() -> list[tuple[int, str, int]]:
    """(pk, name, rank) of every tier."""
    return list(Tier.objects.values_list("pk", "name", "rank"))


def customer_by_name(name: str) -> Customer:
    return Customer.objects.get_or_create(name=name)[0]


def claim(name: str, now: datetime) -> bool:
    """True for the first claim of the name; others wait for its transaction, then get False."""
    written = execute(
        "INSERT INTO access_usageclaim (name, claimed_at) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        [name, now],
    )
    return written == 1


def forget_claims_before(moment: datetime) -> None:
    UsageClaim.objects.filter(claimed_at__lt=moment).delete()


def mark_used(uses: Iterable[tuple[int, datetime, str | None]]) -> None:
    """Moves last_used forward, never back: (key_id, moment, address) each."""
    columns = [list(column) for column in zip(*uses, strict=True)]
    if not columns:
        return
    # Locked in one order, so that two runs wait for one another and never both ways.
    execute(
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
