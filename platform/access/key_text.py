"""The text of an API key: a prefix that scanners find, random base62, and a checksum."""

import hashlib
import secrets
import zlib
from dataclasses import dataclass

PREFIX = "tmk_"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_LENGTH = 33  # 33 * log2(62) = 196 bits
_CHECKSUM_LENGTH = 6  # 62^6 > 2^32
LENGTH = len(PREFIX) + _RANDOM_LENGTH + _CHECKSUM_LENGTH


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key's secret with what may be stored of it: shown prefix, last four characters, digest."""

    secret: str
    shown_prefix: str
    last_four: str
    digest: bytes


def new_key(prefix: str = PREFIX) -> NewKey:
    """A key with another prefix, which has as many characters, is of another kind."""
    random = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    secret = prefix + random + _checksum(random)
    return NewKey(secret, secret[: len(prefix) + 4], secret[-4:], digest_of(secret))


def digest_of(secret: str) -> bytes:
    """SHA-256, 32 bytes: enough for a secret of 196 random bits, and quick."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def is_well_formed(text: str, prefix: str = PREFIX) -> bool:
    """Whether the text may be a key of this service, without a query: finds typos."""
    if len(text) != LENGTH or not text.startswith(prefix) or not text.isascii():
        return False
    random = text[len(prefix) : -_CHECKSUM_LENGTH]
    return text[-_CHECKSUM_LENGTH:] == _checksum(random)


def _checksum(random: str) -> str:
    number = zlib.crc32(random.encode())
    digits = ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, 62)
        digits = _ALPHABET[digit] + digits
    return digits
