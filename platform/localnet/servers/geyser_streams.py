"""Open streams: the queue of each subscriber, and the order of sending."""

import asyncio
import logging
import random
import sys
from collections import deque
from collections.abc import Iterator
from itertools import chain, islice
from typing import Protocol, TypeAlias

from chain.units import Slot
from localnet.faults import Faults
from localnet.feed import ChainEvent, Feed
from localnet.servers.geyser_filters import updates
from localnet.servers.geyser_messages import Message
from localnet.servers.geyser_order import Order, last_writes, replayed
from upstream.geyser.messages import created_now
from upstream.geyser.request_filters import Filters
from upstream.geyser.sent_messages import AccountMessage, TransactionMessage
from upstream.grpc.status import INTERNAL, OUT_OF_RANGE, UNAVAILABLE, GrpcStatus

log = logging.getLogger(__name__)

# A reordered message comes after so many later ones.
_HELD_BACK = 4
# So many events are made ready at a time.
_TURN = 64
# So much waits in a connection; the rest in the stream, where it is counted.
_UNREAD_BYTES = 1_048_576


# Names of filters, the body, created_at: joined when they are sent.
Parts: TypeAlias = tuple[bytes, bytes, bytes]


class Sink(Protocol):
    """Where a stream's updates go; what its subscriber has not read yet waits there."""

    @property
    def waiting_bytes(self) -> int: ...
    def send(self, *updates: bytes) -> object: ...
    async def drained(self) -> None: ...


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

    def __init__(self, faults: Faults, sink: Sink, *, limit: int, seed: int) -> None:
        self.filters: Filters | None = None
        self.ending: GrpcStatus | None = None
        self._ended = asyncio.Event()
        self._sink = sink
        self._faults = faults
        self._limit = limit
        self._chance = random.Random(seed)
        self._past: Iterator[list[bytes]] | None = None
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
            self.end(INTERNAL, "lagged to receive updates")
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

    def end(self, code: int, text: str) -> None:
        """Cut the stream; what waits is lost to it."""
        if self.ending is None:
            self.ending = GrpcStatus(code, text)
            self._ended.set()
            self._waiting.clear()
            self._past = None
            self._something.set()

    def push(self) -> None:
        """Sends what waits, unless something past comes before it or the subscriber does not read:
        then `run` sends it.
        """
        is_read = self._past is None and self._sink.waiting_bytes <= _UNREAD_BYTES
        if is_read and self._waiting:
            self._sink.send(*map(b"".join, self._waiting))
            self._waiting.clear()

    async def run(self) -> None:
        """Sends all there is, as fast as the subscriber reads, until the stream is ended. Raises
        how it ended.
        """
        while self.ending is None:
            if self._sink.waiting_bytes > _UNREAD_BYTES:
                await self._read_or_ended()
            elif self._past is not None:
                await self._send_past(self._past)
            elif self._waiting:
                self.push()
            else:
                self._something.clear()
                await self._something.wait()
        raise self.ending

    async def _send_past(self, past: Iterator[list[bytes]]) -> None:
        """What is past comes first, all of it."""
        events = list(islice(past, _TURN))
        if len(events) < _TURN and self._past is past:
            self._past = None
        self._sink.send(*chain.from_iterable(events))
        # A long past must not hold the chain up.
        await asyncio.sleep(0)

    async def _read_or_ended(self) -> None:
        """Returns when the subscriber has read what was sent, or the stream is ended."""
        waits = [asyncio.ensure_future(each) for each in (self._sink.drained(), self._ended.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

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
        feed.readers.append(self.catch_up)

    def open(self, sink: Sink, *, limit: int) -> Stream:
        """A new stream, without filters yet."""
        self._opened += 1
        stream = Stream(self._faults, sink, limit=limit, seed=self._opened)
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
        if events := self._subscription.take():
            self._hand_on(events)

    def subscribe(self, stream: Stream, filters: Filters, from_slot: Slot | None) -> None:
        """Give the stream these filters from now on, or from a slot on that is remembered."""
        # What waits happened before the request: for the old filters, and part of the replay.
        self.catch_up()
        if from_slot is not None:
            first = self._feed.first_available
            if first is not None and from_slot < first:
                stream.end(
                    OUT_OF_RANGE,
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
                stream.end(UNAVAILABLE, "the stream was dropped on demand")
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
                            stream.end(INTERNAL, "an update cannot be sent")
        for stream in self._streams:
            stream.push()
