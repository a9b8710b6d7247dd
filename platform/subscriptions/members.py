"""Members: who holds WebSockets of this process, within which limits, and what they were sent."""

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from access import buckets, key_cache, usage, usage_queries
from access.callers import Caller
from access.months import month_of
from gateway.admission import Sender, admit, entry_for
from gateway.endpoint_policy import EndpointPolicy
from gateway.hosts import Host
from jsonrpc.errors import RpcError
from livefeed.messages import Missed
from shared_state.outages import AWAY
from shared_state.redis_client import NAMESPACE, client, run_script
from subscriptions.errors import MonthlyBytesReached, TooManySockets
from webserver.address_groups import holder_of
from webserver.paced_input import Share, Shares

log = logging.getLogger(__name__)

# The name under which connections are counted, and allowed by a key's list of methods.
USAGE_NAME = "subscriptions"
# With what a check takes, a changed limit holds within a second.
_EACH_SECONDS = 0.8
# A key that could not be checked for so long is no longer trusted.
_TRUSTED_SECONDS = 60.0
# Counts of a process that has not renewed them for so long are of none.
_FORGOTTEN_SECONDS = 15
_RATE_SECONDS = 10
_BYTES_DAYS = 40
# Bytes that wait for a process's WebSockets that are not read: of one key or address, and of all.
MOST_UNREAD_OF_HOLDER = 64 * 1_048_576
MOST_UNREAD = 256 * 1_048_576

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

InThread = Callable[..., Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True)
class Member:
    """Whose connection it is: the key's digest (None without one), its host, its address, and the
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


class Connection(Protocol):
    """What is sent notifications: a WebSocket, or a stream of updates."""

    member: Member
    caller: Caller

    @property
    def hears_chain(self) -> bool:
        """Whether it is sent what happens on the chain."""

    @property
    def unread_bytes(self) -> int:
        """What waits for the client."""

    def is_interrupted(self, missed: Missed) -> bool:
        """Whether its client may have missed something of it, and cannot read it."""

    def end(self, why: str) -> None:
        """Disconnects the client, with the reason."""

    def tick(self) -> None:
        """Called about every second."""


class Members:
    """The connections by member. `enter` and `leave` are for threads; the rest is of the loop."""

    def __init__(self, in_thread: InThread) -> None:
        self.process = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.connections: dict[Member, set[Connection]] = defaultdict(set)
        self._in_thread = in_thread
        self._counts: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()
        self._all_unread = 0
        # What was sent since the last look: {(member, method): (notifications, bytes)}.
        self._sent: dict[tuple[Member, str], list[int]] = {}
        self._callers: dict[Member, Caller] = {}
        self._checked_at = time.monotonic()
        self._shares = Shares()

    # --- in threads -------------------------------------------------------------------------------

    def enter(self, member: Member, caller: Caller) -> None:
        """Counts one connection more. Raises TooManySockets, MonthlyBytesReached,
        redis.RedisError and what the database raises.
        """
        limit = caller.stream_bytes_per_month
        if limit is not None and member.key_id is not None:
            self._require_bytes(member, limit, datetime.now(UTC))
        holder, most = member.holder, caller.stream_connections
        now = int(time.time())
        self._counts[holder] += 1
        words = (now, self.process, self._counts[holder], most, now + _FORGOTTEN_SECONDS)
        try:
            if not run_script(_ENTER, [_key(holder)], words):
                raise TooManySockets(most)
        except BaseException:
            self._counts[holder] -= 1
            raise

    def leave(self, member: Member) -> None:
        """One connection less; while Redis is away the count expires."""
        holder = member.holder
        self._counts[holder] -= 1
        with contextlib.suppress(*AWAY):
            self._renew([holder])

    def leave_all(self) -> None:
        holders = list(self._counts)
        self._counts.clear()
        self._renew(holders)

    def _renew(self, holders: list[str]) -> None:
        until = int(time.time()) + _FORGOTTEN_SECONDS
        with client().pipeline(transaction=False) as pipe:
            for holder in holders:
                count = self._counts[holder]
                if count > 0:
                    pipe.hset(_key(holder), self.process, f"{count}|{until}")
                    pipe.expire(_key(holder), 60)
                else:
                    pipe.hdel(_key(holder), self.process)
                    del self._counts[holder]
            pipe.execute()

    def _require_bytes(self, member: Member, limit: int, now: datetime) -> None:
        assert member.key_id is not None
        used = _month_bytes(member.key_id, 0, now)
        if used >= limit:
            raise MonthlyBytesReached(limit, used, month_of(now)[1])

    # --- on the loop ------------------------------------------------------------------------------

    def share(self, member: Member, now: float) -> Share:
        """The holder's share of the loop, for all of its connections."""
        return self._shares.of(member.holder, now)

    def add(self, connection: Connection) -> None:
        self.connections[connection.member].add(connection)
        self._callers[connection.member] = connection.caller

    def discard(self, connection: Connection) -> None:
        found = self.connections.get(connection.member)
        if found is None or connection not in found:
            return
        found.discard(connection)
        if not found:
            del self.connections[connection.member]
            self._callers.pop(connection.member, None)

    def waits(self, member: Member, size: int) -> None:
        """So many bytes more wait for a WebSocket of the member, or fewer."""
        holder = member.holder
        self._all_unread += size
        self._unread[holder] += size
        if not self._unread[holder]:
            del self._unread[holder]
        too_many = self._all_unread > MOST_UNREAD or self._unread[holder] > MOST_UNREAD_OF_HOLDER
        if size > 0 and too_many:
            self.relieve(MOST_UNREAD, MOST_UNREAD_OF_HOLDER)

    def relieve(self, most: int, most_of_holder: int) -> None:
        """Where more bytes wait than may for all clients, or for those of one holder, the slowest
        of the holder for which most waits is ended, and the next.
        """
        unread: dict[str, dict[Connection, int]] = defaultdict(dict)
        for member, found in self.connections.items():
            for connection in found:
                unread[member.holder][connection] = connection.unread_bytes
        sizes = Counter({holder: sum(found.values()) for holder, found in unread.items()})
        while sizes:
            ((holder, size),) = sizes.most_common(1)
            if size <= most_of_holder and sizes.total() <= most:
                return
            slowest = max(unread[holder], key=unread[holder].__getitem__)
            sizes[holder] -= unread[holder].pop(slowest)
            if not unread[holder]:
                del sizes[holder]
            slowest.end("too_slow")

    def count(self, member: Member, method: str, size: int, notifications: int = 1) -> None:
        """Notifications were sent, of so many bytes in all."""
        cell = self._sent.get((member, method))
        if cell is None:
            self._sent[member, method] = [notifications, size]
        else:
            cell[0] += notifications
            cell[1] += size

    def end_all(self, why: str) -> None:
        for found in list(self.connections.values()):
            for connection in list(found):
                connection.end(why)

    def end_silent(self) -> None:
        """Nothing of the chain comes: ends the connections that wait for it."""
        for found in list(self.connections.values()):
            for connection in list(found):
                if connection.hears_chain:
                    connection.end("stream_silent")

    def end_interrupted(self, missed: Missed) -> None:
        """Ends the connections that missed it."""
        for found in list(self.connections.values()):
            for connection in list(found):
                if connection.is_interrupted(missed):
                    connection.end("interrupted")

    def _end(self, members: list[tuple[Member, str]]) -> None:
        for member, why in members:
            for connection in list(self.connections.get(member, ())):
                connection.end(why)

    async def watch(self) -> None:
        """Until it is cancelled: ends connections of keys that are not good any more, or that got
        more than their tier allows; renews counts and passes on usage.
        """
        while True:
            await asyncio.sleep(_EACH_SECONDS)
            sent, self._sent = self._sent, {}
            members = dict(self._callers)
            try:
                refused, callers = await self._in_thread(self._look, members, sent)
                self._checked_at = time.monotonic()
            except AWAY:
                if time.monotonic() - self._checked_at > _TRUSTED_SECONDS:
                    self.end_all("sockets_unavailable")
                continue
            except Exception:
                log.exception("the check of WebSockets failed")
                continue
            for member, caller in callers.items():
                if member in self._callers:
                    self._callers[member] = caller
                for connection in self.connections.get(member, ()):
                    connection.caller = caller
            self._end(refused)
            for found in list(self.connections.values()):
                for connection in list(found):
                    connection.tick()

    def _look(
        self, members: dict[Member, Caller], sent: dict[tuple[Member, str], list[int]]
    ) -> tuple[list[tuple[Member, str]], dict[Member, Caller]]:
        """In a thread: the members to end with the reason, and the others' callers as they are
        now.
        """
        now = datetime.now(UTC)
        if members or sent:
            generation = cast(bytes | None, client().get(buckets.GENERATION_KEY))
            key_cache.confirm(int(generation or 0))
        refused, callers = [], {}
        for member in members:
            try:
                callers[member] = self._caller(member, now)
            except RpcError as refusal:
                refused.append((member, refusal.reason))
        refused += self._spend(members, sent, now)
        self._renew(list(self._counts))
        return refused, callers

    def _caller(self, member: Member, now: datetime) -> Caller:
        sender = Sender(member.host, member.address, "", member.digest, origin=member.origin)
        return admit(entry_for(sender, member.policy, USAGE_NAME), now=now)

    def _spend(
        self,
        members: dict[Member, Caller],
        sent: dict[tuple[Member, str], list[int]],
        now: datetime,
    ) -> list[tuple[Member, str]]:
        """Counts what was sent; the members that got too much."""
        totals: dict[Member, list[int]] = defaultdict(lambda: [0, 0])
        for (member, method), (notifications, size) in sent.items():
            totals[member][0] += notifications
            totals[member][1] += size
            usage.count(
                member.key_id,
                method,
                "ok",
                seconds=now.timestamp(),
                microseconds=0,
                address=member.address,
                calls=notifications,
                sent=size,
            )
        refused = []
        for member, (notifications, size) in totals.items():
            caller = members.get(member)
            if caller is None:
                continue
            rate = caller.stream_notifications_per_second
            if rate is not None and _in_window(member.holder, notifications) > rate * _RATE_SECONDS:
                refused.append((member, "notifications_above_limit"))
            limit = caller.stream_bytes_per_month
            if limit is None or member.key_id is None:
                continue
            if _month_bytes(member.key_id, size, now) > limit:
                refused.append((member, MonthlyBytesReached.reason))
        return refused


def _in_window(holder: str, notifications: int) -> int:
    """How many the holder got in these ten seconds, in all processes."""
    key = f"{NAMESPACE}sockets:rate:{holder}:{int(time.time()) // _RATE_SECONDS}"
    with client().pipeline(transaction=False) as pipe:
        pipe.incrby(key, notifications)
        pipe.expire(key, 2 * _RATE_SECONDS)
        return int(pipe.execute()[0])


def _month_bytes(key_id: int, size: int, now: datetime) -> int:
    """The month's bytes of the key with so many more: from what was rolled up where Redis has no
    count.
    """
    start, end = month_of(now)
    key = f"{NAMESPACE}sockets:bytes:{key_id}:{start:%Y-%m}"
    if not client().exists(key):
        used = usage_queries.bytes_of_keys([key_id], start.date(), end.date())
        client().set(key, used, nx=True, ex=_BYTES_DAYS * 86_400)
    return client().incrby(key, size)


def _key(holder: str) -> str:
    return f"{NAMESPACE}sockets:{holder}"
