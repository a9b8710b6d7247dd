"""The queries of the portal: each asks for one customer's rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max, Q, QuerySet, Sum
from solders.signature import Signature

from access.models import ApiKey, Customer, UsageMinute
from access.store import with_creator
from alerts.models import Webhook
from columns.queries import all_rows
from portal.models import KeyTerms, Member
from priority.fates.store import cosubmitters
from priority.models import Bundle, CoSubmitter, Submission
from staff.beginnings import Beginning
from staff.parsing import pubkey_in


def member_of(user_id: int) -> Member | None:
    return Member.objects.select_related("user", "customer").filter(user=user_id).first()


def active_owner(member_id: int) -> Member | None:
    """The member, if it may sign in and is an owner."""
    owners = Member.objects.filter(role=Member.Role.OWNER, user__is_active=True)
    return owners.select_related("user", "customer").filter(pk=member_id).first()


def member_named(username: str) -> Member | None:
    return Member.objects.select_related("user", "customer").filter(user__username=username).first()


def create_member(user: User, customer: Customer, role: str) -> Member:
    return Member.objects.create(user=user, customer=customer, role=role)


def create_user(name: str) -> User:
    """With an unusable password; its name is its mail address. Raises IntegrityError."""
    return User.objects.create_user(name, email=name)


def active_member_user(user_id: int, *, lock: bool = False) -> User | None:
    """A user who is a customer's member and may sign in; staff never does here."""
    users = User.objects.filter(pk=user_id, is_active=True, is_staff=False, member__isnull=False)
    return (users.select_for_update(of=("self",)) if lock else users).first()


def lock_user(user_id: int) -> User:
    return User.objects.select_for_update().get(pk=user_id)


def set_user_active(user_id: int, active: bool) -> None:
    User.objects.filter(pk=user_id).update(is_active=active)


def members_of(customer_id: int) -> QuerySet[Member]:
    return Member.objects.select_related("user").filter(customer=customer_id).order_by("pk")


def lock_members(customer_id: int) -> list[Member]:
    """The customer's members, locked with the customer until the transaction ends."""
    Customer.objects.select_for_update().get(pk=customer_id)
    return list(
        Member.objects.select_for_update(of=("self",))
        .select_related("user")
        .filter(customer=customer_id)
    )


def is_taken(username: str) -> bool:
    """Is the name in use, in any case? Staff chooses names freely."""
    return User.objects.filter(username__iexact=username).exists()


def keys_of(customer_id: int) -> QuerySet[ApiKey]:
    """The customer's keys, newest first, each with its tier, its terms, its successor and who of
    the customer's people created it.
    """
    return (
        with_creator(ApiKey.objects.filter(customer=customer_id), of_customer=True)
        .select_related("tier", "portal_terms", "rotated_to", "rotated_from")
        .defer("digest")
        .order_by("-created_at", "-pk")
    )


def lock_customer(customer_id: int) -> Customer:
    return Customer.objects.select_for_update().get(pk=customer_id)


def living_keys(customer_id: int, now: datetime) -> int:
    """Keys that are neither revoked nor expired."""
    return (
        ApiKey.objects.filter(customer=customer_id, revoked_at__isnull=True)
        .filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))
        .count()
    )


def keys_of_month(customer_id: int, start: datetime) -> int:
    """Keys valid at some time since the month's start; a key and its successors are one."""
    return (
        ApiKey.objects.filter(customer=customer_id, rotated_to__isnull=True)
        .filter(Q(revoked_at__isnull=True) | Q(revoked_at__gte=start))
        .filter(Q(expires_at__isnull=True) | Q(expires_at__gte=start))
        .count()
    )


def write_terms(key_id: int, **values: Any) -> None:
    KeyTerms.objects.update_or_create(key_id=key_id, defaults=values)


# Per key, in the order of its index: together they would be sorted whole. The rows searched
# for a rare state are bounded for any number of keys.
_NEWEST = """
SELECT found.id FROM access_apikey k CROSS JOIN LATERAL (
    SELECT looked.id, looked.state FROM (
        SELECT s.id, s.state FROM priority_submission s
        WHERE s.key_id = k.id AND s.id < %s ORDER BY s.id DESC LIMIT %s
    ) looked
    WHERE %s = '' OR looked.state = %s ORDER BY looked.id DESC LIMIT %s
) found
WHERE k.customer_id = %s ORDER BY found.id DESC LIMIT %s
"""
SEARCHED = 20_000
_LAST = 2**63 - 1
# Rows read for a beginning; those that also end as asked are shown.
_MOST_BEGINNING = 100


def newest_submissions(
    customer_id: int, *, state: str, before: int | None, limit: int
) -> list[Submission]:
    """The customer's newest submissions, newest first; with a state, of the newest
    SEARCHED.
    """
    keys = max(1, ApiKey.objects.filter(customer=customer_id).count())
    searched = limit if not state else max(limit, SEARCHED // keys)
    last = _LAST if before is None else before
    ids = [
        row[0]
        for row in all_rows(_NEWEST, [last, searched, state, state, limit, customer_id, limit])
    ]
    own = Submission.objects.select_related("key").filter(pk__in=ids)
    also = cosubmitters.listed(customer_id, below=last, state=state, newest=True, limit=limit)
    return sorted([*own, *also], key=lambda row: -row.pk)[:limit]


def submitted(customer_id: int, signatures: Sequence[bytes]) -> set[bytes]:
    """Those of the signatures that the customer submitted, also after another one had."""
    own = Submission.objects.filter(signature__in=signatures, key__customer=customer_id)
    also = CoSubmitter.objects.filter(name__in=signatures, key__customer=customer_id)
    return {
        bytes(each)
        for each in (
            *own.values_list("signature", flat=True),
            *also.values_list("name", flat=True),
        )
    }


def key_of_submission(customer_id: int, signature: bytes) -> ApiKey | None:
    """The customer's key that submitted it first; None while there is no row."""
    own = Submission.objects.filter(signature=signature, key__customer=customer_id)
    found = own.select_related("key").first()
    if found is not None:
        return found.key
    also = CoSubmitter.objects.filter(name=signature, key__customer=customer_id)
    noted = also.select_related("key").order_by("pk").first()
    return None if noted is None else noted.key


def has_bundle(customer_id: int, bundle_id: str) -> bool:
    """Likewise, for a bundle by its id."""
    name = bytes.fromhex(bundle_id)
    return (
        Bundle.objects.filter(bundle_id=bundle_id, key__customer=customer_id).exists()
        or CoSubmitter.objects.filter(name=name, key__customer=customer_id).exists()
    )


def any_key(customer_id: int) -> int | None:
    """Any key of the customer: all see the same."""
    keys = ApiKey.objects.filter(customer=customer_id).order_by("pk")
    return keys.values_list("pk", flat=True).first()


def keys_called(customer_id: int, text: str, shown: Q | None, limit: int) -> list[ApiKey]:
    """The customer's keys whose name begins so, in any case, or that are `shown` so."""
    named = Q(name__istartswith=text)
    return list(keys_of(customer_id).filter(named if shown is None else named | shown)[:limit])


def named_submissions(customer_id: int, text: str, limit: int) -> list[Submission]:
    """The customer's submissions of a tip address or request id, in no order."""
    pubkey = pubkey_in(text)
    named = Q(request_id=text) & ~Q(request_id="") if pubkey is None else Q(tip_address=pubkey)
    found = list(Submission.objects.filter(named, key__customer=customer_id).order_by()[:limit])
    if pubkey is not None:
        found += cosubmitters.to_address(customer_id, bytes(pubkey), limit)
    return found[:limit]


def submissions_beginning(customer_id: int, beginning: Beginning, limit: int) -> list[str]:
    """Signatures that the customer submitted, also after another one had, that begin so."""
    found: dict[str, None] = {}
    for first, last in beginning.signatures:
        own = Submission.objects.filter(signature__gte=first, signature__lte=last)
        also = CoSubmitter.objects.filter(name__gte=first, name__lte=last)
        rows = [
            *own.filter(key__customer=customer_id)
            .order_by()
            .values_list("signature", flat=True)[:_MOST_BEGINNING],
            *also.filter(key__customer=customer_id)
            .order_by()
            .values_list("name", flat=True)[:_MOST_BEGINNING],
        ]
        # A name of 32 bytes is a bundle's.
        names = (str(Signature(bytes(row))) for row in rows if len(bytes(row)) == 64)
        found |= dict.fromkeys(filter(beginning.matches, names))
    return list(found)[:limit]


def bundles_beginning(customer_id: int, beginning: Beginning, limit: int) -> list[str]:
    """Likewise the ids of bundles."""
    first, last = beginning.bundle_bytes
    own = Bundle.objects.filter(bundle_id__startswith=beginning.start, key__customer=customer_id)
    also = CoSubmitter.objects.filter(
        name__gte=first, name__lte=last, key__customer=customer_id
    ).order_by()
    names = [
        *own.order_by().values_list("bundle_id", flat=True)[:_MOST_BEGINNING],
        *(
            bytes(row).hex()
            for row in also.values_list("name", flat=True)[:_MOST_BEGINNING]
            if len(bytes(row)) == 32
        ),
    ]
    return list(dict.fromkeys(filter(beginning.matches, names)))[:limit]


def webhooks_of(customer_id: int) -> QuerySet[Webhook]:
    return Webhook.objects.filter(customer=customer_id)


def refused_calls(customer_id: int, since: datetime, limit: int) -> list[tuple[str, int, datetime]]:
    """(reason, calls, last minute) of the customer's refused or failed calls, most calls
    first.
    """
    keys = ApiKey.objects.filter(customer=customer_id).values("pk")
    rows = (
        UsageMinute.objects.filter(key__in=keys, minute__gte=since)
        .exclude(status="ok")
        .values("status")
        .annotate(total=Sum("calls"), last=Max("minute"))
        .order_by("-total", "status")
    )
    return [(row["status"], row["total"], row["last"]) for row in rows[:limit]]
