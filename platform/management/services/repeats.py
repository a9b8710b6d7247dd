"""Requests that repeat another one: an `Idempotency-Key` makes a POST take effect once."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from management import store
from management.errors import IdempotencyKeyReused
from staff import sealing

KEPT = timedelta(hours=24)
_PURPOSE = "responses of the management API"


@dataclass(frozen=True, slots=True)
class Kept:
    """A response that was sent before."""

    status: int
    body: Any
    headers: dict[str, str]


def begin(key_id: int, name: str, request: bytes, *, now: datetime) -> Kept | None:
    """The response of the first request with the name; None for that one itself. Others wait until
    its transaction ends. Raises IdempotencyKeyReused if the first request was another one.
    """
    digest = hashlib.sha256(request).digest()
    if store.begin_response(key_id, name, digest, now):
        return None
    kept = store.kept_response(key_id, name)
    if bytes(kept.request_digest) != digest:
        raise IdempotencyKeyReused(name)
    try:
        return Kept(**json.loads(sealing.unseal(bytes(kept.sealed), purpose=_PURPOSE)))
    except sealing.SealBroken:  # kept under another SECRET_KEY
        raise IdempotencyKeyReused(name) from None


def keep(key_id: int, name: str, response: Kept) -> None:
    """Call it in the transaction of `begin`: a refused request keeps nothing."""
    content = {"status": response.status, "body": response.body, "headers": response.headers}
    sealed = sealing.seal(json.dumps(content).encode(), purpose=_PURPOSE)
    store.keep_response(key_id, name, sealed)


def forget(*, now: datetime) -> int:
    """Deletes what is older than KEPT. Returns how many."""
    return store.forget_responses(now - KEPT)
