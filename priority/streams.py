"""GET /priority/fates/stream: fates as they come about, by server-sent events.

A process of its own serves it, so that no thread of the web's waits for something to happen.
"""

import asyncio
import logging
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from aiohttp import web
from django.db import close_old_connections, connection
from solders.signature import Signature

from access import usage
from access.outages import AWAY
from gateway.addresses import client_address
from gateway.authentication import key_of
from gateway.hosts import LANDING, host_of
from gateway.permissions import require_served
from gateway.refusals import HostUnknown, NotAllowed, PathNotServed, body_of, headers_of, status_of
from gateway.request_ids import request_id
from gateway.terms import Face, Terms
from jsonrpc.errors import InternalError, RpcError
from jsonrpc.wire import encode
from priority.errors import BadQuery, StreamUnavailable, TooManyStreams
from priority.services import fates, stream_guests
from priority.services.fate_events import Place, Told, event_text, read_place, since
from priority.services.fate_feed import FateFeed, Subscription, redis_of
from priority.services.stream_guests import Guest
from priority.services.stream_tickets import PARAMETER
from priority.store.fates import customers_of, keys_of_the_customer

log = logging.getLogger(__name__)

PATH = "/priority/fates/stream"
TERMS = Terms("priority", LANDING, key_required=True, face=Face.WORD)
# Open at once: in this process, and of one key.
MOST_STREAMS = 2_000
MOST_OF_A_KEY = 20
MOST_SIGNATURES = 256

# Proxies give up on a connection that is silent for a minute, some for less.
_HEARTBEAT_SECONDS = 12.0
_LOOK_AGAIN_SECONDS = 1.0
# A key that could not be looked at for so long does not count as good any more.
_TRUSTED_SECONDS = 60.0
# A client that takes nothing for so long is not there, or too slow.
_WRITE_SECONDS = 20.0
_BUFFER_BYTES = 131_072
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "X-Request-Id, Retry-After",
}
_PREFLIGHT = {
    **_CORS,
    "Allow": "GET, OPTIONS",
    "Access-Control-Allow-Methods": "GET, OPTIONS",
    "Access-Control-Allow-Headers": "authorization, cache-control, last-event-id, x-request-id",
    "Access-Control-Max-Age": "86400",
}

T = TypeVar("T")


class Streams:
    """The open streams of this process, and what feeds them."""

    def __init__(self, redis_url: str) -> None:
        self.redis = redis_of(redis_url)
        self.feed = FateFeed(self.redis, lambda key_ids: self.in_thread(customers_of, key_ids))
        self.guests: dict[Guest, Subscription] = {}
        self.of_key: Counter[int] = Counter()
        # One thread, one connection to the database: what is asked of it is little.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fates")

    async def in_thread(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """What the function answers, in a thread that may ask the database."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, lambda: _with_database(function, *args, **options)
        )

    async def look_again(self) -> None:
        """Until it is cancelled: ends the streams of keys that are not good any more."""
        looked_at = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            try:
                refused = await self.in_thread(
                    stream_guests.turned_away,
                    [*self.guests],
                    terms=TERMS,
                    now=datetime.now(UTC),
                )
                looked_at = time.monotonic()
            except AWAY:
                if time.monotonic() - looked_at > _TRUSTED_SECONDS:
                    self.feed.end_all(StreamUnavailable.reason)
                continue
            for guest, refusal in refused:
                if guest in self.guests:
                    self.guests[guest].end(refusal.reason)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(work()) for work in (self.feed.run, self.look_again)]
        for task in tasks:
            task.add_done_callback(_die_aloud)
        try:
            yield
        finally:
            self.feed.end_all("service_stops")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.redis.aclose()
            self._thread.submit(lambda: connection.close())  # that of its own
            self._thread.shutdown(wait=False)


@asynccontextmanager
async def serve(host: str, port: int, *, redis_url: str) -> AsyncIterator[int]:
    """Listens while inside, and gives the port, which port 0 leaves open; OSError where it is
    taken. Afterwards every stream is told that it ends.
    """
    streams = Streams(redis_url)

    async def answer(request: web.Request) -> web.StreamResponse:
        return await _answer(streams, request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(
        application, access_log=None, shutdown_timeout=2.0, handler_cancellation=True
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, reuse_address=True, backlog=1_024).start()
        async with streams.running():
            yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def _answer(streams: Streams, request: web.Request) -> web.StreamResponse:
    identity = request_id(request.headers.get("X-Request-Id"))
    key_id: int | None = None
    meta = _meta(request)
    try:
        if request.path == "/healthz":
            return web.json_response(
                {"fed": streams.feed.place is not None, "streams": len(streams.guests)}
            )
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=_PREFLIGHT)
        guest = await _let_in(streams, request, meta)
        key_id = guest.key_id
        place, signatures = _asked(request)
        _count(guest.key_id, "ok", guest.address)
        return await _stream(streams, request, guest, place, signatures, identity)
    except RpcError as error:
        refusal = error
    except AWAY as error:
        log.warning("a stream could not be opened: %s", error)
        refusal = StreamUnavailable()
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("request %s failed", identity)
        refusal = InternalError()
    _count(getattr(refusal, "key_id", None) or key_id, refusal.reason, client_address(meta))
    content_type, body = body_of(refusal, Face.WORD)
    return web.Response(
        body=body,
        status=status_of(refusal),
        content_type=content_type,
        headers={**_CORS, **headers_of(refusal), "X-Request-Id": identity},
    )


async def _let_in(streams: Streams, request: web.Request, meta: dict[str, Any]) -> Guest:
    host = host_of(request.host)
    if host is None:
        raise HostUnknown
    if request.path != PATH:
        raise PathNotServed(host.label or request.host[:100], request.path)
    require_served(host, TERMS, request.path)
    if request.method != "GET":
        raise NotAllowed(request.method, "GET")
    if len(streams.guests) >= MOST_STREAMS:
        raise TooManyStreams(MOST_STREAMS)
    # A ticket stands for the key of a header, which wins over the query's.
    ticket = None if "HTTP_AUTHORIZATION" in meta else request.query.get(PARAMETER)
    guest = await streams.in_thread(
        stream_guests.let_in,
        secret=key_of(meta) if ticket is None else None,
        ticket=ticket,
        host=host,
        address=client_address(meta),
        terms=TERMS,
        now=datetime.now(UTC),
    )
    if streams.of_key[guest.key_id] >= MOST_OF_A_KEY:
        raise TooManyStreams(MOST_OF_A_KEY)
    if streams.feed.place is None:
        raise StreamUnavailable
    return guest


def _asked(request: web.Request) -> tuple[Place | None, list[Signature]]:
    """Behind which place the client wants to be told, and of which signatures, empty: of all."""
    text = request.headers.get("Last-Event-ID") or request.query.get("last_event_id")
    place = read_place(text) if text else None
    if text and place is None:
        raise BadQuery("Last-Event-ID", "the id of an event of this stream", text)
    texts = [text for each in request.query.getall("signature", []) for text in each.split(",")]
    if len(texts) > MOST_SIGNATURES:
        raise BadQuery("signature", f"at most {MOST_SIGNATURES} signatures", str(len(texts)))
    signatures = []
    for text in texts:
        try:
            signatures.append(Signature.from_string(text))
        except ValueError:
            raise BadQuery("signature", "a signature in base58", text) from None
    return place, signatures


async def _stream(
    streams: Streams,
    request: web.Request,
    guest: Guest,
    place: Place | None,
    signatures: list[Signature],
    identity: str,
) -> web.StreamResponse:
    # Before anything is read: what happens meanwhile waits here.
    wanted = frozenset(bytes(each) for each in signatures)
    here = streams.feed.place
    subscription = streams.feed.subscribe(guest.customer, wanted)
    streams.guests[guest] = subscription
    streams.of_key[guest.key_id] += 1
    try:
        first, here = await _beginning(streams, guest, place, here, signatures, subscription)
        response = web.StreamResponse(
            headers={
                **_CORS,
                "Content-Type": "text/event-stream; charset=utf-8",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",  # nginx would hold events back
                "X-Request-Id": identity,
            }
        )
        await response.prepare(request)
        _bound_buffer(request)
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                await response.write(first)
            await _go_on(response, subscription, here)
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        return response
    finally:
        del streams.guests[guest]
        streams.of_key[guest.key_id] -= 1
        if not streams.of_key[guest.key_id]:
            del streams.of_key[guest.key_id]
        streams.feed.unsubscribe(subscription)


async def _beginning(
    streams: Streams,
    guest: Guest,
    place: Place | None,
    here: Place | None,
    signatures: list[Signature],
    subscription: Subscription,
) -> tuple[bytes, Place]:
    """The first events, and up to which place they tell: what happened behind the client's place;
    else how it stands with the signatures that it asked for.
    """
    assert here is not None
    chunks = [b"retry: 2000\n\n"]
    if place is not None:
        keys = await streams.in_thread(keys_of_the_customer, guest.key_id)
        history = await since(streams.redis, keys, place)
        if not history.is_whole:
            chunks.append(event_text("gap", encode({"reason": "not_kept", "since": str(place)})))
        chunks += [each.text for each in history.told if subscription.wants(each)]
        here = max([here, *(each.place for each in history.told[-1:])])
    chunks.append(event_text("ready", b"{}", str(here)))
    if place is None and signatures:
        known = await streams.in_thread(fates.fates, signatures, key_id=guest.key_id)
        chunks += [event_text("fate", encode(fates.standing(each))) for each in known if each]
    return b"".join(chunks), here


async def _go_on(response: web.StreamResponse, subscription: Subscription, here: Place) -> None:
    """Writes what comes, until the subscription ends or the client is gone."""
    while True:
        taken: list[Told] = await subscription.take(_HEARTBEAT_SECONDS)
        chunk = b"".join(each.text for each in taken if each.place > here)
        if not taken and subscription.ended:
            chunk = event_text("end", encode({"error": subscription.ended}))
        async with asyncio.timeout(_WRITE_SECONDS):
            await response.write(chunk or b":\n\n")
        if not taken and subscription.ended:
            return


def _bound_buffer(request: web.Request) -> None:
    """The system would take megabytes for a client that does not read."""
    connection = None if request.transport is None else request.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)


def _meta(request: web.Request) -> dict[str, Any]:
    """What the gateway reads of a request, by the names that it knows."""
    meta: dict[str, Any] = {
        "PATH_INFO": request.path,
        "QUERY_STRING": request.rel_url.raw_query_string,
        "REMOTE_ADDR": request.remote or "",
    }
    authorization = request.headers.get("Authorization")
    if authorization is not None:
        # As from a WSGI server: one that is not ASCII is a key, and a bad one.
        meta["HTTP_AUTHORIZATION"] = authorization if authorization.isascii() else ""
    forwarded = request.headers.getall("X-Forwarded-For", [])
    if forwarded:
        meta["HTTP_X_FORWARDED_FOR"] = ",".join(forwarded)
    return meta


def _count(key_id: int | None, status: str, address: str) -> None:
    usage.count(
        key_id,
        stream_guests.USAGE_NAME,
        status,
        seconds=time.time(),
        microseconds=0,
        address=address,
    )


def _with_database(function: Callable[..., T], *args: Any, **options: Any) -> T:
    close_old_connections()
    try:
        return function(*args, **options)
    except AWAY:
        with suppress(Exception):
            connection.close()
        raise


def _die_aloud(task: "asyncio.Task[None]") -> None:
    """A process that reads no fates any more is of no use: its supervisor starts another."""
    if not task.cancelled() and task.exception() is not None:
        log.critical("the stream of fates fell", exc_info=task.exception())
        asyncio.get_running_loop().stop()
