"""What a lander under measure sends to: a node, an engine and a leader that take everything."""

import asyncio
import base64
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, cast

import uvloop
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from solders.keypair import Keypair

from upstream.tpu_certificate import tls_identity

_TIP_ACCOUNTS = [str(Keypair().pubkey()) for _ in range(8)]
_LEADER = Keypair()


@dataclass
class Arrivals:
    """When the first byte of each transaction was read, in Unix seconds, at any of the sinks."""

    first: dict[bytes, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def note(self, sink: str, wire: bytes, at: float) -> None:
        self.first.setdefault(wire, at)
        self.counts[sink] = self.counts.get(sink, 0) + 1


class Sinks:
    """All three, in a process of their own: node and engine at `url`, the leader by QUIC."""

    def __init__(self, told: Connection) -> None:
        self._told = told
        self.url = f"http://127.0.0.1:{told.recv()}"

    def arrivals(self) -> Arrivals:
        """What came since the last call."""
        self._told.send("arrivals")
        found: Arrivals = self._told.recv()
        return found


@contextmanager
def sinks() -> Iterator[Sinks]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_sink, args=(theirs,), daemon=True)
    process.start()
    try:
        yield Sinks(ours)
    finally:
        ours.send(None)
        process.join()


def _sink(told: Connection) -> None:
    uvloop.run(_take_everything(told))


class _HttpSink(asyncio.Protocol):
    """The node, and at its path the block engine."""

    def __init__(self, arrivals: Arrivals, quic_port: int) -> None:
        self._arrivals = arrivals
        self._quic_port = quic_port
        self._received = b""
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's are none of asyncio's class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._received:
            self._began = time.time()
        self._received += data
        while True:
            head, end, body = self._received.partition(b"\r\n\r\n")
            length = int(head.lower().rpartition(b"content-length: ")[2] or b"0") if end else 0
            if not end or len(body) < length:
                return
            self._received = body[length:]
            answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": self._result(body[:length])})
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer.encode()
            )

    def _result(self, body: bytes) -> Any:
        call = json.loads(body)
        params = call.get("params") or []
        match call["method"]:
            case "sendTransaction":
                self._arrivals.note("node", base64.b64decode(params[0]), self._began)
                return "taken"
            case "sendBundle":
                self._arrivals.note("engine", base64.b64decode(params[0][0]), self._began)
                return "taken"
            case "getTipAccounts":
                return _TIP_ACCOUNTS
            case "getGenesisHash":
                return "11111111111111111111111111111111"
            case "getSlotLeaders":
                return [str(_LEADER.pubkey())] * params[1]
            case "getClusterNodes":
                address = f"127.0.0.1:{self._quic_port}"
                return [{"pubkey": str(_LEADER.pubkey()), "tpuQuic": address}]
            case "getBalance":
                return {"context": {"slot": 1}, "value": 10**15}
        return 1


class _QuicSink(QuicConnectionProtocol):
    def __init__(self, arrivals: Arrivals, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._arrivals = arrivals

    def quic_event_received(self, event: QuicEvent) -> None:
        # A small transaction is one frame of one datagram.
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._arrivals.note("leader", event.data, time.time())


async def _take_everything(told: Connection) -> None:
    loop = asyncio.get_running_loop()
    arrivals = Arrivals()
    certificate, key = tls_identity(_LEADER)
    leader = await serve(
        "127.0.0.1",
        0,
        configuration=QuicConfiguration(
            is_client=False,
            alpn_protocols=["solana-tpu"],
            certificate=certificate,
            private_key=key,
        ),
        create_protocol=partial(_QuicSink, arrivals),
    )
    assert leader._transport is not None
    quic_port = leader._transport.get_extra_info("sockname")[1]
    server = await loop.create_server(lambda: _HttpSink(arrivals, quic_port), "127.0.0.1", 0)
    told.send(server.sockets[0].getsockname()[1])
    ended = asyncio.Event()

    def asked() -> None:
        if told.recv() is None:
            ended.set()
            return
        os.set_blocking(told.fileno(), True)  # uvloop made it not so
        told.send(arrivals)
        arrivals.first, arrivals.counts = {}, {}

    loop.add_reader(told.fileno(), asked)
    await ended.wait()
    leader.close()
    server.close()
