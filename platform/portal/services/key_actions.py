"""Actions of customers on their keys, within the rights that staff gave."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction

from access.models import ApiKey, Tier
from access.months import month_of
from access.services import key_edits, keys, overlaps
from portal import store
from portal.errors import MayNot, TooMany
from portal.services.key_rights import (
    LONGEST_OVERLAP,
    Given,
    given,
    is_suspended_by_staff,
    models_of,
)
from staff.formatting import utc

# Each key has limits of its own: many keys would circumvent them.
MOST_KEYS = 50


@dataclass(frozen=True, slots=True)
class Wish:
    """The settings that a customer wants for a key."""

    name: str
    environment: str
    scopes: Sequence[str]
    networks: Sequence[str]
    origins: Sequence[str]
    methods: Sequence[str]
    requests_per_second: float | None
    expires_at: datetime | None


@transaction.atomic
def issue(customer_id: int, *, like: int, wish: Wish, now: datetime) -> keys.IssuedKey:
    """A new key of the tier and within the rights of the key `like`. Raises ApiKey.DoesNotExist,
    MayNot, TooMany, and what access refuses.
    """
    customer = store.lock_customer(customer_id)
    if store.living_keys(customer_id, now) >= MOST_KEYS:
        raise TooMany(f"There are {MOST_KEYS} keys, the most there may be: revoke one first")
    model = _own(customer_id, like)
    if not models_of([model], now):
        raise MayNot(f"{model} cannot be the model of a new key: choose another one")
    if keys.monthly_limit(model) is not None:
        # A revoked key used its monthly quota: its replacement would get a second one.
        start, end = month_of(now)
        if store.keys_of_month(customer_id, start) >= MOST_KEYS:
            raise TooMany(
                f"{MOST_KEYS} keys worked this month, the most there may be where calls of a month"
                f" are limited: rotate one, or wait until {end:%Y-%m-%d}"
            )
    rights = given(model)
    wish = _within(rights, model.tier, wish)
    issued = keys.issue_key(
        customer,
        tier=model.tier,
        calls_per_month=model.calls_per_month,
        **asdict(wish),
    )
    _note(issued.key, rights)
    return issued


@transaction.atomic
def edit(customer_id: int, key_id: int, *, wish: Wish, now: datetime) -> ApiKey:
    """The key as wished. Raises likewise."""
    store.lock_customer(customer_id)
    key = _own(customer_id, key_id)
    rights = given(key)
    expiry_changes = wish.expires_at != key.expires_at
    if _rights_of(wish) != _rights_of(key) or expiry_changes:
        wish = _within(rights, key.tier, wish)
    changes = asdict(wish)
    if not expiry_changes:
        del changes["expires_at"]
    changed = key_edits.edit_key(key_id, now=now, **changes)
    _note(changed, rights)
    return changed


@transaction.atomic
def rotate(customer_id: int, key_id: int, *, overlap: timedelta, now: datetime) -> keys.IssuedKey:
    """Issues a successor with the same rights. Raises likewise."""
    store.lock_customer(customer_id)
    key = _own(customer_id, key_id)
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise MayNot(f"The overlap is at most {LONGEST_OVERLAP.days} days")
    if store.living_keys(customer_id, now) >= 2 * MOST_KEYS:
        raise TooMany("Too many keys work beside their successors: wait, or choose no overlap")
    rights = given(key)
    own_suspension = None if is_suspended_by_staff(key) else key.suspended_at
    issued = keys.rotate_key(key_id, overlap=overlap, now=now)
    _note(issued.key, rights, suspended_at=own_suspension)
    _note(_own(customer_id, key_id), rights)
    return issued


@transaction.atomic
def end_overlap(customer_id: int, key_id: int, *, now: datetime) -> ApiKey:
    """The old key of a rotation stops working now. Raises ApiKey.DoesNotExist, and what access
    refuses.
    """
    rights = given(_own(customer_id, key_id))
    ended = overlaps.end_overlap(key_id, now=now)
    _note(ended, rights)
    return ended


@transaction.atomic
def extend_overlap(customer_id: int, key_id: int, *, until: datetime, now: datetime) -> ApiKey:
    """The old key of a rotation works until then. Raises likewise, and MayNot beyond the longest
    overlap or the end that staff set.
    """
    rights = given(_own(customer_id, key_id))
    if rights.expires_at is not None and until > rights.expires_at:
        raise MayNot(f"It can be valid until {utc(rights.expires_at)} at most")
    extended = overlaps.extend_overlap(key_id, until=until, now=now)
    _note(extended, rights)
    return extended


@transaction.atomic
def suspend(customer_id: int, key_id: int, *, now: datetime) -> ApiKey:
    """Suspending twice changes nothing."""
    key = _own(customer_id, key_id)
    if key.suspended_at is None:
        rights = given(key)
        keys.suspend_key(key_id, now=now)
        _note(_own(customer_id, key_id), rights, suspended_at=now)
    return key


@transaction.atomic
def resume(customer_id: int, key_id: int, *, now: datetime) -> ApiKey:
    """Raises MayNot where staff suspended it."""
    key = _own(customer_id, key_id)
    if is_suspended_by_staff(key):
        raise MayNot(f"{key} was suspended by the operator, who alone can resume it")
    keys.resume_key(key_id, now=now)
    return key


@transaction.atomic
def revoke(customer_id: int, key_id: int, *, now: datetime) -> ApiKey:
    """Revoking twice changes nothing."""
    key = _own(customer_id, key_id)
    if key.revoked_at is None:
        rights = given(key)
        by_staff = is_suspended_by_staff(key)
        keys.revoke_key(key_id, now=now)
        # A key suspended by staff cannot be replaced either.
        _note(_own(customer_id, key_id), rights, revoked_at=None if by_staff else now)
    return key


def _own(customer_id: int, key_id: int) -> ApiKey:
    """The key, locked until the transaction ends."""
    return store.keys_of(customer_id).select_for_update(of=("self",)).get(pk=key_id)


def _rights_of(held: Wish | ApiKey) -> tuple[object, ...]:
    return set(held.scopes), set(held.methods), held.requests_per_second


def _within(rights: Given, tier: Tier, wish: Wish) -> Wish:
    """The wish; without methods or a rate, with those that staff gave. Raises MayNot."""
    more = [scope for scope in wish.scopes if scope not in rights.scopes]
    if more:
        raise MayNot(f"Not among your scopes: {', '.join(more)}. Ask the operator")
    if not wish.scopes:
        raise MayNot("Choose at least one scope: a key without one may do nothing")
    more = [method for method in wish.methods if method not in rights.methods]
    if rights.methods and more:
        raise MayNot(f"Not among your methods: {', '.join(more)[:200]}. Ask the operator")
    rate, most = wish.requests_per_second, rights.requests_per_second or tier.requests_per_second
    if rate is not None and most is not None and rate > most:
        raise MayNot(f"At most {most:,g} calls a second: ask the operator for more")
    end = rights.expires_at
    if end is not None and (wish.expires_at is None or wish.expires_at > end):
        raise MayNot(f"It can be valid until {utc(end)} at most")
    return replace(
        wish,
        methods=wish.methods or rights.methods,
        requests_per_second=rights.requests_per_second if rate is None else rate,
    )


def _note(key: ApiKey, rights: Given, **moments: datetime | None) -> None:
    """Notes the given rights, and the settings that the customer left."""
    store.write_terms(
        key.pk,
        given_scopes=list(rights.scopes),
        given_expires_at=rights.expires_at,
        set_scopes=list(key.scopes),
        set_expires_at=key.expires_at,
        given_methods=list(rights.methods),
        set_methods=list(key.methods),
        given_requests_per_second=rights.requests_per_second,
        set_requests_per_second=key.requests_per_second,
        **moments,
    )
