"""New secrets in Redis for the one page that shows them, for two minutes, encrypted: only the
administrator's browser has the token that decrypts them.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import redis

from access.errors import ActionRefused
from shared_state.redis_client import NAMESPACE, client

KEEP_SECONDS = 120


class NowhereToPark(ActionRefused):
    """Redis is unavailable: the secret of a key issued now could not be shown."""

    def __init__(self) -> None:
        super().__init__("Redis cannot be reached to hand the new secret over: nothing was issued")


class Issued(Protocol):
    """A new key of any kind with its secret."""

    @property
    def key(self) -> Any: ...

    @property
    def secret(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ShownSecret:
    """One new key's secret, for the page that shows it."""

    key_id: int
    secret: str


def check() -> None:
    """Raises NowhereToPark when `park` would."""
    try:
        client().ping()
    except redis.RedisError:
        raise NowhereToPark from None


def park(issued: Sequence[Issued], *, owner: str) -> str:
    """The token with which the owner (a user's id) gets the secrets, once. Call it inside the
    transaction that issues the keys. Raises NowhereToPark.
    """
    token = secrets.token_urlsafe(32)
    content = json.dumps([owner, [[new.key.pk, new.secret] for new in issued]]).encode()
    try:
        client().set(_name(token), _crossed(content, token), ex=KEEP_SECONDS)
    except redis.RedisError:
        raise NowhereToPark from None
    return token


def take(token: str, *, owner: str) -> list[ShownSecret]:
    """The secrets, which are deleted; empty if they were taken before or have expired."""
    try:
        content = cast(bytes | None, client().getdel(_name(token)))
    except redis.RedisError:
        return []
    if content is None:
        return []
    kept_for, pairs = json.loads(_crossed(content, token))
    return [ShownSecret(key_id, secret) for key_id, secret in pairs] if kept_for == owner else []


def _name(token: str) -> str:
    return f"{NAMESPACE}parked:{hashlib.sha256(b'name' + token.encode()).hexdigest()}"


def _crossed(content: bytes, token: str) -> bytes:
    """The content XORed with the token's key stream: a token has 256 random bits, used once."""
    stream = hashlib.shake_256(b"content" + token.encode()).digest(len(content))
    return bytes(a ^ b for a, b in zip(content, stream, strict=True))
