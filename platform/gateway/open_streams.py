"""Streams that stay open: by whom, how many in all processes, and whether they may go on."""

import asyncio
import contextlib
import logging
import os
import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

from access import buckets, key_cache
from access.callers import Caller
from gateway.admission import Sender, admit, entry_for
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import Host
from jsonrpc.errors import RpcError
from shared_state.outages import AWAY
from shared_state.redis_client import NAMESPACE, client, run_script
from webserver.address_groups import holder_of

log = logging.getLogger(__name__)

# With what a check takes, a changed limit holds within a second.
_EACH_SECONDS = 0.8
# A key that could not be checked for so long is no longer trusted.
_TRUSTED_SECONDS = 60.0
# Counts of a process that has not renewed them for so long are of none.
_FORGOTTEN_SECONDS = 15

# {process: count|until} of one holder; counts one more unless there are too many.
_ENTER = """
local now, sum = tonumber(ARGV[1]), 0
for i, value in ipairs(redis.call('HGETALL', KEYS[1])) do
  if i % 2 == 0 then
    local count, till = string.match(value, '(%d+)|(%d+)')
    if tonumber(till) >= now then sum = sum + tonumber(count) end
  end
end
local own = redis.call('HGET', KEYS[1], ARGV[2])
if own and tonumber(string.match(own, '|(%d+)')) >= now then
  sum = sum - tonumber(string.match(own, '(%d+)|'))
end
if sum + tonumber(ARGV[3]) > tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3] .. '|' .. ARGV[5])
redis.call('EXPIRE', KEYS[1], 60)
return 1
"""


@dataclass(frozen=True, slots=True)
class Member:
    """Whose stream it is: the key's digest (None without one), its host, its address, and the
    page's origin. `holder` is what limits count: the key, or the address.
    """

    digest: bytes | None
    key_id: int | None
    host: Host
    address: str
    policy: EndpointPolicy = field(compare=False)
    origin: str = ""

    @property
    def holder(self) -> str:
        if self.key_id is not None:
            return str(self.key_id)
        return f"address:{holder_of(self.address)}"


def member_of(caller: Caller, sender: Sender, policy: EndpointPolicy) -> Member:
    """The member, by a request that was admitted."""
    digest = sender.digest if caller.key_id is not None else None
    return Member(digest, caller.key_id, sender.host, sender.address, policy, sender.origin)


class OpenStream(Protocol):
    """What is open."""

    @property
    def member(self) -> Member: ...

    def end(self, why: str) -> None:
        """Disconnects the client, with the reason."""


S = TypeVar("S", bound=OpenStream)
# The members to end with the reason, and the others' callers as they are now.
Checked = tuple[list[tuple[Member, str]], dict[Member, Caller]]
InThread = Callable[..., Coroutine[Any, Any, Any]]


class OpenStreams(Generic[S]):
    """The streams of one process by member. `enter` and `leave` are for threads; the rest is of the
    loop. Redis counts them under `name`; a key's list of methods allows them under `usage_name`.
    Where keys cannot be checked, they end with the word `unavailable`.
    """

    def __init__(
        self, in_thread: InThread, *, name: str, usage_name: str, unavailable: str
    ) -> None:
        self.process = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.streams: dict[Member, set[S]] = defaultdict(set)
        self._in_thread = in_thread
        self._name = name
        self._usage_name = usage_name
        self._unavailable = unavailable
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()  # of the counts
        self._checked_at = time.monotonic()

    # --- in threads -------------------------------------------------------------------------------

    def take_place(self, holder: str, most: int) -> bool:
        """Counts one stream more; False where the holder has so many. Raises redis.RedisError."""
        now = int(time.time())
        with self._lock:
            self._counts[holder] += 1
            count = self._counts[holder]
        words = (now, self.process, count, most, now + _FORGOTTEN_SECONDS)
        taken = False
        try:
            taken = bool(run_script(_ENTER, [self._key(holder)], words))
        finally:
            if not taken:
                with self._lock:
                    self._counts[holder] -= 1
        return taken

    def leave(self, member: Member) -> None:
        """One stream less; while Redis is away the count expires."""
        holder = member.holder
        with self._lock:
            self._counts[holder] -= 1
        with contextlib.suppress(*AWAY):
            self._renew([holder])

    def leave_all(self) -> None:
        with self._lock:
            holders = list(self._counts)
            self._counts.clear()
        self._renew(holders)

    def _renew(self, holders: Iterable[str]) -> None:
        until = int(time.time()) + _FORGOTTEN_SECONDS
        with self._lock:
            counts = {holder: self._counts[holder] for holder in holders}
            self._counts = +self._counts
        with client().pipeline(transaction=False) as pipe:
            for holder, count in counts.items():
                key = self._key(holder)
                if count > 0:
                    pipe.hset(key, self.process, f"{count}|{until}")
                    pipe.expire(key, 60)
                else:
                    pipe.hdel(key, self.process)
            pipe.execute()

    def _key(self, holder: str) -> str:
        return f"{NAMESPACE}{self._name}:{holder}"

    def check(self, members: Iterable[Member], now: datetime) -> Checked:
        """Admits the members again, and renews the counts."""
        asked_at = time.monotonic()
        generation = cast(bytes | None, client().get(buckets.GENERATION_KEY))
        key_cache.confirm(int(generation or 0), asked_at)
        refused, callers = [], {}
        for member in members:
            sender = Sender(member.host, member.address, "", member.digest, origin=member.origin)
            try:
                callers[member] = admit(entry_for(sender, member.policy, self._usage_name), now=now)
            except RpcError as refusal:
                refused.append((member, refusal.reason))
        self._renew(list(self._counts))
        return refused, callers

    # --- on the loop ------------------------------------------------------------------------------

    def all(self) -> list[S]:
        """The streams that are open now."""
        return [each for found in self.streams.values() for each in found]

    def add(self, stream: S) -> None:
        self.streams[stream.member].add(stream)

    def discard(self, stream: S) -> None:
        found = self.streams.get(stream.member, set())
        found.discard(stream)
        if not found:
            self.streams.pop(stream.member, None)

    def end_all(self, why: str) -> None:
        for stream in self.all():
            stream.end(why)

    async def watch(self) -> None:
        """Until it is cancelled: ends streams of keys that are not good any more, and renews the
        counts.
        """
        while True:
            await asyncio.sleep(_EACH_SECONDS)
            check = self.next_check(list(self.streams))
            if check is None:
                self._checked_at = time.monotonic()
                continue
            try:
                refused, callers = await self._in_thread(check)
                self._checked_at = time.monotonic()
            except AWAY:
                if time.monotonic() - self._checked_at > _TRUSTED_SECONDS:
                    self.end_all(self._unavailable)
                continue
            except Exception:
                log.exception("the check of open streams failed")
                continue
            for member, why in refused:
                for stream in list(self.streams.get(member, ())):
                    stream.end(why)
            self.checked(callers)

    def next_check(self, members: list[Member]) -> Callable[[], Checked] | None:
        """What a thread does now; None where there is nothing to look into."""
        if not members and not self._counts:
            return None
        return partial(self.check, members, datetime.now(UTC))

    def checked(self, callers: dict[Member, Caller]) -> None:
        """Called with the callers that may go on."""
