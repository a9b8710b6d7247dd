"""A Geyser service on a feed of a test's own, and a raw gRPC client of it."""

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import grpc
from solders.hash import Hash

from chain.commitment import Commitment
from chain.units import Slot
from localnet.faults import Faults
from localnet.feed import ChainEvent, Feed
from localnet.servers import geyser
from tests.patience import PATIENCE_SECONDS as PATIENCE
from upstream.protobuf import geyser_pb2 as schema


@dataclass
class Block:
    slot: Slot
    block_height: int
    blockhash: Hash
    last_valid_block_height: int

    def accepts(self, blockhash: Hash) -> bool:
        return blockhash == self.blockhash


@dataclass
class Chain:
    """Where a chain stands that is not made but told."""

    blocks: dict[Commitment, Block] = field(default_factory=dict)

    def latest(self, commitment: Commitment) -> Block:
        return self.blocks[commitment]


class Service:
    """`serve` in a loop of its own thread, on a free port."""

    def __init__(self, port: int = 0, **options: Any) -> None:
        self.faults = Faults()
        self.chain = Chain()
        self.feed = Feed(self.faults)
        self.port = port
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = self._run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def publish(self, *happenings: ChainEvent) -> None:
        async def publish() -> None:
            for happening in happenings:
                self.feed.publish(happening)

        self._run(publish())

    def deliver(self, *happenings: ChainEvent, until: threading.Event) -> threading.Event:
        """Publishes and delivers these, as the chain does; then the loop does nothing else `until`
        it may. Returns an event: whether that came.
        """
        came = threading.Event()

        def run() -> None:
            for happening in happenings:
                self.feed.publish(happening)
            self.feed.deliver()
            if until.wait(PATIENCE):
                came.set()

        self._loop.call_soon_threadsafe(run)
        return came

    async def _start(self) -> int:
        served = geyser.serve(
            self.chain, self.feed, self.faults, "127.0.0.1", self.port, **self._options
        )
        return await self._stack.enter_async_context(served)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)


class Client:
    """One stream: what was asked, and what came."""

    def __init__(self, port: int, metadata: Any = None) -> None:
        options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=options)
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._pings = 0
        call = self.channel.stream_stream(
            "/geyser.Geyser/Subscribe",
            request_serializer=schema.SubscribeRequest.SerializeToString,
            response_deserializer=schema.SubscribeUpdate.FromString,
        )
        self.updates = call(iter(self._requests.get, None), metadata=metadata, timeout=PATIENCE)

    def ask(self, request: Any) -> None:
        """Send the request, and wait until it holds. A slot of the running chain may come
        meanwhile; nothing has been written that would.
        """
        self._requests.put(request)
        came = {each.WhichOneof("update_oneof") for each in self.rest()}
        assert came <= {"slot", "block_meta", "block", "entry"}

    def send(self, request: Any) -> None:
        """Send the request alone."""
        self._requests.put(request)

    def done_asking(self) -> None:
        self._requests.put(None)

    def rest(self) -> list[Any]:
        """All updates for what happened before now."""
        self._pings += 1
        self._requests.put(schema.SubscribeRequest(ping={"id": self._pings}))
        found = []
        for update in self.updates:
            if update.WhichOneof("update_oneof") == "pong":
                assert update.pong.id == self._pings
                return found
            found.append(update)
        raise AssertionError("the stream ended without a pong")

    def end(self) -> tuple[grpc.StatusCode, str]:
        """How the stream ends."""
        try:
            for _ in self.updates:
                pass
        except grpc.RpcError as error:
            return error.code(), error.details()
        return grpc.StatusCode.OK, ""

    def close(self) -> None:
        self._requests.put(None)
        self.updates.cancel()
        self.channel.close()


@contextmanager
def client_of(service: Service, request: Any = None, metadata: Any = None) -> Iterator[Client]:
    """A stream of this service that asked for this."""
    client = Client(service.port, metadata)
    try:
        if request is not None:
            client.ask(request)
        yield client
    finally:
        client.close()


def call(port: int, method: str, request: Any, answer: Any, metadata: Any = None) -> Any:
    """The answer of a unary call."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        unary = channel.unary_unary(
            f"/geyser.Geyser/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return unary(request, metadata=metadata, timeout=PATIENCE)
