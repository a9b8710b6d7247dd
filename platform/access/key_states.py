"""The state of a key, and the condition that finds keys in a state."""

import enum
from datetime import datetime, timedelta

from django.db.models import Q

from access.models import ApiKey

EXPIRES_SOON = timedelta(days=7)


class KeyState(enum.StrEnum):
    """EXPIRING: active, and expires within EXPIRES_SOON."""

    ACTIVE = "active"
    EXPIRING = "expiring"
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    REVOKED = "revoked"


def state_of(key: ApiKey, *, now: datetime) -> KeyState:
    """The most lasting state comes first: a revoked key counts as revoked whatever else it is."""
    if key.revoked_at is not None:
        return KeyState.REVOKED
    if key.expires_at is not None and key.expires_at <= now:
        return KeyState.EXPIRED
    if key.suspended_at is not None:
        return KeyState.SUSPENDED
    if key.expires_at is not None and key.expires_at <= now + EXPIRES_SOON:
        return KeyState.EXPIRING
    return KeyState.ACTIVE


def condition(state: KeyState, *, now: datetime) -> Q:
    """Selects the keys whose `state_of` is the state."""
    if state is KeyState.REVOKED:
        return Q(revoked_at__isnull=False)
    standing = Q(revoked_at__isnull=True)
    if state is KeyState.EXPIRED:
        return standing & Q(expires_at__lte=now)
    living = standing & (Q(expires_at__isnull=True) | Q(expires_at__gt=now))
    if state is KeyState.SUSPENDED:
        return living & Q(suspended_at__isnull=False)
    working = living & Q(suspended_at__isnull=True)
    soon = Q(expires_at__lte=now + EXPIRES_SOON)
    return working & (soon if state is KeyState.EXPIRING else Q(expires_at__isnull=True) | ~soon)
