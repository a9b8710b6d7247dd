"""Queries on management keys and kept responses."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from columns.queries import execute
from management.models import KeptResponse, ManagementKey
from portal.models import Member

_USE_NOTED_EVERY = timedelta(minutes=1)


def key_by_digest(digest: bytes) -> ManagementKey | None:
    found = ManagementKey.objects.select_related("member__user", "member__customer")
    return found.filter(digest=digest).first()


def create_key(**values: Any) -> ManagementKey:
    return ManagementKey.objects.create(**values)


def revoke_key(key_id: int, now: datetime) -> bool:
    """Whether it was not revoked before."""
    standing = ManagementKey.objects.filter(pk=key_id, revoked_at__isnull=True)
    return standing.update(revoked_at=now) == 1


def note_use(key_id: int, now: datetime, address: str | None) -> None:
    """At most once a minute."""
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - _USE_NOTED_EVERY)
    ManagementKey.objects.filter(stale, pk=key_id).update(
        last_used_at=now, last_used_address=address
    )


def _tokens_of(customer_id: int) -> QuerySet[ManagementKey]:
    return ManagementKey.objects.filter(member__customer=customer_id, revoked_at__isnull=True)


def count_tokens(customer_id: int) -> int:
    return _tokens_of(customer_id).count()


def tokens_managed_by(member: Member) -> QuerySet[ManagementKey]:
    """An owner manages those of the customer, any other member their own."""
    found = _tokens_of(member.customer_id).select_related("member__user")
    return found if member.is_owner else found.filter(member=member)


def begin_response(key_id: int, name: str, request_digest: bytes, now: datetime) -> bool:
    """Whether this transaction is the first with the name; others wait until it ends."""
    written = execute(
        "INSERT INTO management_keptresponse (key_id, name, request_digest, sealed, created_at)"
        " VALUES (%s, %s, %s, '', %s) ON CONFLICT DO NOTHING",
        [key_id, name, request_digest, now],
    )
    return written == 1


def kept_response(key_id: int, name: str) -> KeptResponse:
    """Raises KeptResponse.DoesNotExist."""
    return KeptResponse.objects.get(key=key_id, name=name)


def keep_response(key_id: int, name: str, sealed: bytes) -> None:
    KeptResponse.objects.filter(key=key_id, name=name).update(sealed=sealed)


def forget_responses(before: datetime) -> int:
    return KeptResponse.objects.filter(created_at__lt=before).delete()[0]
