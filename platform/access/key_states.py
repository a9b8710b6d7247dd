"""The state of a key, one word for each: what it is now, and the condition that finds the like."""

import enum
from datetime import datetime, timedelta

from django.db.models import Q

from access.models import ApiKey

EXPIRES_SOON = timedelta(days=7)


class KeyState(enum.StrEnum):
    """EXPIRING works still, and ends within EXPIRES_SOON."""

    ACTIVE = "active"
    EXPIRING = "expiring"
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    REVOKED = "revoked"


def state_of(key: ApiKey, *, now: datetime) -> KeyState:
    """What lasts longest comes first: a revoked key stays revoked whatever else it is."""
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
    """Keys for which `state_of` says the same."""
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
