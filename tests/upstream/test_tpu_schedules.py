"""The TPU client's promises under any order of sends, credit, closes and changes of mind."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.upstream.tpu_ports import LEADER, PATIENCE, SENDER, outcome, state_of, until
from upstream.tpu import TpuClient
from upstream.tpu_certificate import tls_identity
from upstream.tpu_connection import Limits
from upstream.tpu_errors import TpuError
from upstream.tpu_sending import Sent

SEND_SECONDS = 0.1

Step = tuple[str, int]

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 1_232)),
        st.tuples(st.just("send"), st.integers(1, 1_232)),
        st.tuples(st.just("send many"), st.integers(1, 40)),
        st.tuples(st.just("grant"), st.integers(1, 20)),
        st.tuples(st.just("close"), st.sampled_from([0, 1, 2, 4, 5, 99])),
        st.tuples(st.just("cancel"), st.integers(0, 50)),
        st.tuples(st.just("warm"), st.just(0)),
        st.tuples(st.just("breathe"), st.integers(0, 20)),
    ),
    max_size=25,
)


class Port:
    """Grants what credit it is told to, and closes when it is told to."""

    def __init__(self, credit: int, window: int) -> None:
        self.credit = credit
        self.window = window
        self.wires: list[bytes] = []
        self.peers: list[Peer] = []
        self.broken_rules: list[str] = []
        self.address = ("", 0)

    def grant(self, count: int) -> None:
        for peer in self.peers:
            peer._quic._local_max_streams_uni.value += count
            peer.transmit()

    def close(self, code: int) -> None:
        for peer in self.peers:
            peer.close(code, "as told")
        self.peers.clear()


class Peer(QuicConnectionProtocol):
    def __init__(self, port: Port, quic: QuicConnection, stream_handler: Any = None) -> None:
        super().__init__(quic, stream_handler)
        self._port = port
        self._parts: dict[int, bytes] = {}
        quic._local_max_streams_uni.value = quic._local_max_streams_uni.sent = port.credit
        port.peers.append(self)

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived):
            whole = self._parts.pop(event.stream_id, b"") + event.data
            if event.end_stream:
                self._port.wires.append(whole)
            else:
                self._parts[event.stream_id] = whole
        if isinstance(event, ConnectionTerminated) and event.frame_type is not None:
            # Only QUIC itself gives the frame that it minds.
            self._port.broken_rules.append(event.reason_phrase)


@asynccontextmanager
async def open_port(port: Port) -> AsyncIterator[None]:
    certificate, key = tls_identity(LEADER)
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=["solana-tpu"],
        certificate=certificate,
        private_key=key,
        max_data=port.window,
    )
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        partial(QuicServer, configuration=configuration, create_protocol=partial(Peer, port)),
        local_addr=("127.0.0.1", 0),
    )
    port.address = transport.get_extra_info("sockname")[:2]
    try:
        yield
    finally:
        server.close()
        await asyncio.sleep(0)


def test_what_got_no_credit_in_time_is_not_sent_later() -> None:
    async def trial() -> None:
        port, client = Port(0, 10_000), TpuClient(SENDER, limits=Limits(send_seconds=0.1))
        async with open_port(port), asyncio.timeout(PATIENCE):
            # The time for the first goes with the handshake.
            client.warm([port.address])
            await until(lambda: state_of(client, port.address).state == "open")
            assert await outcome(client, port.address, b"first") == "no_credit"
            port.grant(5)
            await until(lambda: state_of(client, port.address).pending == 0)
            assert await outcome(client, port.address, b"second", timeout_seconds=5) == "warm"
            assert port.wires == [b"second"]
            await client.close()

    asyncio.run(trial())


def ended(peer: Peer) -> bool:
    """Whether the client has said goodbye."""
    return peer._quic._close_event is not None


@settings(max_examples=examples(30))
@given(steps=STEPS, credit=st.integers(0, 30), window=st.sampled_from([1_000, 1_232, 1_048_576]))
def test_every_send_has_one_answer_in_time(steps: list[Step], credit: int, window: int) -> None:
    asyncio.run(run(steps, credit, window))


async def run(steps: list[Step], credit: int, window: int) -> None:
    loop = asyncio.get_running_loop()
    complaints: list[str] = []
    loop.set_exception_handler(lambda _, context: complaints.append(str(context)))
    port = Port(credit, window)
    client = TpuClient(SENDER, limits=Limits(send_seconds=SEND_SECONDS, waiting=20))
    sends: list[tuple[bytes, asyncio.Task[Sent]]] = []
    async with open_port(port), asyncio.timeout(PATIENCE):
        for step, number in steps:
            await take(step, number, client, port, sends)
        answers = await asyncio.gather(*(task for _, task in sends), return_exceptions=True)
        if sends:
            await until(lambda: state_of(client, port.address).pending == 0)
        await client.close()
    check(port, dict(zip([wire for wire, _ in sends], answers, strict=True)))
    assert not complaints


async def take(
    step: str,
    number: int,
    client: TpuClient,
    port: Port,
    sends: list[tuple[bytes, asyncio.Task[Sent]]],
) -> None:
    count = {"send": 1, "send many": number}.get(step, 0)
    for _ in range(count):
        # Each is like no other.
        wire = len(sends).to_bytes(4, "big") + bytes(max(0, (number if count == 1 else 200) - 4))
        sends.append((wire, asyncio.create_task(client.send(port.address, wire))))
        await asyncio.sleep(0)
    match step:
        case "grant":
            port.grant(number)
        case "close":
            port.close(number)
        case "cancel" if sends:
            sends[number % len(sends)][1].cancel()
        case "warm":
            client.warm([port.address])
        case "breathe":
            await asyncio.sleep(number / 1_000)
        case _:
            pass


def check(port: Port, answers: dict[bytes, Sent | BaseException]) -> None:
    """What the client said is true."""
    assert not port.broken_rules
    arrived = Counter(port.wires)
    assert set(arrived) <= set(answers)
    assert not [wire for wire, times in arrived.items() if times > 1]
    for wire, answer in answers.items():
        assert isinstance(answer, Sent | TpuError | asyncio.CancelledError), answer
        if isinstance(answer, Sent):
            assert arrived[wire] == 1
            assert 0 <= answer.written_seconds <= answer.latency_seconds
        elif isinstance(answer, TpuError) and answer.kind in ("no_credit", "resting", "backlogged"):
            # It was told that nothing was sent, and nothing was.
            assert arrived[wire] == 0


class Babbler(asyncio.DatagramProtocol):
    """Answers each datagram with the next bytes of its own, or with what came, spoiled."""

    def __init__(self, answers: list[bytes], spoiled: int) -> None:
        self._answers = answers
        self._spoiled = spoiled

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: Any) -> None:
        place = self._spoiled % len(data)
        for answer in [*self._answers, data, data[:place], bytes((data[0],)) + data[place:]]:
            self._transport.sendto(answer, address)


@settings(max_examples=examples(20))
@given(answers=st.lists(st.binary(max_size=1_400), max_size=5), spoiled=st.integers(0, 1_400))
def test_who_answers_nonsense_is_not_reached(answers: list[bytes], spoiled: int) -> None:
    async def trial() -> None:
        loop = asyncio.get_running_loop()
        complaints: list[str] = []
        loop.set_exception_handler(lambda _, context: complaints.append(str(context)))
        transport, _ = await loop.create_datagram_endpoint(
            partial(Babbler, answers, spoiled), local_addr=("127.0.0.1", 0)
        )
        client = TpuClient(SENDER, limits=Limits(handshake_seconds=0.05))
        address = transport.get_extra_info("sockname")
        assert await outcome(client, address, b"wire") in ("unreachable", "handshake_failed")
        await client.close()
        transport.close()
        await asyncio.sleep(0)
        assert not complaints

    asyncio.run(trial())
