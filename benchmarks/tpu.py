"""Transactions to a leader over QUIC: what a send costs, and how long it takes on this machine."""

import asyncio
import multiprocessing
import select
import ssl
import statistics
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import uvloop
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, QuicEvent
from aioquic.tls import SessionTicket
from solders.keypair import Keypair

from upstream.tpu import TpuClient
from upstream.tpu_certificate import tls_identity
from upstream.tpu_connection import Limits
from upstream.tpu_errors import TpuError
from upstream.tpu_sending import Opened, Sent
from upstream.tpu_socket import Address, connected_socket

SMALL, LARGE = 400, 1_232
PACED, PAUSE_SECONDS = 1_000, 0.002
BURST, AT_ONCE = 8_000, 400
CONNECTS = 60
# A thousand a second.
ROUNDS, ROUND_SECONDS = (1, 4, 10), 0.001


def main() -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    leader = multiprocessing.get_context("spawn").Process(target=lead, args=(theirs,), daemon=True)
    leader.start()
    address: Address = ("127.0.0.1", ours.recv())
    try:
        for count in ROUNDS:
            floor(address, count)
        uvloop.run(measure(address))
    finally:
        ours.send(None)
        leader.join()


async def measure(address: Address) -> None:
    for count in ROUNDS:
        await rounds(address, count)
    await connects(address)
    for size in (SMALL, LARGE):
        await paced(address, size)
        await burst(address, size)


async def rounds(address: Address, count: int) -> None:
    """So many transactions together, again and again, as a lander sends them under load."""
    client = TpuClient(Keypair())
    await client.send(address, bytes(SMALL))
    answers: list[Sent | TpuError] = []
    cpu = time.process_time()
    for _ in range(BURST // 8 // count):
        for _ in range(count):
            client.start(address, bytes(SMALL), answers.append)
        await asyncio.sleep(ROUND_SECONDS * count)
    cpu = time.process_time() - cpu
    await asyncio.sleep(0.1)
    await client.close()
    taken = sum(isinstance(each, Sent) for each in answers)
    print(f"tpu: rounds of {count:2}: {cpu / taken * 1e6:.0f} us of CPU each")


def floor(address: Address, count: int) -> None:
    """The same by aioquic alone: a loop without asyncio, answers, limits and timers."""
    certificate, key = tls_identity(Keypair())
    quic = QuicConnection(
        configuration=QuicConfiguration(
            alpn_protocols=["solana-tpu"],
            certificate=certificate,
            private_key=key,
            verify_mode=ssl.CERT_NONE,
            server_name="localhost",
        )
    )
    with connected_socket(address) as peer:

        def go_on(until: float) -> bool:
            """Reads and writes until then; whether the handshake was seen."""
            opened = False
            while True:
                for data, _ in quic.datagrams_to_send(now=time.monotonic()):
                    peer.send(data)
                left = until - time.monotonic()
                if left <= 0 or opened:
                    return opened
                if select.select([peer], [], [], left)[0]:
                    quic.receive_datagram(peer.recv(65_536), address, now=time.monotonic())
                while (event := quic.next_event()) is not None:
                    opened |= isinstance(event, HandshakeCompleted)

        quic.connect(address, now=time.monotonic())
        if not go_on(time.monotonic() + 10.0):
            raise TimeoutError("no handshake")
        sent = BURST // 8 // count * count
        cpu = time.process_time()
        for _ in range(BURST // 8 // count):
            for _ in range(count):
                stream = quic.get_next_available_stream_id(is_unidirectional=True)
                quic.send_stream_data(stream, bytes(SMALL), end_stream=True)
            go_on(time.monotonic() + ROUND_SECONDS * count)
        cpu = time.process_time() - cpu
        quic.close()
        go_on(0.0)
    print(f"tpu: rounds of {count:2}: {cpu / sent * 1e6:.0f} us of CPU each by aioquic alone")


async def connects(address: Address) -> None:
    """The first transaction of a connection, from the call to its acknowledgement."""
    taken: dict[Opened, list[float]] = {Opened.NEW: [], Opened.EARLY: []}
    for _ in range(CONNECTS // 4):
        client = TpuClient(Keypair())
        # The first has no ticket; each leaves one for the next.
        for _ in range(4):
            sent = await client.send(address, bytes(SMALL))
            taken[sent.opened].append(sent.latency_seconds)
            await asyncio.sleep(0.03)
            end_connections(client)
        await client.close()
    for opened, name in ((Opened.NEW, "new connection"), (Opened.EARLY, "resumed, 0-RTT")):
        print(f"tpu: {name:16} first transaction acknowledged {percentiles(taken[opened])}")


def end_connections(client: TpuClient) -> None:
    for leader in client._leaders.values():
        if leader.connection is not None:
            leader.connection.close()


async def paced(address: Address, size: int) -> None:
    """One at a time on a warm connection, with pauses."""
    client = TpuClient(Keypair())
    await client.send(address, bytes(size))
    found: list[Sent] = []
    for _ in range(PACED):
        await asyncio.sleep(PAUSE_SECONDS)
        found.append(await client.send(address, bytes(size)))
    await client.close()
    print(
        f"tpu: {size:5} bytes, call to datagram {percentiles([s.written_seconds for s in found])}"
    )
    print(
        f"tpu: {size:5} bytes, call to ack      {percentiles([s.latency_seconds for s in found])}"
    )


async def burst(address: Address, size: int) -> None:
    """As fast as it goes, by this process's own processor time."""
    client = TpuClient(Keypair(), limits=Limits(waiting=AT_ONCE, send_seconds=30))
    await client.send(address, bytes(size))
    left = iter(range(BURST))

    async def send_some() -> None:
        for _ in left:
            await client.send(address, bytes(size))

    cpu, clock = time.process_time(), time.perf_counter()
    await asyncio.gather(*(send_some() for _ in range(AT_ONCE)))
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    await client.close()
    rates = f"{BURST / cpu:,.0f} a client core-second, {BURST / clock:,.0f} a second"
    print(f"tpu: {size:5} bytes, burst of {BURST:,}: {rates}")


def percentiles(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return f"p50 {statistics.median(ordered) * 1e3:.3f} ms, p99 {p99 * 1e3:.3f} ms"


class Sink(QuicConnectionProtocol):
    """Reads and forgets."""

    def quic_event_received(self, event: QuicEvent) -> None:
        pass


def lead(told: Connection) -> None:
    """A leader's port in a process of its own, which gives tickets for the next connection."""
    asyncio.run(_lead(told))


async def _lead(told: Connection) -> None:
    certificate, key = tls_identity(Keypair())
    tickets: dict[bytes, SessionTicket] = {}
    options: dict[str, Any] = {
        "session_ticket_fetcher": lambda label: tickets.pop(label, None),
        "session_ticket_handler": lambda ticket: tickets.__setitem__(ticket.ticket, ticket),
    }
    server = await serve(
        "127.0.0.1",
        0,
        configuration=QuicConfiguration(
            is_client=False,
            alpn_protocols=["solana-tpu"],
            certificate=certificate,
            private_key=key,
        ),
        create_protocol=Sink,
        **options,
    )
    transport = server._transport
    assert transport is not None
    told.send(transport.get_extra_info("sockname")[1])
    await asyncio.get_running_loop().run_in_executor(None, told.recv)
    server.close()


if __name__ == "__main__":
    main()
