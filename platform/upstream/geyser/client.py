"""One Geyser stream: everything that a validator does, as it does it."""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import grpc

from chain.units import Slot
from upstream.geyser import schema
from upstream.geyser.errors import (
    FromSlotTooOld,
    Lagged,
    StreamError,
    StreamRefused,
    Unreachable,
)
from upstream.geyser.updates import BadUpdate, Ping, Update, update_of

_CONNECT_SECONDS = 10.0
# Servers ping every 10 or 15 s: after this much silence nobody is there.
_SILENCE_SECONDS = 60.0
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # Our own loop reconnects, and decides when.
    ("grpc.enable_retries", 0),
]
_FIRST_AVAILABLE = re.compile(r"last available: (\d+)")


class GeyserStream:
    """A subscription to every account write, transaction, block and slot status, votes included:
    a block without its votes is no block. Use it as a context manager, iterate over it once;
    iterating raises a StreamError in the end.
    """

    def __init__(self, url: str, *, token: str = "", from_slot: Slot | None = None) -> None:
        self._channel = _channel(url)
        self._requests: SimpleQueue[Any] = SimpleQueue()
        self._requests.put(subscription(from_slot))
        subscribe = self._channel.stream_stream(
            f"/{schema.SERVICE}/Subscribe",
            request_serializer=schema.SubscribeRequest.SerializeToString,
        )
        metadata = (("x-token", token),) if token else ()
        self._call = subscribe(iter(self._requests.get, None), metadata=metadata)
        self._heard_at = time.monotonic()
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="geyser-watch", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the stream, from whatever thread."""
        self._closed.set()
        self._requests.put(None)
        self._call.cancel()
        self._channel.close()

    def __iter__(self) -> Iterator[Update]:
        try:
            for packed in self._call:
                self._heard_at = time.monotonic()
                update = update_of(packed)
                if update is None:
                    continue
                if isinstance(update, Ping):
                    self._requests.put(_pong())
                    continue
                yield update
        except grpc.RpcError as error:
            raise self._error(error) from None
        except BadUpdate as error:
            raise StreamRefused(f"the stream is not of the protocol: {error}") from None
        raise Unreachable("the server ended the stream")

    def _watch(self) -> None:
        """Ends a stream in which nothing comes: a read would wait for ever."""
        while not self._closed.wait(_SILENCE_SECONDS / 12):
            if time.monotonic() - self._heard_at > _SILENCE_SECONDS:
                self._call.cancel()
                return

    def _error(self, error: grpc.RpcError) -> StreamError:
        code, text = error.code(), (error.details() or "").strip()
        if code == grpc.StatusCode.CANCELLED and not self._closed.is_set():
            return Unreachable(f"nothing came for {_SILENCE_SECONDS:.0f} s")
        return stream_error(code, text)


def first_available(url: str, *, token: str = "") -> Slot | None:
    """The oldest slot that a stream can begin with; None where the server keeps none or does not
    say. Raises a StreamError.
    """
    with contextlib.closing(_channel(url)) as channel:
        ask = channel.unary_unary(
            f"/{schema.SERVICE}/SubscribeReplayInfo",
            request_serializer=schema.SubscribeReplayInfoRequest.SerializeToString,
            response_deserializer=schema.SubscribeReplayInfoResponse.FromString,
        )
        metadata = (("x-token", token),) if token else ()
        try:
            answer = ask(
                schema.SubscribeReplayInfoRequest(), timeout=_CONNECT_SECONDS, metadata=metadata
            )
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                return None
            raise stream_error(error.code(), (error.details() or "").strip()) from None
    return Slot(answer.first_available) if answer.HasField("first_available") else None


def subscription(from_slot: Slot | None) -> Any:
    """The request for everything, at processed: no other commitment carries every write."""
    request = schema.SubscribeRequest(commitment=schema.CommitmentLevel.PROCESSED)
    request.accounts["a"].SetInParent()
    request.transactions["t"].SetInParent()
    request.blocks_meta["b"].SetInParent()
    request.slots["s"].interslot_updates = True
    if from_slot is not None:
        request.from_slot = from_slot
    return request


def _pong() -> Any:
    """The answer to the server's ping: a request of nothing but one of our own."""
    request = schema.SubscribeRequest()
    request.ping.id = 1
    return request


def stream_error(code: grpc.StatusCode, text: str) -> StreamError:
    """What a server's status means for who reads its stream."""
    told = f"{code.name}: {text}" if text else code.name
    match code:
        case grpc.StatusCode.OUT_OF_RANGE:
            found = _FIRST_AVAILABLE.search(text)
            return FromSlotTooOld(told, Slot(int(found[1])) if found else None)
        case grpc.StatusCode.INTERNAL if "lagged" in text.lower():
            return Lagged(told)
        case grpc.StatusCode.INTERNAL if "from_slot" in text:
            return FromSlotTooOld(told, None)
        case grpc.StatusCode.RESOURCE_EXHAUSTED | grpc.StatusCode.DATA_LOSS:
            return Lagged(told)
        case (
            grpc.StatusCode.UNAUTHENTICATED
            | grpc.StatusCode.PERMISSION_DENIED
            | grpc.StatusCode.INVALID_ARGUMENT
            | grpc.StatusCode.UNIMPLEMENTED
            | grpc.StatusCode.NOT_FOUND
        ):
            return StreamRefused(told)
    return Unreachable(told)


def _channel(url: str) -> grpc.Channel:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    target = f"{parts.hostname}:{parts.port or (443 if secure else 80)}"
    if ":" in (parts.hostname or ""):
        target = f"[{parts.hostname}]:{parts.port or (443 if secure else 80)}"
    if secure:
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(), _OPTIONS)
    return grpc.insecure_channel(target, _OPTIONS)
