"""The TPU port: transactions over QUIC, one on each stream, as a leader takes them."""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import NetworkAddress, QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated,
    HandshakeCompleted,
    QuicEvent,
    StreamDataReceived,
    StreamReset,
)
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.transaction_limits import MOST_BYTES
from chain.transactions import BadTransaction
from localnet.faults import Faults
from localnet.ledger import QueueFull
from localnet.submissions import SignatureFailure
from upstream.tpu_certificate import pubkey_of, tls_identity

ALPN = "solana-tpu"
# The leader's close codes.
DISALLOWED = 2
TOO_MANY = 4
INVALID_STREAM = 5

_MOST_STREAMS = 128
_MOST_CONNECTIONS = 8
_CHUNK_SECONDS = 2.0
_IDLE_SECONDS = 30.0
_RECEIVE_BUFFER = 8 * 1_048_576


class Ledger(Protocol):
    """What a transaction is handed to."""

    def submit(self, wire: bytes) -> Signature: ...


@dataclass(slots=True)
class Tpu:
    """The open port, and what came in: `counts` of accepted, garbage, unsigned, overflowing,
    oversized and half_sent streams, and by whom: the identities of peers that showed one.
    """

    port: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    by_identity: Counter[Pubkey] = field(default_factory=Counter)


@asynccontextmanager
async def serve(
    ledger: Ledger,
    faults: Faults,
    host: str,
    port: int,
    *,
    identity: Keypair | None = None,
    chunk_seconds: float = _CHUNK_SECONDS,
) -> AsyncIterator[Tpu]:
    """The port while inside, UDP; `identity` is the leader's. OSError if the address is taken. A
    stream that goes on for `chunk_seconds` without data is dropped.
    """
    tpu = Tpu()
    certificate, key = tls_identity(identity or Keypair())
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=[ALPN],
        certificate=certificate,
        private_key=key,
        idle_timeout=_IDLE_SECONDS,
        # A stream may send more than a transaction, so that it is refused instead of stuck.
        max_stream_data=2 * MOST_BYTES,
    )
    receiver = _Receiver(ledger, faults, tpu, chunk_seconds)
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        partial(
            QuicServer, configuration=configuration, create_protocol=partial(_Connection, receiver)
        ),
        local_addr=(host, port),
    )
    transport.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER
    )
    tpu.port = transport.get_extra_info("sockname")[1]
    try:
        yield tpu
    finally:
        server.close()


class _Receiver:
    """What all connections share."""

    def __init__(self, ledger: Ledger, faults: Faults, tpu: Tpu, chunk_seconds: float) -> None:
        self.faults = faults
        self.chunk_seconds = chunk_seconds
        self.counts = tpu.counts
        self.connections: Counter[Pubkey | str] = Counter()
        self._by_identity = tpu.by_identity
        self._ledger = ledger

    def take(self, wire: bytes, identity: Pubkey | None) -> None:
        """Submits a transaction; invalid bytes are counted and dropped, without a reply."""
        try:
            self._ledger.submit(wire)
        except BadTransaction:
            self.counts["garbage"] += 1
        except SignatureFailure:
            self.counts["unsigned"] += 1
        except QueueFull:
            self.counts["overflowing"] += 1
        else:
            self.counts["accepted"] += 1
            if identity is not None:
                self._by_identity[identity] += 1


class _Connection(QuicConnectionProtocol):
    """One peer: its half-received transactions, by stream."""

    def __init__(
        self, receiver: _Receiver, quic: QuicConnection, stream_handler: Any = None
    ) -> None:
        super().__init__(quic, stream_handler)
        self._connection = quic
        self._clock = asyncio.get_running_loop()
        self._receiver = receiver
        self._host = ""
        self._identity: Pubkey | None = None
        self._peer: Pubkey | str | None = None
        self._streams: dict[int, bytearray] = {}
        self._deadlines: dict[int, asyncio.TimerHandle] = {}
        _limit_streams(quic)
        _ask_for_certificate(quic)

    def datagram_received(self, data: bytes | str, addr: NetworkAddress) -> None:
        self._host = str(addr[0])
        super().datagram_received(data, addr)

    def quic_event_received(self, event: QuicEvent) -> None:
        match event:
            case HandshakeCompleted():
                self._meet()
            case StreamDataReceived():
                self._receive(event.stream_id, event.data, event.end_stream)
            case StreamReset():
                self._forget(event.stream_id)
            case ConnectionTerminated():
                self._leave()

    def _meet(self) -> None:
        # aioquic has it for its own tests alone (its issue 586).
        certificate = self._connection.tls._peer_certificate
        self._identity = None if certificate is None else pubkey_of(certificate)
        self._peer = self._identity or self._host
        connections = self._receiver.connections
        connections[self._peer] += 1
        if self._receiver.faults.tpu == "refuse":
            self.close(DISALLOWED, "disallowed")
        elif connections[self._peer] > _MOST_CONNECTIONS:
            self.close(TOO_MANY, "too_many")

    def _receive(self, stream_id: int, data: bytes, ended: bool) -> None:
        receiver = self._receiver
        if receiver.faults.tpu == "refuse":
            self.close(DISALLOWED, "disallowed")
            return
        stream = self._streams.setdefault(stream_id, bytearray())
        stream += data
        if len(stream) > MOST_BYTES:  # of any version, as validators since 4.4
            receiver.counts["oversized"] += 1
            self._forget(stream_id)
            self.close(INVALID_STREAM, "invalid_stream")
        elif ended:
            self._forget(stream_id)
            wire = bytes(stream)
            if receiver.faults.tpu == "slow":
                delay = receiver.faults.tpu_delay_seconds
                self._clock.call_later(delay, receiver.take, wire, self._identity)
            else:
                receiver.take(wire, self._identity)
        else:
            self._forget_deadline(stream_id)
            self._deadlines[stream_id] = self._clock.call_later(
                receiver.chunk_seconds, self._drop, stream_id
            )

    def _drop(self, stream_id: int) -> None:
        self._receiver.counts["half_sent"] += 1
        self._forget(stream_id)
        self._connection.stop_stream(stream_id, 0)
        self.transmit()

    def _forget(self, stream_id: int) -> None:
        self._streams.pop(stream_id, None)
        self._forget_deadline(stream_id)

    def _forget_deadline(self, stream_id: int) -> None:
        deadline = self._deadlines.pop(stream_id, None)
        if deadline is not None:
            deadline.cancel()

    def _leave(self) -> None:
        for stream_id in list(self._streams):
            self._forget(stream_id)
        if self._peer is not None:
            self._receiver.connections[self._peer] -= 1
            if not self._receiver.connections[self._peer]:
                del self._receiver.connections[self._peer]
            self._peer = None


def _limit_streams(quic: QuicConnection) -> None:
    """Unidirectional streams alone: aioquic has no setting for it, but reads these on its first
    packet.
    """
    quic._local_max_streams_uni.value = quic._local_max_streams_uni.sent = _MOST_STREAMS
    quic._local_max_streams_bidi.value = quic._local_max_streams_bidi.sent = 0


def _ask_for_certificate(quic: QuicConnection) -> None:
    """The peer's certificate is wanted, though not needed: aioquic's servers can ask for it, but
    only their TLS context knows, which the first packet brings (its issue 541).
    """
    initialize = quic._initialize

    def initialize_and_ask(peer_cid: bytes) -> None:
        initialize(peer_cid)
        quic.tls._request_client_certificate = True

    quic._initialize = initialize_and_ask  # type: ignore[method-assign]
