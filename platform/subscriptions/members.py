"""Members: who holds WebSockets of this process, within which limits, and what they were sent."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from access import usage, usage_queries
from access.callers import Caller
from access.months import month_of
from gateway.open_streams import Checked, InThread, Member, OpenStream, OpenStreams
from livefeed.messages import Missed
from shared_state.redis_client import NAMESPACE, client
from subscriptions.errors import MonthlyBytesReached, SocketsUnavailable, TooManySockets
from webserver.paced_input import Share, Shares

# The name under which connections are counted, and allowed by a key's list of methods.
USAGE_NAME = "subscriptions"
_RATE_SECONDS = 10
_BYTES_DAYS = 40
# Bytes that wait for a process's WebSockets that are not read: of one key or address, and of all.
MOST_UNREAD_OF_HOLDER = 64 * 1_048_576
MOST_UNREAD = 256 * 1_048_576


class Connection(OpenStream, Protocol):
    """What is sent notifications: a WebSocket, or a stream of updates."""

    caller: Caller

    @property
    def hears_chain(self) -> bool:
        """Whether it is sent what happens on the chain."""

    @property
    def unread_bytes(self) -> int:
        """What waits for the client."""

    def is_interrupted(self, missed: Missed) -> bool:
        """Whether its client may have missed something of it, and cannot read it."""

    def tick(self) -> None:
        """Called about every second."""


class Members(OpenStreams[Connection]):
    """The connections by member, what they were sent, and what waits for their clients."""

    def __init__(self, in_thread: InThread) -> None:
        super().__init__(
            in_thread, name="sockets", usage_name=USAGE_NAME, unavailable=SocketsUnavailable.reason
        )
        self._unread: Counter[str] = Counter()
        self._all_unread = 0
        # What was sent since the last look: {(member, method): (notifications, bytes)}.
        self._sent: dict[tuple[Member, str], list[int]] = {}
        self._shares = Shares()

    # --- in threads -------------------------------------------------------------------------------

    def enter(self, member: Member, caller: Caller) -> None:
        """Counts one connection more. Raises TooManySockets, MonthlyBytesReached,
        redis.RedisError and what the database raises.
        """
        limit = caller.stream_bytes_per_month
        if limit is not None and member.key_id is not None:
            self._require_bytes(member, limit, datetime.now(UTC))
        if not self.take_place(member.holder, caller.stream_connections):
            raise TooManySockets(caller.stream_connections)

    def _require_bytes(self, member: Member, limit: int, now: datetime) -> None:
        assert member.key_id is not None
        used = _month_bytes(member.key_id, 0, now)
        if used >= limit:
            raise MonthlyBytesReached(limit, used, month_of(now)[1])

    # --- on the loop ------------------------------------------------------------------------------

    def share(self, member: Member, now: float) -> Share:
        """The holder's share of the loop, for all of its connections."""
        return self._shares.of(member.holder, now)

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
        for connection in self.all():
            unread[connection.member.holder][connection] = connection.unread_bytes
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

    def end_silent(self) -> None:
        """Nothing of the chain comes: ends the connections that wait for it."""
        for connection in self.all():
            if connection.hears_chain:
                connection.end("stream_silent")

    def end_interrupted(self, missed: Missed) -> None:
        """Ends the connections that missed it."""
        for connection in self.all():
            if connection.is_interrupted(missed):
                connection.end("interrupted")

    def next_check(self, members: list[Member]) -> Callable[[], Checked] | None:
        sent, self._sent = self._sent, {}
        if not sent:
            return super().next_check(members)
        return partial(self._check_and_spend, members, sent)

    def checked(self, callers: dict[Member, Caller]) -> None:
        for connection in self.all():
            connection.caller = callers.get(connection.member, connection.caller)
            connection.tick()

    def _check_and_spend(
        self, members: list[Member], sent: dict[tuple[Member, str], list[int]]
    ) -> Checked:
        """The members that are to end are also those that were sent too much."""
        now = datetime.now(UTC)
        refused, callers = self.check(members, now)
        return [*refused, *self._spend(callers, sent, now)], callers

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
