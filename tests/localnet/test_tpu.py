"""The TPU port over QUIC, with aioquic as the client."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StopSendingReceived
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from localnet.faults import Faults
from localnet.ledger import QueueFull
from localnet.servers import tpu
from localnet.submissions import read_transaction
from tests.localnet.wallets import SOL, landed, pay, signed, wallet
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS as PATIENCE
from upstream.tpu_certificate import certificate_der, pubkey_of, tls_identity

LEADER = Keypair.from_seed(bytes([1]) * 32)
SENDER = Keypair.from_seed(bytes([2]) * 32)


class Inbox:
    """Where transactions go: read as the ledger reads them, and kept."""

    def __init__(self) -> None:
        self.wires: list[bytes] = []
        self.full = False

    def submit(self, wire: bytes) -> Signature:
        submitted = read_transaction(wire)
        if self.full:
            raise QueueFull
        self.wires.append(wire)
        return Signature(submitted.signature)


class Peer(QuicConnectionProtocol):
    """A client that keeps what the server told it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.closed_with: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.stopped: list[int] = []

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated) and not self.closed_with.done():
            self.closed_with.set_result(event.error_code)
        if isinstance(event, StopSendingReceived):
            self.stopped.append(event.stream_id)

    def send(self, data: bytes, *, end: bool = True) -> int:
        stream_id = self._quic.get_next_available_stream_id(is_unidirectional=True)
        self._quic.send_stream_data(stream_id, data, end)
        self.transmit()
        return stream_id


@asynccontextmanager
async def peer_of(
    port: int, *, alpn: str = tpu.ALPN, identity: Keypair | None = None
) -> AsyncIterator[Peer]:
    configuration = QuicConfiguration(
        alpn_protocols=[alpn], verify_mode=ssl.CERT_NONE, idle_timeout=PATIENCE
    )
    if identity is not None:
        configuration.certificate, configuration.private_key = tls_identity(identity)
    async with connect(
        "127.0.0.1", port, configuration=configuration, create_protocol=Peer
    ) as peer:
        assert isinstance(peer, Peer)
        yield peer


def wire(number: int) -> bytes:
    instruction = transfer(
        TransferParams(from_pubkey=SENDER.pubkey(), to_pubkey=SENDER.pubkey(), lamports=number)
    )
    message = Message([instruction], SENDER.pubkey())
    return bytes(Transaction([SENDER], message, Hash.default()))


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.005)


Trial = Callable[[tpu.Tpu, Inbox, Faults], Coroutine[Any, Any, None]]


def served(trial: Trial, **options: Any) -> None:
    """Runs the trial against an open port."""

    async def run() -> None:
        inbox, faults = Inbox(), Faults()
        async with (
            tpu.serve(inbox, faults, "127.0.0.1", 0, identity=LEADER, **options) as opened,
            asyncio.timeout(2 * PATIENCE),
        ):
            await trial(opened, inbox, faults)

    asyncio.run(run())


def test_two_hundred_transactions_on_one_connection() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        wires = [wire(number) for number in range(200)]
        async with peer_of(opened.port) as peer:
            # More than the 128 streams at once: the rest waits for the credit of those before.
            for each in wires:
                peer.send(each)
            await until(lambda: len(inbox.wires) == 200)
        assert sorted(inbox.wires) == sorted(wires)
        assert opened.counts == {"accepted": 200}

    served(trial)


def test_a_peer_may_open_128_streams_ahead() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with peer_of(opened.port) as peer:
            for _ in range(128):
                peer.send(b"\1", end=False)
            last = peer.send(wire(1))
            await peer.ping()
            await peer.ping()
            assert inbox.wires == []
            # One that ends makes room for one more.
            peer._quic.send_stream_data(2, b"", True)
            peer.transmit()
            await until(lambda: len(inbox.wires) == 1)
            assert last // 4 == 128

    served(trial)


def test_the_server_shows_the_leaders_identity_and_learns_the_peers() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with peer_of(opened.port, identity=SENDER) as peer:
            shown = peer._quic.tls._peer_certificate
            assert shown is not None
            assert pubkey_of(shown) == LEADER.pubkey()
            peer.send(wire(1))
            await until(lambda: len(inbox.wires) == 1)
        async with peer_of(opened.port) as peer:
            peer.send(wire(2))
            await until(lambda: len(inbox.wires) == 2)
        assert opened.by_identity == {SENDER.pubkey(): 1}

    served(trial)


def test_another_protocol_is_refused() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        with pytest.raises(ConnectionError):
            async with peer_of(opened.port, alpn="h3"):
                pass

    served(trial)


def test_too_large_a_transaction_closes_the_connection() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with peer_of(opened.port) as peer:
            peer.send(bytes(4_096))
            await until(lambda: opened.counts["garbage"] == 1)
            peer.send(bytes(4_097))
            assert await peer.closed_with == tpu.INVALID_STREAM
        assert opened.counts == {"garbage": 1, "oversized": 1}

    served(trial)


def test_what_is_no_transaction_is_counted_and_dropped() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        good = wire(1)
        async with peer_of(opened.port) as peer:
            peer.send(b"")
            peer.send(b"garbage")
            peer.send(good + b"\0")
            peer.send(good[:1] + bytes(64) + good[65:])
            await until(lambda: opened.counts.total() == 4)
            inbox.full = True
            peer.send(good)
            await until(lambda: opened.counts.total() == 5)
        assert opened.counts == {"garbage": 3, "unsigned": 1, "overflowing": 1}

    served(trial)


def test_a_transaction_in_pieces_is_put_together() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        whole = wire(1)
        async with peer_of(opened.port) as peer:
            stream_id = peer.send(whole[:100], end=False)
            await peer.ping()
            peer._quic.send_stream_data(stream_id, whole[100:], True)
            peer.transmit()
            await until(lambda: inbox.wires == [whole])

    served(trial)


def test_a_half_sent_stream_is_dropped() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with peer_of(opened.port) as peer:
            stream_id = peer.send(wire(1)[:50], end=False)
            await until(lambda: peer.stopped == [stream_id])
            peer.send(wire(2))
            await until(lambda: len(inbox.wires) == 1)
        assert opened.counts == {"half_sent": 1, "accepted": 1}

    served(trial, chunk_seconds=0.05)


def test_a_peer_cannot_open_bidirectional_streams() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with peer_of(opened.port) as peer:
            assert peer._quic._remote_max_streams_bidi == 0
            # ... and one that opens one all the same is told so.
            peer._quic._remote_max_streams_bidi = 1
            peer._quic._remote_max_stream_data_bidi_remote = 10
            peer._quic.send_stream_data(0, b"data", True)
            peer.transmit()
            assert await peer.closed_with == 0x4  # STREAM_LIMIT_ERROR

    served(trial)


def test_the_ninth_connection_of_a_peer_is_too_many() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(8):
                await stack.enter_async_context(peer_of(opened.port, identity=SENDER))
            ninth = await stack.enter_async_context(peer_of(opened.port, identity=SENDER))
            assert await ninth.closed_with == tpu.TOO_MANY
            other = await stack.enter_async_context(peer_of(opened.port))
            other.send(wire(1))
            await until(lambda: len(inbox.wires) == 1)
        # The server learns of the ends as they arrive.
        while len(inbox.wires) < 2:
            with suppress(ConnectionError):
                async with peer_of(opened.port, identity=SENDER) as peer:
                    peer.send(wire(2))
                    await peer.ping()
            await asyncio.sleep(0.01)

    served(trial)


def test_connections_are_refused_on_demand() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with peer_of(opened.port) as old:
            faults.tpu = "refuse"
            async with peer_of(opened.port) as peer:
                assert await peer.closed_with == tpu.DISALLOWED
            old.send(wire(1))
            assert await old.closed_with == tpu.DISALLOWED
        assert inbox.wires == []

    served(trial)


def test_a_slow_leader_takes_its_time() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        faults.tpu, faults.tpu_delay_seconds = "slow", 0.2
        async with peer_of(opened.port) as peer:
            sent_at = asyncio.get_running_loop().time()
            peer.send(wire(1))
            await until(lambda: len(inbox.wires) == 1)
            assert asyncio.get_running_loop().time() - sent_at >= 0.19

    served(trial)


def test_a_transaction_sent_to_a_running_localnet_lands(localnet: Localnet) -> None:
    alice = wallet(localnet)
    transaction = signed(localnet, [pay(alice, Keypair().pubkey(), SOL)], alice)

    async def send() -> None:
        async with peer_of(localnet.tpu_port, identity=alice) as peer:
            peer.send(bytes(transaction))
            # Not before it is acknowledged may the connection end.
            await peer.ping()

    asyncio.run(send())
    assert landed(localnet, str(transaction.signatures[0]))["err"] is None


def test_a_taken_port_is_an_error() -> None:
    async def trial(opened: tpu.Tpu, inbox: Inbox, faults: Faults) -> None:
        with pytest.raises(OSError):
            async with tpu.serve(inbox, faults, "127.0.0.1", opened.port):
                pass

    served(trial)


def test_the_certificate_is_the_one_that_validators_know() -> None:
    keypair = Keypair()
    der = certificate_der(keypair.pubkey())
    assert len(der) == 249
    assert bytes(keypair.pubkey()) in der
    certificate, key = tls_identity(keypair)
    assert certificate.serial_number == 0x0101010101010101
    assert certificate.issuer.rfc4514_string() == "CN=Solana node"
    assert not list(certificate.subject)
    assert (certificate.not_valid_before_utc.year, certificate.not_valid_after_utc.year) == (
        1970,
        4096,
    )
    assert certificate.signature == b"\xff" * 64
    assert [each.critical for each in certificate.extensions] == [True, True]
    assert pubkey_of(certificate) == keypair.pubkey()
    assert Pubkey(key.public_key().public_bytes_raw()) == keypair.pubkey()
