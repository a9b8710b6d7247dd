"""The one reader of announced fates in a process, and the queue of each open stream."""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import msgspec
from redis.asyncio import Redis

from priority.fates.services.announcing import FIELD, LIVE_STREAM, NUMBER_FIELD, SINCE, unpack
from priority.fates.services.events import FateMessage, Place, messages, read_place
from shared_state.outages import AWAY
from shared_state.redis_client import async_client_of

log = logging.getLogger(__name__)

# A stream with more unsent messages is closed: its client reconnects and catches up.
MOST_WAITING = 1_000
# After so many the streams write what they have: one announcement can be of more than may wait.
_DEALT_AT_ONCE = 50
_BLOCK_MS = 5_000
_MOST_ENTRIES = 100
_PAUSE_SECONDS = 0.5

# {key: its customer} of those that are known.
Customers = Callable[[Collection[int]], Awaitable[dict[int, int]]]


class Subscription:
    """The unsent messages of one open stream; `ended` is why it was closed, or empty."""

    def __init__(self, customer: int, signatures: frozenset[bytes]) -> None:
        self.customer = customer
        self.ended = ""
        self._signatures = signatures
        self._waiting: deque[FateMessage] = deque()
        self._changed = asyncio.Event()

    def wants(self, each: FateMessage) -> bool:
        return not self._signatures or each.signature in self._signatures

    def put(self, each: FateMessage) -> None:
        if self.ended or not self.wants(each):
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
            self.end("too_slow")
            return
        self._waiting.append(each)
        self._changed.set()

    def end(self, why: str) -> None:
        self.ended = self.ended or why
        self._changed.set()

    async def take(self, seconds: float) -> list[FateMessage]:
        """What waits, as soon as something does; empty after so long, and when it has ended."""
        if not self._waiting and not self.ended:
            try:
                await asyncio.wait_for(self._changed.wait(), seconds)
            except TimeoutError:
                return []
        taken = [*self._waiting]
        self._waiting.clear()
        self._changed.clear()
        return taken


class FateFeed:
    """Reads announcements and passes them to the subscriptions of their key's customer."""

    def __init__(self, redis: Redis, customers: Customers) -> None:
        self.redis = redis
        # Up to here everything was dealt out; None while Redis has not answered yet.
        self.place: Place | None = None
        self._customers_of = customers
        self._customers: dict[int, int] = {}
        self._subscriptions: dict[int, set[Subscription]] = defaultdict(set)
        self._number = 0

    def subscribe(self, customer: int, signatures: frozenset[bytes]) -> Subscription:
        """Receives everything after `place`."""
        subscription = Subscription(customer, signatures)
        self._subscriptions[customer].add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        remaining = self._subscriptions[subscription.customer]
        remaining.discard(subscription)
        if not remaining:
            del self._subscriptions[subscription.customer]

    def end_all(self, why: str) -> None:
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.end(why)

    async def run(self) -> None:
        """Until it is cancelled; waits while Redis or the database is away."""
        is_away = False
        while True:
            try:
                if self.place is None:
                    await self._begin()
                await self._read()
                is_away = False
            except AWAY as error:
                if not is_away:
                    log.warning("fates wait for the database or Redis: %s", error)
                is_away = True
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _begin(self) -> None:
        seconds, microseconds = await self.redis.time()
        # One less: an entry that is made in this very millisecond must come behind it.
        before = seconds * 1_000 + microseconds // 1_000 - 1
        await self.redis.set(SINCE, f"{before}-0", nx=True)
        newest: Any = await self.redis.xrevrange(LIVE_STREAM, count=1)
        if newest:
            name, fields = newest[0]
            self._number, self.place = int(fields[NUMBER_FIELD]), read_place(name)
        else:
            began: Any = await self.redis.get(SINCE)
            self._number, self.place = 0, read_place(began or b"")

    async def _read(self) -> None:
        place = self.place
        assert place is not None
        after = f"{place.milliseconds}-{place.sequence}"
        answer: Any = await self.redis.xread(
            {LIVE_STREAM: after}, count=_MOST_ENTRIES, block=_BLOCK_MS
        )
        for _stream, entries in answer.items() if isinstance(answer, dict) else answer:
            for name, fields in entries:
                await self._deal(name, fields)
        if not answer:
            newest: Any = await self.redis.xrevrange(LIVE_STREAM, count=1)
            if newest and (read_place(newest[0][0]) or place) < place:
                # Another Redis than before, whose clock is behind: nothing would ever follow.
                self.end_all("missed_some")
                self.place = None

    async def _deal(self, name: bytes, fields: dict[bytes, bytes]) -> None:
        number = int(fields[NUMBER_FIELD])
        try:
            changes = unpack(fields[FIELD])
        except msgspec.MsgspecError as error:
            log.error("an announcement could not be read: %s", error)
            changes = []
        unknown = {
            change.key_id for _, change in changes if change.key_id is not None
        } - self._customers.keys()
        if unknown:
            self._customers |= await self._customers_of(unknown)
        if number != self._number + 1:
            # Entries were trimmed, or Redis lost its data, before they were read: a client that
            # reconnects gets those that are kept, or an event `gap`.
            self.end_all("missed_some")
        self._number, self.place = number, read_place(name)
        wanted = [
            (place, change)
            for place, change in changes
            if self._customers.get(change.key_id or 0) in self._subscriptions
        ]
        for count, (change, each) in enumerate(messages(name, wanted), 1):
            customer = self._customers[change.key_id or 0]
            for subscription in self._subscriptions.get(customer, ()):
                subscription.put(each)
            if count % _DEALT_AT_ONCE == 0 or count == len(wanted):
                await asyncio.sleep(0)


def redis_of(url: str) -> Redis:
    """A client that waits longer than a blocked read does."""
    return async_client_of(url, _BLOCK_MS / 1_000 + 5)
