"""What happens to keys, told within the transaction in which it does."""

import enum
from datetime import datetime

from django.dispatch import Signal

from access.models import ApiKey


class KeyChange(enum.StrEnum):
    """ROTATED tells of the old key; `successor` is the new one, which is told ISSUED before."""

    ISSUED = "issued"
    EDITED = "edited"
    ROTATED = "rotated"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    REVOKED = "revoked"


# A receiver gets `key` (as it is now), `change` (a KeyChange), `now` and `successor` (an ApiKey
# where the change is ROTATED, else None). What it raises undoes the change.
key_changed = Signal()


def tell(key: ApiKey, change: KeyChange, *, now: datetime, successor: ApiKey | None = None) -> None:
    """Tells every receiver. To be called in the transaction of the change, after it."""
    key_changed.send(sender=ApiKey, key=key, change=change, now=now, successor=successor)
