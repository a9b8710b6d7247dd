"""Keys: identify callers; issue, rotate, suspend, resume and revoke keys."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from ipaddress import ip_network
from math import ceil
from typing import TypeVar

from django.db import transaction

from access import key_cache, key_changes, key_text, store
from access.callers import ANONYMOUS, SCOPES, Caller, MonthSpent, Quota
from access.errors import (
    ActionRefused,
    BadNetwork,
    BadOrigin,
    KeyExpired,
    KeyIsRevoked,
    KeyMalformed,
    KeyRevoked,
    KeyUnknown,
    UnknownScope,
)
from access.key_changes import KeyChange
from access.method_names import listed_methods
from access.models import ApiKey, Customer, Tier
from access.networks import read_network
from access.origins import MOST_ORIGINS, read_origin
from access.services.tiers import quotas_of
from eventloop.faces import complete

# Limits of callers without a key if an administrator deleted the tier `anonymous`.
_LEAST = Tier(
    name=ANONYMOUS,
    requests_per_second=1.0,
    requests_burst=1,
    bundles_per_second=1.0,
    bundles_burst=1,
    tip_fetches_per_second=1.0,
    tip_fetches_burst=1,
    stream_connections=1,
    stream_subscriptions=10,
    stream_notifications_per_second=10,
)
_ANONYMOUS_DIGEST = b"anonymous"

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key with its secret, which is available only here."""

    key: ApiKey
    secret: str


def identify(secret: str, *, now: datetime) -> Caller:
    """The holder of the key, who may be suspended. Raises KeyRefused."""
    return complete(aidentify(key_text.digest_of(secret), secret, now=now))


async def aidentify(digest: bytes, secret: str | None = None, *, now: datetime) -> Caller:
    """The same, by the digest; `secret` is None if the key's text was identified before."""
    found = await key_cache.afind(digest, _read, digest, secret)
    if not isinstance(found, Caller):
        raise found()
    if found.expires_at is not None and found.expires_at <= now and found.key_id is not None:
        raise KeyExpired(found.key_id, found.expires_at)
    return found


async def aanonymous() -> Caller:
    """The caller without a key, with the limits of the tier `anonymous`."""
    found = await key_cache.afind(_ANONYMOUS_DIGEST, _read_anonymous)
    assert isinstance(found, Caller)
    return found


def _read_anonymous() -> Caller:
    keyless = caller_of(ApiKey(tier=store.tier_by_name(ANONYMOUS) or _LEAST))
    return replace(keyless, rank=0, simulation_jobs=0, simulations_per_job=0)


def _read(digest: bytes, secret: str | None) -> key_cache.Found:
    if secret is not None and not key_text.is_well_formed(secret):
        raise KeyMalformed
    key = store.key_by_digest(digest)
    if key is None:
        return KeyUnknown
    return caller_of(key) if key.revoked_at is None else partial(KeyRevoked, key.pk)


def caller_of(key: ApiKey) -> Caller:
    """The rights of the key and the limits of its tier."""
    return Caller(
        key_id=key.pk,
        tier=key.tier.name,
        rank=key.tier.rank,
        scopes=frozenset(key.scopes),
        networks=tuple(ip_network(text, strict=False) for text in key.networks),
        quotas=_quotas(key),
        suspended=key.suspended_at is not None,
        expires_at=key.expires_at,
        tip_fetch_daily_cap=key.tier.tip_fetches_daily_cap,
        landing_weight=key.tier.landing_weight,
        simulation_jobs=key.tier.simulation_jobs,
        simulations_per_job=key.tier.simulations_per_job,
        stream_connections=key.tier.stream_connections,
        stream_subscriptions=key.tier.stream_subscriptions,
        stream_notifications_per_second=key.tier.stream_notifications_per_second,
        stream_bytes_per_month=key.tier.stream_bytes_per_month,
        methods=frozenset(key.methods) or None,
        origins=tuple(key.origins),
        month_spent=month_spent(key),
    )


def _quotas(key: ApiKey) -> dict[str, Quota]:
    """The limits of the key's tier, with the key's own rate where that is lower."""
    quotas, own = quotas_of(key.tier), key.requests_per_second
    of_tier = quotas.get("requests")
    if own is not None and (of_tier is None or own < of_tier.rate):
        burst = max(1, ceil(own))
        quotas["requests"] = Quota(own, burst if of_tier is None else min(burst, of_tier.burst))
    return quotas


def month_spent(key: ApiKey) -> MonthSpent | None:
    """The reached quota that the worker recorded, unless the limit was raised since."""
    limit, used, until = monthly_limit(key), key.quota_used, key.quota_reached_until
    if limit is None or used is None or until is None or used < limit:
        return None
    return MonthSpent(limit, used, until)


def monthly_limit(key: ApiKey) -> int | None:
    """The key's calls per month: its own limit, else its tier's; None is unlimited."""
    return key.tier.calls_per_month if key.calls_per_month is None else key.calls_per_month


@transaction.atomic
def issue_key(
    customer: Customer,
    *,
    tier: Tier,
    name: str,
    environment: str = "",
    notes: str = "",
    scopes: Sequence[str] = SCOPES,
    networks: Sequence[str] = (),
    methods: Sequence[str] = (),
    origins: Sequence[str] = (),
    calls_per_month: int | None = None,
    requests_per_second: float | None = None,
    expires_at: datetime | None = None,
    rotated_from: ApiKey | None = None,
) -> IssuedKey:
    """A new key. Raises UnknownScope, BadNetwork, BadMethod, BadOrigin; ActionRefused for a past
    expiry.
    """
    require_scopes(scopes)
    new = key_text.new_key()
    key = store.create_key(
        customer=customer,
        tier=tier,
        name=name,
        environment=environment,
        notes=notes,
        scopes=list(scopes),
        networks=listed_networks(networks),
        # A successor keeps what its predecessor has, also the name of a method that is gone.
        methods=listed_methods(methods) if rotated_from is None else list(methods),
        origins=listed_origins(origins),
        calls_per_month=calls_per_month,
        requests_per_second=requests_per_second,
        expires_at=expires_at,
        rotated_from=rotated_from,
        shown_prefix=new.shown_prefix,
        last_four=new.last_four,
        digest=new.digest,
    )
    if expires_at is not None and expires_at <= key.created_at:
        raise ActionRefused("the expiry is past: choose a later moment")
    key_changes.publish(key, KeyChange.ISSUED, now=key.created_at)
    return IssuedKey(key, new.secret)


def require_scopes(scopes: Sequence[str]) -> None:
    """Raises UnknownScope for a scope that is none of SCOPES."""
    for scope in scopes:
        if scope not in SCOPES:
            raise UnknownScope(f"unknown scope {scope!r}; there are {', '.join(SCOPES)}")


def listed_networks(texts: Sequence[str]) -> list[str]:
    """The networks as CIDR texts. Raises BadNetwork."""
    return [str(network) for network in _read_all(texts, read_network, BadNetwork)]


def listed_origins(texts: Sequence[str]) -> list[str]:
    """The origins as browsers write them, each once. Raises BadOrigin."""
    found = list(dict.fromkeys(_read_all(texts, read_origin, BadOrigin)))
    if len(found) > MOST_ORIGINS:
        raise BadOrigin(f"{len(found)} origins are above the maximum of {MOST_ORIGINS}")
    return found


def _read_all(
    texts: Sequence[str], read: Callable[[str], V], refusal: type[ActionRefused]
) -> list[V]:
    """Raises the refusal with the problem of each text that has one."""
    found, problems = [], []
    for text in texts:
        try:
            found.append(read(text))
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise refusal("; ".join(problems))
    return found


@transaction.atomic
def rotate_key(key_id: int, *, overlap: timedelta, now: datetime) -> IssuedKey:
    """A successor with the same rights, expiry and month. The old key works for the overlap (0: not
    at all), and never past its own expiry. Raises KeyIsRevoked, and ActionRefused for a key that
    has expired or was rotated before.
    """
    if overlap < timedelta(0):
        raise ActionRefused("an overlap cannot be negative")
    old = store.lock_key(key_id)
    if old.revoked_at is not None:
        raise KeyIsRevoked(f"{old} was revoked: issue a new key instead")
    if store.has_successor(old):
        raise ActionRefused(f"{old} was rotated before: rotate its successor")
    if old.expires_at is not None and old.expires_at <= now:
        raise ActionRefused(f"{old} has expired: issue a new key instead")
    issued = issue_key(
        old.customer,
        tier=old.tier,
        name=old.name,
        environment=old.environment,
        notes=old.notes,
        scopes=old.scopes,
        networks=old.networks,
        methods=old.methods,
        origins=old.origins,
        calls_per_month=old.calls_per_month,
        requests_per_second=old.requests_per_second,
        expires_at=old.expires_at,
        rotated_from=old,
    )
    # A rotation ends neither a suspension nor a month whose quota is reached.
    taken_over = ("suspended_at", "quota_reached_until", "quota_used")
    for name in taken_over:
        setattr(issued.key, name, getattr(old, name))
    if any(getattr(old, name) is not None for name in taken_over):
        issued.key.save(update_fields=taken_over)
    end = now + overlap
    old.expires_at = end if old.expires_at is None else min(end, old.expires_at)
    old.save(update_fields=["expires_at"])
    key_changes.publish(old, KeyChange.ROTATED, now=now, successor=issued.key)
    return issued


@transaction.atomic
def suspend_key(key_id: int, *, now: datetime) -> None:
    """Calls with the key get 403 until it is resumed. Suspending twice changes nothing."""
    key = store.lock_key(key_id)
    if key.suspended_at is None:
        key.suspended_at = now
        key.save(update_fields=["suspended_at"])
        key_changes.publish(key, KeyChange.SUSPENDED, now=now)


@transaction.atomic
def resume_key(key_id: int, *, now: datetime) -> None:
    """The key works again. Resuming twice changes nothing."""
    key = store.lock_key(key_id)
    if key.suspended_at is not None:
        key.suspended_at = None
        key.save(update_fields=["suspended_at"])
        key_changes.publish(key, KeyChange.RESUMED, now=now)


@transaction.atomic
def revoke_key(key_id: int, *, now: datetime) -> None:
    """Calls with the key get 401 for good. Revoking twice keeps the first time."""
    key = store.lock_key(key_id)
    if key.revoked_at is None:
        key.revoked_at = now
        key.save(update_fields=["revoked_at"])
        key_changes.publish(key, KeyChange.REVOKED, now=now)
