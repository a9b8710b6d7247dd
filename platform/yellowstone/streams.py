"""Stream: one call of Subscribe, its filters and its updates."""

import asyncio
import time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from google.protobuf.message import DecodeError

from access.callers import Caller
from gateway.open_streams import Member
from grpcserver.call import Call
from livefeed.messages import Answer, Missed, Moved, Want
from subscriptions.link import Ready
from upstream.geyser.messages import created_now
from upstream.geyser.request_filters import BadFilter, Filters
from upstream.grpc.status import INVALID_ARGUMENT, RESOURCE_EXHAUSTED, GrpcStatus
from upstream.protobuf import geyser_pb2 as schema
from yellowstone import access, statuses
from yellowstone.content import Content
from yellowstone.matching import (
    cuckoo_bytes,
    misses_entries,
    moves,
    require_served,
    updates,
)
from yellowstone.replay import Replay
from yellowstone.request_sizes import MOST_FIELDS, NotARequest, size_of

if TYPE_CHECKING:
    from yellowstone.engine import Engine

# Under this name updates are counted, with their bytes.
NOTIFICATION = "geyserNotification"
# What waits for a client that does not read: above it the stream is ended.
MOST_WAITING = 200_000
MOST_WAITING_BYTES = 64 * 1_048_576
_PING_SECONDS = 15.0
# Of the updates a second that a tier allows, for what is past; the rest is for what happens.
_PAST_SHARE = 0.8
# Of cuckoo filters; a request that has some costs further calls of the key's rate.
_CUCKOO_BYTES_A_CALL = 64 * 1_024
_PING = schema.SubscribeUpdate(ping={}).SerializeToString()


class Stream:
    """Used on the event loop. `filters` are None until the feed has confirmed what they want, and
    while a replay has them.
    """

    def __init__(self, call: Call, engine: "Engine", member: Member, caller: Caller) -> None:
        self.member = member
        self.caller = caller
        self.filters: Filters | None = None
        self.wants: list[Want] = []
        self.replay: Replay | None = None
        # Of its cuckoo filters.
        self.cuckoo_bytes = 0
        self._replaying: asyncio.Task[None] | None = None
        self._call = call
        self._engine = engine
        self._pinged_at = time.monotonic()
        # The newest slot when what happens began to be sent.
        self._began_at = 0

    @property
    def is_ended(self) -> bool:
        return self._call.is_ended

    @property
    def hears_chain(self) -> bool:
        if self.replay is not None:
            return self.replay.was_open
        return self.filters is not None and bool(self.wants)

    @property
    def unread_bytes(self) -> int:
        """What waits for the client."""
        return self._call.waiting_bytes

    async def run(self) -> None:
        """Takes requests until the call ends. Who is done with asking goes on getting."""
        self._engine.add(self)
        try:
            self._call.begin()
            async for data in self._call.messages():
                await self._take(data)
            await self._call.ended()
        finally:
            self._engine.discard(self)
            self._end_replay()

    async def _take(self, data: bytes) -> None:
        with self._call.charged():
            request, filters = self._read(data)
        if filters is None:
            return
        await asyncio.sleep(0)  # others have their turn before the filters are stated
        await self._pay_for(cuckoo_bytes(filters))
        access.count(self.member.key_id, "Filters", "ok", self.member.address)
        self._end_replay()
        if request.HasField("from_slot"):
            self._engine.unwant(self)
            self.filters = None
            self.replay = Replay(self, self._engine, filters, request.from_slot)
            self._replaying = asyncio.create_task(self.replay.run())
        else:
            await self._open(filters)

    def _read(self, data: bytes) -> tuple[Any, Filters | None]:
        """The request and its filters; None for a ping, which is answered."""
        # Counted before it is parsed: hundreds of thousands of filters take the loop a second.
        most = self.caller.stream_subscriptions
        try:
            size = size_of(data, most)
            if size.filters > most:
                text = f"subscription_limit_reached: at most {most} filters by the key's tier"
                raise GrpcStatus(RESOURCE_EXHAUSTED, text)
            if size.fields > MOST_FIELDS:
                raise statuses.ended("too_many_addresses")
            request = schema.SubscribeRequest.FromString(data)
        except (NotARequest, DecodeError):
            raise GrpcStatus(INVALID_ARGUMENT, "not a SubscribeRequest") from None
        if request.HasField("ping"):
            pong = schema.SubscribeUpdate(pong={"id": request.ping.id})
            self._send([pong.SerializeToString() + created_now()])
            return request, None
        try:
            filters = Filters(request)
            require_served(filters, entries=settings.FOLLOW_ENTRIES)
        except BadFilter as error:
            raise GrpcStatus(INVALID_ARGUMENT, f"failed to create filter: {error}") from None
        return request, filters

    async def _pay_for(self, size: int) -> None:
        """Of cuckoo filters, which the follower looks at in each slot."""
        if not self._engine.has_room(self, size):
            raise statuses.ended("too_many_cuckoo_filters")
        self.cuckoo_bytes = size
        if size:
            calls = -(-size // _CUCKOO_BYTES_A_CALL)
            await self._engine.in_thread(access.charge, self.member, self.caller, calls)

    async def _open(self, filters: Filters) -> None:
        opened: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        before = self.wants

        def ready(answer: Answer | None) -> None:
            # At once: what the feed sends next is for the new filters.
            if answer is not None and not self.is_ended:
                self.filters, self._began_at = filters, answer.slot
            if not opened.done():
                opened.set_result(answer is not None)

        self.want(filters, ready)
        is_open = await opened
        self._engine.link.unwant(before)
        if not is_open:
            raise statuses.ended("chain_not_followed")

    def want(self, filters: Filters, ready: Ready, *, again: bool = False) -> None:
        """Engine.want, charged to the client."""
        with self._call.charged():
            self._engine.want(self, filters, ready, again=again)

    def _end_replay(self) -> None:
        self.replay = None
        if self._replaying is not None:
            self._replaying.cancel()
            self._replaying = None

    # --- from the engine --------------------------------------------------------------------------

    def put(self, content: Content) -> None:
        if self.is_ended:
            return
        if self.replay is not None:
            if self.replay.is_open:
                self.replay.put(content)
        elif self.filters is not None and not content.ask:
            # One of before need not be whole: the follower may have joined in its middle.
            if content.slot > self._began_at and misses_entries(self.filters, content):
                self.end("interrupted")
            else:
                self.deliver(self.filters, content)

    def move(self, moved: Moved, created: bytes) -> None:
        filters = self.filters if self.replay is None else self.replay.filters
        if filters is not None and filters.slots and not self.is_ended:
            self._send(moves(filters, moved, created))

    def deliver(self, filters: Filters, content: Content) -> int:
        """Sends what the content is to the filters: how many updates."""
        found = updates(filters, content)
        self._send(found)
        return len(found)

    def is_interrupted(self, missed: Missed) -> bool:
        if self.replay is not None or self.filters is None or missed.slot <= self._began_at:
            return False
        return missed.is_break or bool(missed.accounts and self.filters.accounts)

    def lost(self) -> None:
        """Something that happened may be missing, which a replay reads."""
        if self.replay is not None:
            self.replay.progress.lost.set()

    def reached(self, root: int) -> None:
        if self.replay is not None:
            self.replay.progress.reached(root)

    async def taken(self, count: int) -> None:
        """Returns when the client has taken what was sent, and its tier allows so many more."""
        await self._call.drained()
        rate = self.caller.stream_notifications_per_second
        if rate is not None and count:
            await asyncio.sleep(count / max(1.0, _PAST_SHARE * rate))

    def _send(self, messages: list[bytes]) -> None:
        if not messages or self.is_ended:
            return
        call = self._call
        size = call.send(*messages)
        self._engine.members.count(self.member, NOTIFICATION, size, len(messages))
        if call.waiting > MOST_WAITING or call.waiting_bytes > MOST_WAITING_BYTES:
            self.end("too_slow")

    # --- from the members -------------------------------------------------------------------------

    def end(self, why: str) -> None:
        self.end_with(statuses.ended(why))
        access.count(self.member.key_id, "Subscribe", why, self.member.address)

    def end_with(self, status: GrpcStatus) -> None:
        self._call.end(status, drops=True)

    def tick(self) -> None:
        now = time.monotonic()
        if now - self._pinged_at > _PING_SECONDS and not self._call.waiting:
            self._pinged_at = now
            self._call.send(_PING + created_now())
