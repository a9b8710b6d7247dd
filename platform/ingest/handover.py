"""The hand-over: closed slots that wait in Redis between the follower and the worker."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import redis
import zstandard
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from shared_state.redis_client import NAMESPACE
from upstream.geyser.closed_slots import ClosedSlot

_PREFIX = f"{NAMESPACE}handover:"
_PENDING = f"{_PREFIX}pending"
_REFUSED = f"{_PREFIX}refused"
# A worker that has nothing to do waits at the bell, and says so by the other key for a while.
_BELL = f"{_PREFIX}bell"
_LISTENS = f"{_PREFIX}listens"
_LISTENS_SECONDS = 3.0
# A refused slot's messages are kept so long for whoever looks into it.
_REFUSED_SECONDS = 7 * 86_400
# A slot may be tens of megabytes, on a Redis of another machine.
_TIMEOUT_SECONDS = 10.0
# A value of more than 512 MB is refused for ever, and a batch must get through in the time above.
_MOST_BYTES = 256 * 1_048_576
_OFFERED_AT_ONCE = 32
_OFFERED_BYTES = 32 * 1_048_576
_encode = msgspec.msgpack.Encoder().encode


class _Parcel(msgspec.Struct, frozen=True, array_like=True):
    closed: ClosedSlot
    reason: str
    source: str


_decode = msgspec.msgpack.Decoder(_Parcel).decode


@dataclass(frozen=True, slots=True)
class Packed:
    """A closed slot as it travels."""

    slot: int
    name: str
    has_writes: bool
    data: bytes
    has_transactions: bool = True


@dataclass(frozen=True, slots=True)
class Taken:
    """A slot that waits to be stored; `reason` says why it has no account writes."""

    name: str
    closed: ClosedSlot
    reason: str
    source: str


@cache
def _client() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def pack(closed: ClosedSlot, *, reason: str, source: str, most_bytes: int = _MOST_BYTES) -> Packed:
    """The slot, compressed; its name tells versions of a slot apart. One of more bytes goes without
    its account writes, and says so.
    """
    data = zstandard.ZstdCompressor(level=1).compress(_encode(_Parcel(closed, reason, source)))
    if len(data) > most_bytes and closed.account_writes is not None:
        without = msgspec.structs.replace(closed, account_writes=None)
        return pack(without, reason="too_large", source=source, most_bytes=most_bytes)
    name = f"{closed.slot}:{closed.blockhash}"
    return Packed(
        closed.slot, name, closed.account_writes is not None, data, bool(closed.transactions)
    )


def first_of(parcels: Sequence[Packed]) -> list[Packed]:
    """As many of the parcels as are offered at once: at least one, if there is one."""
    size = 0
    for count, parcel in enumerate(parcels[:_OFFERED_AT_ONCE]):
        size += len(parcel.data)
        if size >= _OFFERED_BYTES:
            return list(parcels[: count + 1])
    return list(parcels[:_OFFERED_AT_ONCE])


def offer(slots: Iterable[Packed]) -> bool:
    """The slots wait for the worker; whether one listens and need not be called. What waits under
    the same name already stays: an earlier reception of a slot is never worse than its replay.
    """
    with _client().pipeline(transaction=True) as pipe:
        for each in slots:
            pipe.set(_key(each.name), each.data, nx=True)
            pipe.zadd(_PENDING, {each.name: each.slot})
        pipe.lpush(_BELL, "")
        pipe.ltrim(_BELL, 0, 0)
        pipe.exists(_LISTENS)
        return bool(pipe.execute()[-1])


def listen(seconds: float) -> bool:
    """Waits until slots are offered, or so long; whether any wait. Until shortly after it `offer`
    reports that a worker listens: take them, listen again, or `listen_no_more`.
    """
    with _client().pipeline(transaction=False) as pipe:
        pipe.set(_LISTENS, "", px=int(1_000 * (seconds + _LISTENS_SECONDS)))
        pipe.zcard(_PENDING)
        if pipe.execute()[-1]:
            return True
    # It rings also for slots that are stored by now.
    return _client().blpop([_BELL], timeout=seconds) is not None and count() > 0


def listen_no_more() -> None:
    """Before a last look at what waits: who offers slots from here on calls a worker."""
    _client().delete(_LISTENS)


def take(*, most_slots: int, most_bytes: int) -> list[Taken]:
    """The lowest slots that wait, ascending: at least one, no more than the bounds."""
    taken: list[Taken] = []
    size = 0
    names: list[Any] = _client().zrange(_PENDING, 0, most_slots - 1)
    for name in (each.decode() for each in names):
        data: Any = _client().get(_key(name))
        if data is None:  # Redis lost it: the follower hands it over again
            _client().zrem(_PENDING, name)
            continue
        try:
            parcel = _decode(zstandard.ZstdDecompressor().decompress(data))
        except (zstandard.ZstdError, msgspec.MsgspecError) as error:
            set_aside(name, f"damaged in Redis: {error}")
            continue
        taken.append(Taken(name, parcel.closed, parcel.reason, parcel.source))
        size += parcel.closed.size
        if size >= most_bytes:
            break
    return taken


def done(names: Sequence[str]) -> None:
    """These are stored and wait no more."""
    if names:
        with _client().pipeline(transaction=True) as pipe:
            pipe.zrem(_PENDING, *names)
            pipe.delete(*map(_key, names))
            pipe.execute()


def set_aside(name: str, reason: str) -> None:
    """This one cannot be stored: it waits no more, and is kept with the reason for a week."""
    with _client().pipeline(transaction=True) as pipe:
        pipe.zrem(_PENDING, name)
        pipe.hset(_REFUSED, name, json.dumps(reason))
        pipe.expire(_REFUSED, _REFUSED_SECONDS)
        pipe.expire(_key(name), _REFUSED_SECONDS)
        pipe.execute()


def waiting(names: Sequence[str]) -> set[str]:
    """Those of the slots that still wait."""
    if not names:
        return set()
    scores = _client().zmscore(_PENDING, list(names))
    return {name for name, score in zip(names, scores, strict=True) if score is not None}


def refused(names: Sequence[str]) -> dict[str, str]:
    """Those of the slots that were set aside, and why."""
    if not names:
        return {}
    found = _client().hmget(_REFUSED, list(names))
    return {
        name: json.loads(reason)
        for name, reason in zip(names, found, strict=True)
        if reason is not None
    }


def count() -> int:
    """How many slots wait."""
    return int(_client().zcard(_PENDING))


def _key(name: str) -> str:
    return f"{_PREFIX}slot:{name}"
