"""Open streams: the queue of each subscriber, and the order of sending."""

import asyncio
import logging
import random
import sys
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

import grpc

from chain.units import Slot
from localnet.faults import Faults
from localnet.feed import ChainEvent, Feed
from localnet.servers.geyser_filters import updates
from localnet.servers.geyser_messages import AccountMessage, Message, TransactionMessage
from localnet.servers.geyser_order import Order, last_writes, replayed
from upstream.geyser.request_filters import Filters
from upstream.protobuf import geyser_pb2 as schema

log = logging.getLogger(__name__)

# A reordered message comes after so many later ones.
_HELD_BACK = 4
# So many events are made ready at a time.
_TURN = 64


class Ending(NamedTuple):
    """How a stream ends for its subscriber."""

    code: grpc.StatusCode
    text: str


# Names of filters, the body, created_at: joined when they are sent.
Parts: TypeAlias = tuple[bytes, bytes, bytes]


class Disorder:
    """What faults do to one run of messages: some are lost, some come twice, some a little late."""

    def __init__(self, faults: Faults, chance: random.Random) -> None:
        self._faults = faults
        self._chance = chance
        self._held: deque[tuple[int, Parts]] = deque()
        self._sent = 0

    def pass_on(self, update: Parts, disorderly: bool) -> list[Parts]:
        """What goes out now that this update came: it, unless a fault strikes it."""
        faults = self._faults
        out = [update]
        if disorderly:
            if self._strikes(faults.lose_percent):
                out = []
            elif self._strikes(faults.duplicate_percent):
                out = [update, update]
            elif self._strikes(faults.reorder_percent):
                self._held.append((self._sent + _HELD_BACK, update))
                out = []
        self._sent += 1
        while self._held and self._held[0][0] <= self._sent:
            out.append(self._held.popleft()[1])
        return out

    def end(self) -> list[Parts]:
        """What is still held back when the run is over."""
        rest = [update for _, update in self._held]
        self._held.clear()
        return rest

    def _strikes(self, percent: float) -> bool:
        return percent > 0 and self._chance.random() * 100 < percent


class Stream:
    """One subscriber: its filters, and the updates it has not got yet."""

    def __init__(self, faults: Faults, *, limit: int, seed: int) -> None:
        self.filters: Filters | None = None
        self.ending: Ending | None = None
        self._faults = faults
        self._limit = limit
        self._chance = random.Random(seed)
        self._past: Iterator[list[bytes]] = iter(())
        self._waiting: deque[Parts] = deque()
        self._disorder = Disorder(faults, self._chance)
        self._something = asyncio.Event()

    def offer(self, message: Message, created_at: bytes) -> None:
        """Let it wait for the subscriber as far as it was asked for."""
        if self.filters is None or self.ending is not None:
            return
        disorderly = isinstance(message, AccountMessage | TransactionMessage)
        for names, body in updates(self.filters, message):
            self._waiting.extend(self._disorder.pass_on((names, body, created_at), disorderly))
        if len(self._waiting) > self._limit:
            self.end(grpc.StatusCode.INTERNAL, "lagged to receive updates")
        if self._waiting:
            self._something.set()

    def replay(self, events: list[ChainEvent]) -> None:
        """Let these come before all that waits, made ready one by one as they are read."""
        filters = self.filters
        assert filters is not None
        self._past = self._of_the_past(filters, events)
        self._something.set()

    def send(self, update: bytes) -> None:
        """Let this update come after all that waits, whatever the filters are."""
        if self.ending is None:
            self._waiting.append((update, b"", b""))
            self._something.set()

    def end(self, code: grpc.StatusCode, text: str) -> None:
        """Cut the stream; what waits is lost to it."""
        if self.ending is None:
            self.ending = Ending(code, text)
            self._waiting.clear()
            self._past = iter(())
            self._something.set()

    async def updates(self) -> list[bytes]:
        """The next few updates, at least one unless the stream has ended."""
        while self.ending is None:
            found: list[bytes] = []
            past = list(islice(self._past, _TURN))
            for each in past:
                found += each
            # What is past comes first, all of it.
            while self._waiting and len(past) < _TURN and len(found) < 2 * _TURN:
                found.append(b"".join(self._waiting.popleft()))
            if found:
                return found
            if past:
                # A long past that is not asked for must not hold the chain up.
                await asyncio.sleep(0)
            else:
                self._something.clear()
                await self._something.wait()
        return []

    def _of_the_past(self, filters: Filters, events: list[ChainEvent]) -> Iterator[list[bytes]]:
        """For every event the updates that it is to this subscriber."""
        order = Order(self._faults)
        # Its own: what is late in the past comes with the past, not after all of it.
        disorder = Disorder(self._faults, self._chance)
        for event in events:
            found: list[bytes] = []
            for commitment, message in order.messages(event):
                if commitment not in (None, filters.commitment):
                    continue
                disorderly = isinstance(message, AccountMessage | TransactionMessage)
                for names, body in updates(filters, message):
                    parts = (names, body, created_now())
                    found += map(b"".join, disorder.pass_on(parts, disorderly))
            yield found
        yield [b"".join(each) for each in disorder.end()]


class Broadcast:
    """Takes what happens from the feed, and hands it to every stream."""

    def __init__(self, feed: Feed, faults: Faults) -> None:
        self._feed = feed
        self._faults = faults
        self._order = Order(faults)
        self._streams: set[Stream] = set()
        self._opened = 0
        # It is read at every turn of the loop; only a stream can lag.
        self._subscription = feed.subscribe(limit=sys.maxsize)

    def open(self, *, limit: int) -> Stream:
        """A new stream, without filters yet."""
        self._opened += 1
        stream = Stream(self._faults, limit=limit, seed=self._opened)
        self._streams.add(stream)
        return stream

    def close(self, stream: Stream) -> None:
        self._streams.discard(stream)

    async def run(self) -> None:
        """Hand on whatever happens, for ever."""
        async for event in self._subscription:
            self._hand_on([event, *self._subscription.take()])

    def catch_up(self) -> None:
        """Hand on at once what has happened by now."""
        self._hand_on(self._subscription.take())

    def subscribe(self, stream: Stream, filters: Filters, from_slot: Slot | None) -> None:
        """Give the stream these filters from now on, or from a slot on that is remembered."""
        # What waits happened before the request: for the old filters, and part of the replay.
        self.catch_up()
        if from_slot is not None:
            first = self._feed.first_available
            if first is not None and from_slot < first:
                stream.end(
                    grpc.StatusCode.OUT_OF_RANGE,
                    f"broadcast from {from_slot} is not available, last available: {first}",
                )
                return
        stream.filters = filters
        if from_slot is not None:
            past = list(replayed(self._feed.replay(from_slot)))
            stream.replay(last_writes(past) if self._faults.replay_last_writes else past)

    def _hand_on(self, events: list[ChainEvent]) -> None:
        if self._faults.drop_streams:
            self._faults.drop_streams = False
            for stream in self._streams:
                stream.end(grpc.StatusCode.UNAVAILABLE, "the stream was dropped on demand")
        created_at = created_now()
        for event in events:
            for commitment, message in self._order.messages(event):
                for stream in self._streams:
                    filters = stream.filters
                    if filters is not None and commitment in (None, filters.commitment):
                        try:
                            stream.offer(message, created_at)
                        except Exception:
                            # Not to be passed over in silence, nor to stop the other streams.
                            log.exception("an update cannot be sent")
                            stream.end(grpc.StatusCode.INTERNAL, "an update cannot be sent")


def created_now() -> bytes:
    """The `created_at` of an update that is made now."""
    seconds, nanos = divmod(time.time_ns(), 1_000_000_000)
    stamp = {"seconds": seconds, "nanos": nanos}
    return bytes(schema.SubscribeUpdate(created_at=stamp).SerializeToString())
