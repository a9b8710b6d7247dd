"""The ingest queue: closed slots that wait in Redis between the follower and the worker, and the
call of the worker.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import redis
import zstandard
from django.conf import settings

from shared_state.redis_client import NAMESPACE, client, client_of
from shared_state.worker_calls import call_worker
from upstream.geyser.messages import ClosedSlot, is_vote

QUEUE = "ingest"
# The task's name and argument, a slot that no worker reads, are those of running older versions.
TASK = "ingest.tasks.ingest_slot"
_PREFIX = f"{NAMESPACE}handover:"
_PENDING = f"{_PREFIX}pending"
_REFUSED = f"{_PREFIX}refused"
# How long a refused slot's messages are kept for inspection.
_REFUSED_SECONDS = 7 * 86_400
# A slot may be tens of megabytes, on a Redis of another machine.
_TIMEOUT_SECONDS = 10.0
# Redis refuses values above 512 MB, and a batch must be sent within the timeout above.
_MOST_BYTES = 256 * 1_048_576
_OFFERED_AT_ONCE = 32
_OFFERED_BYTES = 32 * 1_048_576
_encode = msgspec.msgpack.Encoder().encode


class _Queued(msgspec.Struct, frozen=True, array_like=True):
    closed: ClosedSlot
    reason: str
    source: str


_decode = msgspec.msgpack.Decoder(_Queued).decode


@dataclass(frozen=True, slots=True)
class Payload:
    """A closed slot, encoded for the queue; `is_urgent` if not all its transactions are votes."""

    slot: int
    name: str
    has_writes: bool
    data: bytes
    is_urgent: bool = True


@dataclass(frozen=True, slots=True)
class Taken:
    """A slot taken from the queue; `reason` says why it has no account writes."""

    name: str
    closed: ClosedSlot
    reason: str
    source: str


def _client() -> "redis.Redis":
    return client_of(settings.REDIS_URL, _TIMEOUT_SECONDS)


def pack(closed: ClosedSlot, *, reason: str, source: str, most_bytes: int = _MOST_BYTES) -> Payload:
    """The slot, compressed. Its name distinguishes versions of a slot. A payload above `most_bytes`
    goes without its account writes, with reason `too_large`.
    """
    data = zstandard.ZstdCompressor(level=1).compress(_encode(_Queued(closed, reason, source)))
    if len(data) > most_bytes and closed.account_writes is not None:
        without = msgspec.structs.replace(closed, account_writes=None)
        return pack(without, reason="too_large", source=source, most_bytes=most_bytes)
    name = f"{closed.slot}:{closed.blockhash}"
    is_urgent = not all(map(is_vote, closed.transactions))
    return Payload(closed.slot, name, closed.account_writes is not None, data, is_urgent)


def first_batch(payloads: Sequence[Payload]) -> list[Payload]:
    """The payloads to offer in one batch: at least one, if there is one."""
    size = 0
    for count, payload in enumerate(payloads[:_OFFERED_AT_ONCE]):
        size += len(payload.data)
        if size >= _OFFERED_BYTES:
            return list(payloads[: count + 1])
    return list(payloads[:_OFFERED_AT_ONCE])


def offer(slots: Iterable[Payload]) -> None:
    """Enqueues the slots. A payload that is queued under the same name already stays: an earlier
    reception is never worse than its replay.
    """
    with _client().pipeline(transaction=True) as pipe:
        for each in slots:
            pipe.set(_key(each.name), each.data, nx=True)
            pipe.zadd(_PENDING, {each.name: each.slot})
        pipe.execute()


def take(*, most_slots: int, most_bytes: int) -> list[Taken]:
    """The lowest queued slots, ascending: at least one if any, within the bounds."""
    taken: list[Taken] = []
    size = 0
    names: list[Any] = _client().zrange(_PENDING, 0, most_slots - 1)
    for name in (each.decode() for each in names):
        data: Any = _client().get(_key(name))
        if data is None:  # Redis lost it: the follower sends it again
            _client().zrem(_PENDING, name)
            continue
        try:
            payload = _decode(zstandard.ZstdDecompressor().decompress(data))
        except (zstandard.ZstdError, msgspec.MsgspecError) as error:
            set_aside(name, f"damaged in Redis: {error}")
            continue
        taken.append(Taken(name, payload.closed, payload.reason, payload.source))
        size += payload.closed.size
        if size >= most_bytes:
            break
    return taken


def done(names: Sequence[str]) -> None:
    """Removes slots that are stored."""
    if names:
        with _client().pipeline(transaction=True) as pipe:
            pipe.zrem(_PENDING, *names)
            pipe.delete(*map(_key, names))
            pipe.execute()


def set_aside(name: str, reason: str) -> None:
    """Removes a slot that cannot be stored; it is kept with the reason for a week."""
    with _client().pipeline(transaction=True) as pipe:
        pipe.zrem(_PENDING, name)
        pipe.hset(_REFUSED, name, json.dumps(reason))
        pipe.expire(_REFUSED, _REFUSED_SECONDS)
        pipe.expire(_key(name), _REFUSED_SECONDS)
        pipe.execute()


def waiting(names: Sequence[str]) -> set[str]:
    """Those of the slots that are still queued."""
    if not names:
        return set()
    scores = _client().zmscore(_PENDING, list(names))
    return {name for name, score in zip(names, scores, strict=True) if score is not None}


def refused(names: Sequence[str]) -> dict[str, str]:
    """Those of the slots that were set aside, with the reasons."""
    if not names:
        return {}
    found = _client().hmget(_REFUSED, list(names))
    return {
        name: json.loads(reason)
        for name, reason in zip(names, found, strict=True)
        if reason is not None
    }


def count() -> int:
    """The number of queued slots."""
    return int(_client().zcard(_PENDING))


def _key(name: str) -> str:
    return f"{_PREFIX}slot:{name}"


def call_ingest() -> None:
    """Asks the worker to store queued slots. Raises redis' or kombu's errors when Redis is away.

    Sends nothing while an earlier call is waiting: that one will find these slots too, and the
    queue stays short while no worker runs.
    """
    if client().llen(QUEUE):
        return
    call_worker(TASK, 0, queue=QUEUE)
