"""GET /priority/fates/stream: changes of fates as server-sent events.

The view admits a caller in a thread like every other request; the stream runs on the web
server's event loop, so that an open stream holds no thread.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import partial
from weakref import WeakKeyDictionary

from django.conf import settings
from django.http.response import HttpResponseBase
from solders.signature import Signature

from access.callers import Caller
from access.errors import KeyUnknown
from gateway.declarations import Parameter
from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.hosts import LANDING
from gateway.open_streams import Member, OpenStreams, member_of
from gateway.refusals import KeyRequired
from gateway.views import EndpointRequest, EventStream, ReadView
from jsonrpc.wire import encode
from priority.errors import BadQuery
from priority.fates.errors import StreamUnavailable, TooManyStreams
from priority.fates.results import FateEvent
from priority.fates.services import lookup
from priority.fates.services.events import FateMessage, Place, event_text, read_place, since
from priority.fates.services.feed import FateFeed, Subscription, redis_of
from priority.fates.store.fates import customers_of, keys_of_the_customer
from shared_state.database_threads import DatabaseThreads
from shared_state.outages import AWAY
from webserver.requests import WORKER
from webserver.streams import Stream
from webserver.worker import Worker

log = logging.getLogger(__name__)

PATH = "/priority/fates/stream"
# The name under which streams are counted, and allowed by a key's list of methods.
USAGE_NAME = "fatesStream"
POLICY = EndpointPolicy("priority", LANDING, key_required=True, error_format=ErrorFormat.WORD)
# Open at once: in one process, and of one key in all of them.
MOST_STREAMS = 2_000
MOST_OF_A_KEY = 20
MOST_SIGNATURES = 256

# Proxies give up on a connection that is silent for a minute, some for less.
_HEARTBEAT_SECONDS = 12.0
# A client that reads nothing for so long is gone, or too slow.
_WRITE_SECONDS = 20.0
_BUFFER_BYTES = 131_072
# How long a thread waits for the loop to open a stream.
_OPEN_SECONDS = 10.0
_FED_SECONDS = 2.0


class FateStream(ReadView):
    name = USAGE_NAME
    query = (
        Parameter("signature", Signature, "only these: one, several with commas, or repeated"),
        Parameter(
            "last_event_id",
            str,
            "begin behind this event: for clients that cannot send the header `Last-Event-ID`",
        ),
    )
    result = FateEvent
    errors = (TooManyStreams, StreamUnavailable, BadQuery)
    content_type = "text/event-stream"

    def get(self, request: EndpointRequest) -> HttpResponseBase:
        """Fates as they change, as server-sent events. The event `ready` comes first; then an event
        `fate` for each change of a submission of yours; `gap` if changes behind `Last-Event-ID`
        are not kept any more; `end` with a word when the stream is closed. A line with only a
        colon comes every 12 seconds.
        """
        place, signatures = _asked(request)
        worker: Worker | None = request.META.get(WORKER)
        if worker is None:
            raise StreamUnavailable  # another server than ours has called this view
        caller: Caller = request.user
        if caller.key_id is None:
            raise KeyRequired
        member = member_of(caller, request.sender, POLICY)
        try:
            streams = worker.call(_streams_of, worker).result(_OPEN_SECONDS)
            customer = streams.enter(member, caller.key_id)
            opening = worker.call(streams.open, worker, member, customer, place, signatures)
            try:
                opened, first, here = opening.result(_OPEN_SECONDS)
            except BaseException:
                opening.cancel()
                streams.members.leave(member)
                raise
        except (*AWAY, FutureTimeout) as error:
            log.warning("a stream could not be opened: %s", error)
            raise StreamUnavailable from None
        return EventStream(
            partial(_stream, opened.subscription, first, here),
            ended=partial(streams.close, opened),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """One open stream."""

    member: Member
    subscription: Subscription

    def end(self, why: str) -> None:
        self.subscription.end(why)


class Streams:
    """The open streams of this process, and their feed. Used on the worker's loop alone."""

    _all: "WeakKeyDictionary[Worker, Streams]" = WeakKeyDictionary()

    def __init__(self, redis_url: str) -> None:
        self.redis = redis_of(redis_url)
        # One thread, one connection to the database: there is little to read.
        self._threads = DatabaseThreads("fates", 1)
        self.in_thread = self._threads.run
        self.feed = FateFeed(self.redis, lambda key_ids: self.in_thread(customers_of, key_ids))
        self.members: OpenStreams[_Open] = OpenStreams(
            self.in_thread,
            name="fate-streams",
            usage_name=USAGE_NAME,
            unavailable=StreamUnavailable.reason,
        )
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    def of(cls, worker: Worker) -> "Streams":
        """The worker's streams; the first call creates them."""
        found = cls._all.get(worker)
        if found is None:
            found = cls._all[worker] = cls(settings.REDIS_URL)
        return found

    def enter(self, member: Member, key_id: int) -> int:
        """Counts one stream more, in a thread; the customer whose it is. Raises KeyUnknown,
        TooManyStreams, redis.RedisError and what the database raises.
        """
        customer = customers_of([key_id]).get(key_id)
        if customer is None:
            raise KeyUnknown
        if not self.members.take_place(member.holder, MOST_OF_A_KEY):
            raise TooManyStreams(MOST_OF_A_KEY)
        return customer

    async def open(
        self,
        worker: Worker,
        member: Member,
        customer: int,
        place: Place | None,
        signatures: list[Signature],
    ) -> tuple[_Open, bytes, Place]:
        """The stream, its first events, and the place after them. Raises StreamUnavailable,
        TooManyStreams, and what Redis and the database raise.
        """
        if len(self.members.all()) >= MOST_STREAMS:
            raise TooManyStreams(MOST_STREAMS)
        # Before anything is read: what happens meanwhile waits here.
        subscription, here = await self.subscribe(worker, customer, signatures)
        opened = _Open(member, subscription)
        self.members.add(opened)
        try:
            first, here = await self._beginning(opened, place, here, signatures)
        except BaseException:
            self._forget(opened)
            raise
        return opened, first, here

    async def subscribe(
        self, worker: Worker, customer: int, signatures: Iterable[Signature]
    ) -> tuple[Subscription, Place]:
        """A subscription to what happens from now on, and the place that this is behind. Raises
        StreamUnavailable.
        """
        await self._begin(worker)
        here = self.feed.place
        assert here is not None
        wanted = frozenset(bytes(each) for each in signatures)
        return self.feed.subscribe(customer, wanted), here

    def close(self, opened: _Open) -> None:
        """The stream is over."""
        self._forget(opened)
        self._threads.submit(self.members.leave, opened.member)

    def _forget(self, opened: _Open) -> None:
        self.members.discard(opened)
        self.feed.unsubscribe(opened.subscription)

    async def _begin(self, worker: Worker) -> None:
        """Starts the feed, and waits shortly until it is ready."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(work()) for work in (self.feed.run, self.members.watch)
            ]
            for task in self._tasks:
                task.add_done_callback(self._on_failure)
            worker.at_stop.append(self._stop)
        deadline = time.monotonic() + _FED_SECONDS
        while self.feed.place is None:
            if time.monotonic() > deadline:
                raise StreamUnavailable
            await asyncio.sleep(0.02)

    def _on_failure(self, task: "asyncio.Task[None]") -> None:
        """Without the reader no stream gets events: all end, and the next one starts it again."""
        if task.cancelled() or task.exception() is None:
            return
        log.critical("the stream of fates failed", exc_info=task.exception())
        self.feed.end_all("missed_some")
        self.feed.place = None
        for each in self._tasks:
            each.cancel()
        self._tasks = []

    async def _stop(self) -> None:
        self.feed.end_all("service_stops")
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.redis.aclose()
        self._threads.close()

    async def _beginning(
        self,
        opened: _Open,
        place: Place | None,
        here: Place,
        signatures: list[Signature],
    ) -> tuple[bytes, Place]:
        """The first events, and the place after them: what happened after the client's place; else
        the current fates of the signatures that it asked for.
        """
        chunks, key_id = [b"retry: 2000\n\n"], opened.member.key_id
        assert key_id is not None
        if place is not None:
            keys = await self.in_thread(keys_of_the_customer, key_id)
            history = await since(self.redis, keys, place)
            if not history.is_whole:
                missed = encode({"reason": "not_kept", "since": str(place)})
                chunks.append(event_text("gap", missed))
            chunks += [each.text for each in history.messages if opened.subscription.wants(each)]
            here = max([here, *(each.place for each in history.messages[-1:])])
        chunks.append(event_text("ready", b"{}", str(here)))
        if place is None and signatures:
            known = await self.in_thread(lookup.fates, signatures, key_id=key_id)
            chunks += [event_text("fate", encode(lookup.standing(each))) for each in known if each]
        return b"".join(chunks), here


async def _streams_of(worker: Worker) -> Streams:
    return Streams.of(worker)


async def _stream(subscription: Subscription, first: bytes, here: Place, stream: Stream) -> None:
    """Writes what comes, until the subscription ends or the client is gone."""
    stream.bound_buffer(_BUFFER_BYTES)
    try:
        async with asyncio.timeout(_WRITE_SECONDS):
            await stream.write(first)
        while True:
            taken: list[FateMessage] = await subscription.take(_HEARTBEAT_SECONDS)
            chunk = b"".join(each.text for each in taken if each.place > here)
            if not taken and subscription.ended:
                chunk = event_text("end", encode({"error": subscription.ended}))
            async with asyncio.timeout(_WRITE_SECONDS):
                await stream.write(chunk or b":\n\n")
            if not taken and subscription.ended:
                return
    except TimeoutError:
        stream.abort()


def _asked(request: EndpointRequest) -> tuple[Place | None, list[Signature]]:
    """The place after which the client wants events, and the signatures, empty: all."""
    query = request.query_params
    text = request.META.get("HTTP_LAST_EVENT_ID") or query.get("last_event_id")
    place = read_place(text) if text else None
    if text and place is None:
        raise BadQuery("Last-Event-ID", "the id of an event of this stream", text)
    texts = [text for each in query.getlist("signature") for text in each.split(",")]
    if len(texts) > MOST_SIGNATURES:
        raise BadQuery("signature", f"at most {MOST_SIGNATURES} signatures", str(len(texts)))
    signatures = []
    for text in texts:
        try:
            signatures.append(Signature.from_string(text))
        except ValueError:
            raise BadQuery("signature", "a signature in base58", text) from None
    return place, signatures
