"""A chain that is followed, and geyser.Geyser served of it, with grpcio's own client."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS
from tests.subscriptions.conftest import limited, localnet
from upstream.protobuf import geyser_pb2 as schema

__all__ = ["geyser", "limited", "localnet"]

_SERVICE = "/geyser.Geyser/"
Request = schema.SubscribeRequest


class Updates:
    """A call of Subscribe."""

    def __init__(self, call: Any, send: Callable[[Any], None]) -> None:
        self.call = call
        self.send = send

    def __iter__(self) -> Iterator[Any]:
        return (update for update in self.call if not update.HasField("ping"))

    def until(self, done: Callable[[Any], object]) -> list[Any]:
        """The updates up to the first that is `done`."""
        found = []
        for update in self:
            found.append(update)
            if done(update):
                return found
        raise AssertionError("the stream ended")

    def refusal(self) -> grpc.RpcError:
        with pytest.raises(grpc.RpcError) as found:
            for _ in self.call:
                pass
        return found.value


class Geyser:
    """A channel to the service, with a key."""

    def __init__(self, port: int, localnet: Localnet, key: str) -> None:
        self.port = port
        self.localnet = localnet
        self.key = key

    @contextmanager
    def channel(self, **options: Any) -> Iterator[Any]:
        pairs = [("grpc.max_receive_message_length", -1), *options.items()]
        with grpc.insecure_channel(f"127.0.0.1:{self.port}", options=pairs) as channel:
            yield channel

    def call(self, name: str, request: Any, *, key: str | None = "", **options: Any) -> Any:
        """The answer of a unary call."""
        response = getattr(schema, _RESPONSES.get(name, name + "Response"))
        with self.channel() as channel:
            multi = channel.unary_unary(
                _SERVICE + name,
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=response.FromString,
            )
            return multi(request, metadata=self._metadata(key), timeout=PATIENCE_SECONDS, **options)

    @contextmanager
    def subscribed(
        self, request: Any = None, *, key: str | None = "", channel: Any = None, **options: Any
    ) -> Iterator[Updates]:
        asked, more = [], threading.Condition()

        def send(message: Any) -> None:
            with more:
                asked.append(message)
                more.notify()

        def requests() -> Iterator[Any]:
            while True:
                with more:
                    more.wait_for(lambda: asked)
                    message = asked.pop(0)
                if message is None:
                    return
                yield message

        if request is not None:
            send(request)
        with grpc.insecure_channel(
            f"127.0.0.1:{self.port}", options=[("grpc.max_receive_message_length", -1)]
        ) as channel:
            multi = channel.stream_stream(
                _SERVICE + "Subscribe",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=schema.SubscribeUpdate.FromString,
            )
            call = multi(
                requests(), metadata=self._metadata(key), timeout=PATIENCE_SECONDS, **options
            )
            try:
                yield Updates(call, send)
            finally:
                send(None)
                call.cancel()

    def is_fed(self) -> bool:
        try:
            request = schema.GetSlotRequest(commitment=schema.CommitmentLevel.FINALIZED)
            return bool(self.call("GetSlot", request).slot)
        except grpc.RpcError:
            return False

    def _metadata(self, key: str | None) -> tuple[tuple[str, str], ...]:
        return () if key is None else (("x-token", key or self.key),)


_RESPONSES = {"Ping": "PongResponse"}


@contextmanager
def serving_geyser() -> Iterator[int]:
    """The port on which geyser.Geyser is served."""
    from yellowstone.server import serve

    loop = asyncio.new_event_loop()
    failures: list[Any] = []
    loop.set_exception_handler(lambda _loop, context: failures.append(context))
    ready: list[int] = []
    started, stopping = threading.Event(), asyncio.Event()

    async def run() -> None:
        async with serve("127.0.0.1", 0, version="4.3.0") as port:
            ready.append(port)
            started.set()
            await stopping.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    try:
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
        loop.close()
    assert not failures


@pytest.fixture
def geyser(
    transactional_db: None, empty_redis: None, localnet: Localnet, api_key: str, settings: Any
) -> Iterator[Geyser]:
    """The service follows the localnet, entries too."""
    settings.FOLLOW_ENTRIES = True
    from tests.ingest.following import caught_up, follower, worker
    from tests.patience import wait

    with worker(), follower(localnet.geyser_url, localnet.url), serving_geyser() as port:
        caught_up(localnet)
        served = Geyser(port, localnet, api_key)
        wait(served.is_fed, "hearing of the chain")
        yield served
