"""Subscribers to fates: counted when a stream opens, and checked again while it is open."""

import contextlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import cast

import redis

from access import buckets, key_cache
from access.callers import Caller
from access.errors import KeyUnknown
from gateway.admission import Sender, admit, entry_for
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import Host
from gateway.refusals import KeyRequired
from gateway.views import EndpointRequest
from jsonrpc.errors import RpcError
from priority.fates.errors import TooManyStreams
from priority.fates.store.fates import customers_of
from shared_state.redis_client import NAMESPACE, client, run_script

# The name under which streams are counted, and allowed by a key's list of methods.
USAGE_NAME = "fatesStream"

# A stream that its process has not renewed for so long is over.
_FORGOTTEN_SECONDS = 15.0
_numbers = count()

# The streams of a key are a sorted set of names by the time at which each is forgotten.
_ENTER = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[4])
redis.call('EXPIRE', KEYS[1], 60)
return 1
"""


@dataclass(frozen=True, slots=True, eq=False)
class Listener:
    """One open stream: the key's digest, and its client's host, address and page's origin."""

    digest: bytes
    key_id: int
    customer: int
    host: Host
    address: str
    origin: str
    name: str = field(default_factory=lambda: f"{os.getpid()}-{next(_numbers)}")


def listener(request: EndpointRequest, *, most_of_key: int) -> Listener:
    """The caller of a request whose permissions were checked, as one stream more of its key. Raises
    KeyRequired, KeyUnknown, TooManyStreams, redis.RedisError and what the database raises.
    """
    caller: Caller = request.user
    sender = request.sender
    if caller.key_id is None or sender.digest is None:
        raise KeyRequired
    customer = customers_of([caller.key_id]).get(caller.key_id)
    if customer is None:
        raise KeyUnknown
    found = Listener(
        sender.digest, caller.key_id, customer, sender.host, sender.address, sender.origin
    )
    now = time.time()
    words = [f"{now:.3f}", f"{now + _FORGOTTEN_SECONDS:.3f}", most_of_key, found.name]
    if not run_script(_ENTER, [_key(found)], words):
        raise TooManyStreams(most_of_key)
    return found


def leave(listener: Listener) -> None:
    """Removes the stream from the count; while Redis is away its entry expires."""
    with contextlib.suppress(redis.RedisError):
        client().zrem(_key(listener), listener.name)


def turned_away(
    listeners: Iterable[Listener], *, policy: EndpointPolicy, now: datetime
) -> list[tuple[Listener, RpcError]]:
    """The listeners that are no longer allowed, and why; the others are renewed. Raises
    redis.RedisError and what the database raises.
    """
    generation = cast(bytes | None, client().get(buckets.GENERATION_KEY))
    key_cache.confirm(int(generation or 0))
    found = []
    until = time.time() + _FORGOTTEN_SECONDS
    with client().pipeline(transaction=False) as pipeline:
        for each in listeners:
            try:
                sender = Sender(each.host, each.address, "", each.digest, origin=each.origin)
                admit(entry_for(sender, policy, USAGE_NAME), now=now)
            except RpcError as refusal:
                found.append((each, refusal))
            else:
                pipeline.zadd(_key(each), {each.name: until})
                pipeline.expire(_key(each), 60)
        pipeline.execute()
    return found


def _key(listener: Listener) -> str:
    return f"{NAMESPACE}streams:{listener.key_id}"
