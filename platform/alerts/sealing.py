"""Encryption of webhook secrets: unreadable with the database alone."""

from alerts.errors import SecretUnreadable
from staff import sealing

_PURPOSE = "webhook secrets"


def seal(text: str) -> bytes:
    return sealing.seal(text.encode(), purpose=_PURPOSE)


def unseal(sealed: bytes | memoryview) -> str:
    """Raises SecretUnreadable."""
    try:
        return sealing.unseal(bytes(sealed), purpose=_PURPOSE).decode()
    except sealing.SealBroken:
        raise SecretUnreadable(
            "the secret cannot be read, since SECRET_KEY was changed: rotate it"
        ) from None
