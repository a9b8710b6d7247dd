"""Changes of keys, published as a signal within their transactions."""

import enum
from datetime import datetime

from django.dispatch import Signal

from access.models import ApiKey


class KeyChange(enum.StrEnum):
    """ROTATED is published for the old key, after ISSUED for its `successor`."""

    ISSUED = "issued"
    EDITED = "edited"
    ROTATED = "rotated"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    REVOKED = "revoked"


# A receiver gets `key` (after the change), `change` (a KeyChange), `now` and `successor` (an ApiKey
# for ROTATED, else None). An exception that it raises undoes the change.
key_changed = Signal()


def publish(
    key: ApiKey, change: KeyChange, *, now: datetime, successor: ApiKey | None = None
) -> None:
    """Calls every receiver. Call it after the change, in the same transaction."""
    key_changed.send(sender=ApiKey, key=key, change=change, now=now, successor=successor)
