"""What happens to keys → events for their customers."""

from datetime import UTC, datetime
from typing import Any

from access.key_changes import KeyChange, key_changed
from access.models import ApiKey
from alerts.services.events import tell

_TOLD = {
    KeyChange.ROTATED: "key.rotated",
    KeyChange.SUSPENDED: "key.suspended",
    KeyChange.RESUMED: "key.resumed",
    KeyChange.REVOKED: "key.revoked",
}


def connect() -> None:
    """From now on the events are written in the transactions of what happens."""
    key_changed.connect(_happened, dispatch_uid="alerts of keys")


def key_data(key: ApiKey) -> dict[str, Any]:
    """How an event names a key: never by its secret."""
    return {
        "keyId": key.pk,
        "name": key.name,
        "prefix": key.shown_prefix,
        "lastFour": key.last_four,
        "environment": key.environment,
    }


def iso(moment: datetime) -> str:
    """2026-01-31T14:05:00Z"""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def in_words(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _happened(
    *, key: ApiKey, change: KeyChange, now: datetime, successor: ApiKey | None, **_signal: Any
) -> None:
    kind = _TOLD.get(change)
    if kind is None:
        return
    data = key_data(key)
    if successor is not None:
        data["successorId"] = successor.pk
    if change is KeyChange.ROTATED and key.expires_at is not None:
        data["expiresAt"] = iso(key.expires_at)
    text = _text(key, change, successor, now)
    tell(kind, about=f"key {key}", text=text, data=data, now=now, customer_id=key.customer_id)


def _text(key: ApiKey, change: KeyChange, successor: ApiKey | None, now: datetime) -> str:
    if change is KeyChange.SUSPENDED:
        return f"Calls with the key {key} are answered 403 from now on, until it is resumed."
    if change is KeyChange.RESUMED:
        return f"Calls with the key {key} are answered again."
    if change is KeyChange.REVOKED:
        return (
            f"Calls with the key {key} are answered 401 from now on, for good."
            " If nobody of yours wanted that, speak to whoever runs this service."
        )
    end = key.expires_at
    if end is None or end <= now:
        lasts = "The old key has ended."
    else:
        lasts = f"The old key works until {in_words(end)}: use the new one before."
    return f"{key} was replaced by {successor}. {lasts}"
