"""How Redis knows a tip address that was issued: its key, its value, how long it is kept."""

from datetime import datetime

from access.redis_client import NAMESPACE

# Kept so long after it expired: a transaction that tips it then is told so without the database.
KEPT_SECONDS = 86_400


def live_key(pubkey: bytes) -> str:
    """The key that is written when the address is issued; its value is the expiry in Unix seconds,
    as text.
    """
    return f"{NAMESPACE}tip:{pubkey.hex()}"


def live_value(expires_at: datetime) -> int:
    return int(expires_at.timestamp())


def kept_until(expires_at: datetime) -> int:
    """When Redis may forget it, in Unix seconds."""
    return int(expires_at.timestamp()) + KEPT_SECONDS
