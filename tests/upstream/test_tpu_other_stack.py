"""The TPU client against another QUIC stack than its own: qh3's, whose transport is Rust."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from qh3.asyncio.protocol import QuicConnectionProtocol
from qh3.asyncio.server import serve
from qh3.quic import events
from qh3.quic.configuration import QuicConfiguration
from qh3.tls import SessionTicket

from tests.upstream.tpu_ports import LEADER, PATIENCE, SENDER, outcome, state_of, until, wire
from upstream.tpu import TpuClient
from upstream.tpu_certificate import tls_identity
from upstream.tpu_connection import Limits
from upstream.tpu_socket import Address

# What qh3 lets a peer open at once; it has no setting for it.
CREDIT = 103


@dataclass
class Port:
    """What came in, and what the port shall do with it."""

    address: Address = ("", 0)
    wires: list[bytes] = field(default_factory=list)
    resumed: list[tuple[bool, bool]] = field(default_factory=list)  # and with early data?
    pings: int = 0
    closes_with: int | None = None
    tickets: dict[bytes, SessionTicket] = field(default_factory=dict)

    def keep(self, ticket: SessionTicket) -> None:
        self.tickets[ticket.ticket] = ticket


class Peer(QuicConnectionProtocol):
    def __init__(self, port: Port, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._port = port
        self._parts: dict[int, bytes] = {}

    def quic_event_received(self, event: events.QuicEvent) -> None:
        port = self._port
        if isinstance(event, events.HandshakeCompleted):
            port.resumed.append((event.session_resumed, event.early_data_accepted))
        if isinstance(event, events.StreamDataReceived):
            whole = self._parts.pop(event.stream_id, b"") + event.data
            if not event.end_stream:
                self._parts[event.stream_id] = whole
            elif port.closes_with is None:
                port.wires.append(whole)
            else:
                self._quic.close(error_code=port.closes_with, reason_phrase="as told")
                self.transmit()


@asynccontextmanager
async def port_of(port: Port, *, alpn: str = "solana-tpu", **settings: Any) -> AsyncIterator[Port]:
    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=[alpn], verify_mode=ssl.CERT_NONE, **settings
    )
    certificate, key = tls_identity(LEADER)
    configuration.load_cert_chain(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    server = await serve(
        "127.0.0.1",
        0,
        configuration=configuration,
        create_protocol=partial(Peer, port),
        session_ticket_fetcher=lambda label: port.tickets.pop(label, None),
        session_ticket_handler=port.keep,
        # Leaders do so when they are busy. qh3 needs it: what it may answer to an address that has
        # proved nothing it cannot pack, and waits a second.
        retry=True,
    )
    transport = server._transport
    assert transport is not None
    port.address = ("127.0.0.1", transport.get_extra_info("sockname")[1])
    try:
        yield port
    finally:
        server.close()  # type: ignore[no-untyped-call]
        transport.close()


Trial = Callable[[TpuClient, Port], Coroutine[Any, Any, None]]


def tried(trial: Trial, *, limits: Limits | None = None, **options: Any) -> None:
    async def run() -> None:
        client = TpuClient(SENDER, limits=limits or Limits(send_seconds=10))
        async with port_of(Port(), **options) as port, asyncio.timeout(2 * PATIENCE):
            try:
                await trial(client, port)
            finally:
                await client.close()

    asyncio.run(run())


def test_many_transactions_arrive_each_once() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        wires = [wire(number) for number in range(2 * CREDIT)]
        await asyncio.gather(*(client.send(port.address, each) for each in wires))
        assert sorted(port.wires) == sorted(wires)
        counts = {"connections": 1, "sent": 2 * CREDIT, "acked": 2 * CREDIT}
        assert state_of(client, port.address).counts == counts

    tried(trial)


def test_a_full_size_transaction_takes_two_datagrams() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        whole = bytes(range(256)) * 5
        await client.send(port.address, whole[:1_232])
        assert port.wires == [whole[:1_232]]

    tried(trial)


def test_a_window_of_one_transaction_lets_one_after_the_other_through() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        wires = [bytes([number]) * 1_232 for number in range(20)]
        await asyncio.gather(*(client.send(port.address, each) for each in wires))
        assert sorted(port.wires) == sorted(wires)

    tried(trial, max_data=1_232)


def test_a_window_smaller_than_a_transaction_lets_it_through_in_pieces() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        wires = [bytes([number]) * 1_232 for number in range(5)]
        await asyncio.gather(*(client.send(port.address, each) for each in wires))
        assert sorted(port.wires) == sorted(wires)

    tried(trial, max_data=1_000)


def test_the_next_connection_resumes_the_session_with_early_data() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        assert await outcome(client, port.address, wire(1)) == "new"
        await end_connection(client, port)
        assert await outcome(client, port.address, wire(2)) == "early"
        await until(lambda: port.resumed == [(False, False), (True, True)])
        assert port.wires == [wire(1), wire(2)]
        counts = state_of(client, port.address).counts
        assert (counts["connections"], counts["resumptions"], counts["early"]) == (2, 1, 1)

    tried(trial)


def test_early_data_that_the_leader_does_not_know_any_more_is_sent_again() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        assert await outcome(client, port.address, wire(1)) == "new"
        await end_connection(client, port)
        port.tickets.clear()
        assert await outcome(client, port.address, wire(2)) == "new"
        assert port.resumed[-1] == (False, False)
        assert port.wires == [wire(1), wire(2)]

    tried(trial)


async def end_connection(client: TpuClient, port: Port) -> None:
    """The leader drops the connection, as it does for room; that costs what is under way."""
    port.closes_with = 1
    assert await outcome(client, port.address, b"the last") == "dropped"
    port.closes_with = None


def test_every_close_code_has_a_word() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        for code, kind in (
            (1, "dropped"),
            (2, "disallowed"),
            (4, "too_many"),
            (5, "invalid_stream"),
            (77, "connection_lost"),
        ):
            port.closes_with = None
            assert await outcome(client, port.address, wire(code)) in ("new", "early")
            port.closes_with = code
            assert await outcome(client, port.address, b"the last") == kind
            assert f"code {code}: as told" in state_of(client, port.address).last_error

    tried(trial)


def test_who_speaks_something_else_is_no_leader() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        assert await outcome(client, port.address, wire(1)) == "handshake_failed"

    tried(trial, alpn="h3")


def test_pings_keep_a_silent_connection_alive() -> None:
    async def is_alive(client: TpuClient, port: Port) -> bool:
        await outcome(client, port.address, wire(1))
        # Twice as long as the leader keeps a silent peer.
        await asyncio.sleep(1.6)
        return await outcome(client, port.address, wire(2)) == "warm"

    async def trial(client: TpuClient, port: Port) -> None:
        # A busy machine, too, may be silent for so long.
        while not await is_alive(client, port):
            pass

    tried(trial, limits=Limits(keep_alive_seconds=0.1), idle_timeout=0.8)


def test_a_silent_connection_that_the_leader_gave_up_is_opened_again() -> None:
    async def trial(client: TpuClient, port: Port) -> None:
        assert await outcome(client, port.address, wire(1)) == "new"
        await until(lambda: state_of(client, port.address).state == "closed")
        assert await outcome(client, port.address, wire(2)) in ("new", "early")

    tried(trial, limits=Limits(keep_alive_seconds=5), idle_timeout=0.4)
