"""Who calls the block engine's gRPC: challenges, and the tokens given for signing them."""

import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from solders.pubkey import Pubkey
from solders.signature import Signature

ACCESS_SECONDS = 1_800.0
REFRESH_SECONDS = 86_400.0
_CHALLENGE_SECONDS = 60.0
_MOST_KEPT = 10_000


class NotProven(Exception):
    """A signature, challenge or token that is not good; the text says which."""


class Token(NamedTuple):
    """A secret, and when it expires, in seconds of Unix time."""

    value: str
    expires_at: float


class _Kept(NamedTuple):
    pubkey: bytes
    expires_at: float


class Authority:
    """Gives tokens to a caller who signs a challenge with its key."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._challenges: dict[str, _Kept] = {}
        self._access: dict[str, _Kept] = {}
        self._refresh: dict[str, _Kept] = {}

    def challenge(self, pubkey: bytes) -> str:
        """What the key's owner signs, with the key before it. Raises NotProven."""
        if len(pubkey) != 32:
            raise NotProven("pubkey: expected 32 bytes")
        text = secrets.token_urlsafe(12)
        self._keep(self._challenges, text, pubkey, _CHALLENGE_SECONDS)
        return text

    def tokens(self, challenge: str, pubkey: bytes, signature: bytes) -> tuple[Token, Token]:
        """Access and refresh token. Raises NotProven."""
        # A challenge may have a hyphen of its own: the key ends at the first.
        named, _, text = challenge.partition("-")
        kept = self._challenges.pop(text, None)
        if kept is None or kept.expires_at < self._clock() or kept.pubkey != pubkey:
            raise NotProven("the challenge is not known, or has expired")
        if named != str(Pubkey(pubkey)):
            raise NotProven("the challenge is of another key")
        if len(signature) != 64 or not Signature(signature).verify(
            Pubkey(pubkey), challenge.encode()
        ):
            raise NotProven("the signature does not fit the challenge and the key")
        return (
            self._issue(self._access, pubkey, ACCESS_SECONDS),
            self._issue(self._refresh, pubkey, REFRESH_SECONDS),
        )

    def refreshed(self, token: str) -> Token:
        """Another access token. Raises NotProven."""
        return self._issue(self._access, self._known(self._refresh, token), ACCESS_SECONDS)

    def owner(self, token: str) -> bytes:
        """The key of an access token. Raises NotProven."""
        return self._known(self._access, token)

    def _issue(self, kept: dict[str, _Kept], pubkey: bytes, seconds: float) -> Token:
        value = secrets.token_urlsafe(32)
        return Token(value, self._keep(kept, value, pubkey, seconds))

    def _keep(self, kept: dict[str, _Kept], name: str, pubkey: bytes, seconds: float) -> float:
        expires_at = self._clock() + seconds
        kept[name] = _Kept(pubkey, expires_at)
        while len(kept) > _MOST_KEPT:
            kept.pop(next(iter(kept)))
        return expires_at

    def _known(self, kept: dict[str, _Kept], token: str) -> bytes:
        found = kept.get(token)
        if found is None or found.expires_at < self._clock():
            raise NotProven("the token is not known, or has expired")
        return found.pubkey
