"""Encryption of secrets that the service has to read again: no one can with the
database alone.
"""

import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.utils.encoding import force_bytes

_NONCE = 12


class SealBroken(Exception):
    """It was encrypted under another SECRET_KEY."""


def seal(content: bytes, *, purpose: str) -> bytes:
    """The content, 28 bytes longer, encrypted under a key derived from SECRET_KEY."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(_key(settings.SECRET_KEY, purpose)).encrypt(nonce, content, None)


def unseal(sealed: bytes, *, purpose: str) -> bytes:
    """The content, encrypted under SECRET_KEY or one of SECRET_KEY_FALLBACKS. Raises SealBroken."""
    for secret_key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            key = _key(secret_key, purpose)
            return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except (InvalidTag, ValueError):
            continue
    raise SealBroken


def _key(secret_key: str | bytes, purpose: str) -> bytes:
    return hmac.digest(force_bytes(secret_key), f"tidemark {purpose}".encode(), hashlib.sha256)
