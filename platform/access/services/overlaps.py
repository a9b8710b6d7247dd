"""The overlap of a rotation: the time that the old key still works beside its successor."""

from datetime import datetime

from django.db import transaction

from access import key_changes, store
from access.errors import ActionRefused, KeyIsRevoked
from access.key_changes import KeyChange
from access.models import ApiKey


def overlap_of(key: ApiKey, *, now: datetime) -> datetime | None:
    """When the rotated key stops working; None for a key without a successor, or whose overlap is
    over. Reads `rotated_to`.
    """
    is_rotated = getattr(key, "rotated_to", None) is not None
    if not is_rotated or key.revoked_at is not None or key.expires_at is None:
        return None
    return key.expires_at if key.expires_at > now else None


@transaction.atomic
def end_overlap(key_id: int, *, now: datetime) -> ApiKey:
    """The old key stops working now. Raises KeyIsRevoked, and ActionRefused for one that is in no
    overlap.
    """
    key = _rotated(key_id)
    if key.expires_at is not None and key.expires_at <= now:
        raise ActionRefused(f"{key} has ended already")
    return _move(key, now, now=now)


@transaction.atomic
def extend_overlap(key_id: int, *, until: datetime, now: datetime) -> ApiKey:
    """The old key works until then. Raises likewise, also for a key whose overlap is over, and for
    a time that is past or no later than the one that stands.
    """
    key = _rotated(key_id)
    if key.expires_at is not None and key.expires_at <= now:
        raise ActionRefused(f"{key} has ended already: its successor is the key to use")
    if key.expires_at is None or until <= key.expires_at:
        raise ActionRefused(f"{key} works until then anyway: choose a later end")
    return _move(key, until, now=now)


def _rotated(key_id: int) -> ApiKey:
    key = store.lock_key(key_id)
    if key.revoked_at is not None:
        raise KeyIsRevoked(f"{key} was revoked: it does not work any more")
    if not store.has_successor(key):
        raise ActionRefused(f"{key} was not rotated: it has no overlap")
    return key


def _move(key: ApiKey, end: datetime, *, now: datetime) -> ApiKey:
    key.expires_at = end
    key.save(update_fields=["expires_at"])
    key_changes.publish(key, KeyChange.EDITED, now=now)
    return key
