"""GET /priority/fates/stream: changes of fates as server-sent events.

The view admits a caller in a thread like every other request; the stream runs on the web
server's event loop, so that an open stream holds no thread.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import close_old_connections, connection
from django.http.response import HttpResponseBase
from solders.signature import Signature

from gateway.declarations import Parameter
from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.hosts import LANDING
from gateway.views import EndpointRequest, EventStream, ReadView
from jsonrpc.wire import encode
from priority.errors import BadQuery
from priority.fates.errors import StreamUnavailable, TooManyStreams
from priority.fates.results import FateEvent
from priority.fates.services import lookup, subscribers
from priority.fates.services.events import FateMessage, Place, event_text, read_place, since
from priority.fates.services.feed import FateFeed, Subscription, redis_of
from priority.fates.services.subscribers import Listener
from priority.fates.store.fates import customers_of, keys_of_the_customer
from shared_state.outages import AWAY
from webserver.requests import WORKER
from webserver.streams import Stream
from webserver.worker import Worker

log = logging.getLogger(__name__)

PATH = "/priority/fates/stream"
POLICY = EndpointPolicy("priority", LANDING, key_required=True, error_format=ErrorFormat.WORD)
# Open at once: in one process, and of one key in all of them.
MOST_STREAMS = 2_000
MOST_OF_A_KEY = 20
MOST_SIGNATURES = 256

# Proxies give up on a connection that is silent for a minute, some for less.
_HEARTBEAT_SECONDS = 12.0
_LOOK_AGAIN_SECONDS = 0.8
# A key that could not be checked for so long is no longer trusted.
_TRUSTED_SECONDS = 60.0
# A client that reads nothing for so long is gone, or too slow.
_WRITE_SECONDS = 20.0
_BUFFER_BYTES = 131_072
# How long a thread waits for the loop to open a stream.
_OPEN_SECONDS = 10.0
_FED_SECONDS = 2.0

T = TypeVar("T")


class FateStream(ReadView):
    name = subscribers.USAGE_NAME
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
        try:
            listener = subscribers.listener(request, most_of_key=MOST_OF_A_KEY)
            try:
                opened = worker.call(Streams.open, worker, listener, place, signatures)
                subscription, first, here = opened.result(_OPEN_SECONDS)
            except BaseException:
                subscribers.leave(listener)
                raise
        except (*AWAY, FutureTimeout) as error:
            log.warning("a stream could not be opened: %s", error)
            raise StreamUnavailable from None
        streams = Streams.of(worker)
        return EventStream(
            partial(_stream, subscription, first, here),
            ended=partial(streams.close, listener),
        )


class Streams:
    """The open streams of this process, and their feed. Used on the worker's loop alone."""

    _all: "WeakKeyDictionary[Worker, Streams]" = WeakKeyDictionary()

    def __init__(self, redis_url: str) -> None:
        self.redis = redis_of(redis_url)
        self.feed = FateFeed(self.redis, lambda key_ids: self.in_thread(customers_of, key_ids))
        self.listeners: dict[Listener, Subscription] = {}
        self._tasks: list[asyncio.Task[None]] = []
        # One thread, one connection to the database: there is little to read.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fates")

    @classmethod
    def of(cls, worker: Worker) -> "Streams":
        """The worker's streams; the first call creates them."""
        found = cls._all.get(worker)
        if found is None:
            found = cls._all[worker] = cls(settings.REDIS_URL)
        return found

    @classmethod
    async def open(
        cls,
        worker: Worker,
        listener: Listener,
        place: Place | None,
        signatures: list[Signature],
    ) -> tuple[Subscription, bytes, Place]:
        """The subscription, its first events, and the place after them. Raises
        StreamUnavailable, TooManyStreams, and what Redis and the database raise.
        """
        streams = cls.of(worker)
        if len(streams.listeners) >= MOST_STREAMS:
            raise TooManyStreams(MOST_STREAMS)
        # Before anything is read: what happens meanwhile waits here.
        subscription, here = await streams.subscribe(worker, listener.customer, signatures)
        streams.listeners[listener] = subscription
        try:
            first, here = await streams._beginning(listener, place, here, signatures, subscription)
        except BaseException:
            streams._forget(listener)
            raise
        return subscription, first, here

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

    def close(self, listener: Listener) -> None:
        """The stream is over."""
        self._forget(listener)
        self._thread.submit(subscribers.leave, listener)

    async def in_thread(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """The function's result, from a thread that may use the database."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, lambda: _with_database(function, *args, **options)
        )

    def _forget(self, listener: Listener) -> None:
        subscription = self.listeners.pop(listener, None)
        if subscription is not None:
            self.feed.unsubscribe(subscription)

    async def _begin(self, worker: Worker) -> None:
        """Starts the feed, and waits shortly until it is ready."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(work()) for work in (self.feed.run, self._look_again)
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

    async def _look_again(self) -> None:
        """Until it is cancelled: ends the streams of keys that are not good any more."""
        looked_at = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            if not self.listeners:
                looked_at = time.monotonic()
                continue
            try:
                refused = await self.in_thread(
                    subscribers.turned_away,
                    [*self.listeners],
                    policy=POLICY,
                    now=datetime.now(UTC),
                )
                looked_at = time.monotonic()
            except AWAY:
                if time.monotonic() - looked_at > _TRUSTED_SECONDS:
                    self.feed.end_all(StreamUnavailable.reason)
                continue
            for listener, refusal in refused:
                if listener in self.listeners:
                    self.listeners[listener].end(refusal.reason)

    async def _stop(self) -> None:
        self.feed.end_all("service_stops")
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.redis.aclose()
        self._thread.submit(lambda: connection.close())  # that of its own
        self._thread.shutdown(wait=False)

    async def _beginning(
        self,
        listener: Listener,
        place: Place | None,
        here: Place,
        signatures: list[Signature],
        subscription: Subscription,
    ) -> tuple[bytes, Place]:
        """The first events, and the place after them: what happened after the client's place; else
        the current fates of the signatures that it asked for.
        """
        chunks = [b"retry: 2000\n\n"]
        if place is not None:
            keys = await self.in_thread(keys_of_the_customer, listener.key_id)
            history = await since(self.redis, keys, place)
            if not history.is_whole:
                missed = encode({"reason": "not_kept", "since": str(place)})
                chunks.append(event_text("gap", missed))
            chunks += [each.text for each in history.messages if subscription.wants(each)]
            here = max([here, *(each.place for each in history.messages[-1:])])
        chunks.append(event_text("ready", b"{}", str(here)))
        if place is None and signatures:
            known = await self.in_thread(lookup.fates, signatures, key_id=listener.key_id)
            chunks += [event_text("fate", encode(lookup.standing(each))) for each in known if each]
        return b"".join(chunks), here


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


def _with_database(function: Callable[..., T], *args: Any, **options: Any) -> T:
    close_old_connections()
    try:
        return function(*args, **options)
    except AWAY:
        with suppress(Exception):
            connection.close()
        raise
