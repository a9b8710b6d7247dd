"""Publishes events about changes of API keys."""

from datetime import UTC, datetime
from typing import Any

from access.key_changes import KeyChange, key_changed
from access.models import ApiKey
from alerts.services.events import publish
from staff.formatting import utc

_KINDS = {
    KeyChange.ROTATED: "key.rotated",
    KeyChange.SUSPENDED: "key.suspended",
    KeyChange.RESUMED: "key.resumed",
    KeyChange.REVOKED: "key.revoked",
}


def connect() -> None:
    """Connects to the signal; events are written in the transactions of the changes."""
    key_changed.connect(_on_key_changed, dispatch_uid="alerts of keys")


def key_data(key: ApiKey) -> dict[str, Any]:
    """The members of an event's data that identify a key, without its secret."""
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


def _on_key_changed(
    *, key: ApiKey, change: KeyChange, now: datetime, successor: ApiKey | None, **_signal: Any
) -> None:
    kind = _KINDS.get(change)
    if kind is None:
        return
    data = key_data(key)
    if successor is not None:
        data["successorId"] = successor.pk
    if change is KeyChange.ROTATED and key.expires_at is not None:
        data["expiresAt"] = iso(key.expires_at)
    text = _text(key, change, successor, now)
    publish(kind, about=f"key {key}", text=text, data=data, now=now, customer_id=key.customer_id)


def _text(key: ApiKey, change: KeyChange, successor: ApiKey | None, now: datetime) -> str:
    if change is KeyChange.SUSPENDED:
        return f"Calls with the key {key} are answered 403 from now on, until it is resumed."
    if change is KeyChange.RESUMED:
        return f"Calls with the key {key} are answered again."
    if change is KeyChange.REVOKED:
        return (
            f"Calls with the key {key} are answered 401 from now on, for good."
            " If you did not request this, contact the operator of this service."
        )
    end = key.expires_at
    if end is None or end <= now:
        lasts = "The old key has ended."
    else:
        lasts = f"The old key works until {utc(end)}: use the new one before."
    return f"{key} was replaced by {successor}. {lasts}"
