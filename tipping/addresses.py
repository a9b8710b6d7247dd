"""Issued tip addresses in Redis: key, value and expiry."""

from datetime import datetime

from shared_state.redis_client import NAMESPACE

# Kept this long after expiry, so that a late tip is refused as expired without a database query.
KEPT_SECONDS = 86_400


def live_key(pubkey: bytes) -> str:
    """The Redis key of an issued address; its value is the expiry in Unix seconds, as text."""
    return f"{NAMESPACE}tip:{pubkey.hex()}"


def live_value(expires_at: datetime) -> int:
    return int(expires_at.timestamp())


def kept_until(expires_at: datetime) -> int:
    """When the Redis key expires, in Unix seconds."""
    return int(expires_at.timestamp()) + KEPT_SECONDS
