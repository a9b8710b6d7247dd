"""Encryption of webhook secrets: unreadable with the database alone."""

import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.utils.encoding import force_bytes

from alerts.errors import SecretUnreadable

_NONCE = 12


def seal(text: str) -> bytes:
    """The text encrypted under a key derived from SECRET_KEY."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(_key(settings.SECRET_KEY)).encrypt(nonce, text.encode(), None)


def unseal(sealed: bytes | memoryview) -> str:
    """The text, encrypted under SECRET_KEY or one of SECRET_KEY_FALLBACKS. Raises
    SecretUnreadable.
    """
    sealed = bytes(sealed)
    for secret_key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return AESGCM(_key(secret_key)).decrypt(sealed[:_NONCE], sealed[_NONCE:], None).decode()
        except (InvalidTag, ValueError):
            continue
    raise SecretUnreadable("the secret cannot be read, since SECRET_KEY was changed: rotate it")


def _key(secret_key: str | bytes) -> bytes:
    return hmac.digest(force_bytes(secret_key), b"tidemark webhook secrets", hashlib.sha256)
