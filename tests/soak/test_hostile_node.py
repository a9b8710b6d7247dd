"""A follower whose node and stream turn hostile again and again: what is stored stays the chain."""

import contextlib
import itertools
import os
import random
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from historical.models import Block
from tests.ingest.following import follower, worker
from tests.ingest.stored_chain import archived_to, is_localnets_chain, newest_archived, no_open_gaps
from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.upstream.hostile import (
    HEAD,
    Frames,
    Speak,
    framed,
    gzip_bomb,
    relay,
    says,
    speaking,
    trickles,
)
from upstream.protobuf import geyser_pb2 as schema

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]

SECONDS = float(os.environ.get("SOAK_SECONDS", "180"))
GROWTH_BYTES = 500_000_000
GO_RELAY = Path(__file__).parent / "grpc_go_relay"


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=200, LOCALNET_SKIP_PERCENT=10) as running:
        # What is missed for minutes can be asked for again.
        running.call("setFaults", {"replaySlots": 100_000})
        yield running


def prefixed(server: Frames) -> None:
    """A message of 4 GB, as much of it as is taken."""
    server.begin()
    server.http.send_data(server.stream, b"\0\xff\xff\xff\xff")
    while True:
        window = server.http.local_flow_control_window(server.stream)
        if window:
            server.http.send_data(server.stream, bytes(min(window, 16_384)))
            server.flush()
        else:
            server.listen()


def trailed(*trailers: tuple[bytes, bytes]) -> Callable[[Frames], None]:
    def script(server: Frames) -> None:
        server.begin()
        server.end(*trailers)

    return script


def invented(server: Frames) -> None:
    """Slots without end, each the child of the one before."""
    server.begin()
    update = schema.SubscribeUpdate()
    for slot in itertools.count(10**7):
        update.slot.slot, update.slot.parent = slot, slot - 1
        update.slot.status = slot % 3
        packed = bytes(update.SerializeToString())
        while server.http.local_flow_control_window(server.stream) < 100:
            server.listen()
        server.message(packed)


def leaving(server: Frames) -> None:
    server.begin()
    server.go_away(2**31 - 1, b"max_age")
    server.http.ping(b"goaway!!")
    server.flush()
    server.listen()
    server.go_away(server.stream, b"max_age")
    server.socket.close()


STREAM_ATTACKS: list[Speak] = [
    says(b"\0" * 400),
    says(b"HTTP/1.1 502 Bad Gateway\r\n\r\n"),
    trickles(b"", b"\0\0\1"),
    framed(prefixed),
    framed(invented),
    framed(leaving),
    framed(trailed((b"grpc-status", b"9" * 5_000))),
    framed(trailed((b"grpc-status", b"\xb2"), (b"grpc-message", b"%ff%zz\xff"))),
    framed(trailed((b"grpc-status", b"14"), (b"grpc-message", b"a%0Ab" * 2_000))),
]


def response(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


NODE_ATTACKS: list[Speak] = [
    says(gzip_bomb(600)),
    trickles(HEAD + b"Content-Length: 100000\r\n\r\n"),
    trickles(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    says(b"\0" * 100_000),
    *(
        says(response(body))
        for body in (
            b'{"result":18446744073709551616}',
            b'{"result":' + b"[" * 100_000,
            b'{"result":NaN}',
            b'{"result":' + b"9" * 5_000 + b"}",
            b'{"error":[1]}',
            b"[]",
            b"",
        )
    ),
]


class Switch:
    """A server in front of an honest one, which takes its place for some connections."""

    def __init__(self, behind: str, attacks: Sequence[Speak], seed: int) -> None:
        parts = urlsplit(behind)
        assert parts.hostname and parts.port
        self._behind = (parts.hostname, parts.port)
        self._attacks = itertools.cycle(attacks)
        self._chance = random.Random(seed)
        self.is_hostile = True
        self.attacked = 0

    def speak(self, connection: socket.socket, stopping: threading.Event) -> None:
        if self.is_hostile and self._chance.random() < 0.5:
            self.attacked += 1
            next(self._attacks)(connection, stopping)
            return
        cut_after = self._chance.uniform(0.5, 10.0) if self.is_hostile else None
        with socket.create_connection(self._behind) as honest:
            back = threading.Thread(target=_pump, args=[honest, connection], daemon=True)
            back.start()
            forth = threading.Thread(target=_pump, args=[connection, honest], daemon=True)
            forth.start()
            began = time.monotonic()
            while back.is_alive() and forth.is_alive() and not stopping.wait(0.05):
                if cut_after is not None and time.monotonic() - began > cut_after:
                    reset = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                    break
            for each in (honest, connection):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            back.join()
            forth.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def memory() -> int:
    return int(psutil.Process().memory_info().rss)


def test_bombs_trickles_lies_and_resets_leave_no_trace(localnet: Localnet) -> None:
    stream = Switch(localnet.geyser_url, STREAM_ATTACKS, seed=1)
    node = Switch(localnet.url, NODE_ATTACKS, seed=2)
    with (
        speaking(stream.speak) as stream_port,
        speaking(node.speak) as node_port,
        worker(),
        follower(
            f"http://127.0.0.1:{stream_port}",
            f"http://127.0.0.1:{node_port}",
            node_seconds=2.0,
        ) as following,
    ):
        before, most = memory(), 0
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            assert not following.failure
            most = max(most, memory())
            time.sleep(0.02)
        print(
            f"\n{stream.attacked} attacks by the stream, {node.attacked} by the node;"
            f" {(most - before) / 1e6:.0f} MB more than before at the most;"
            f" archived to slot {newest_archived()} of {localnet.call('getSlot')}"
        )
        stream.is_hostile = node.is_hostile = False
        # After the longest pause.
        archived_to(localnet.call("getSlot") + 5)
        assert not following.failure
    assert stream.attacked and node.attacked
    assert most - before < GROWTH_BYTES
    assert no_open_gaps()
    is_localnets_chain(localnet)


def test_lies_for_a_long_time_cost_no_memory_and_no_slot(localnet: Localnet) -> None:
    chance = random.Random(3)
    update = schema.SubscribeUpdate()

    def twist(_number: int, message: bytes) -> Iterator[bytes]:
        yield message
        for _ in range(20):
            slot = chance.choice([2**64 - 1, 2**63, 2**40, 10**9, 10**7]) - chance.randrange(9**6)
            update.slot.slot, update.slot.parent = slot, slot - 1
            update.slot.status = chance.randrange(6)
            yield bytes(update.SerializeToString())

    with (
        relay(localnet.geyser_url, twist) as (url, _),
        worker(),
        follower(url, localnet.url) as following,
    ):
        archived_to(10)
        before = memory()
        until = time.monotonic() + SECONDS / 2
        while time.monotonic() < until:
            archived_to(newest_archived() + 1)
        assert memory() - before < 100_000_000
        archived_to(localnet.call("getSlot") + 5)
        assert not following.failure
    assert no_open_gaps()
    is_localnets_chain(localnet)


@pytest.fixture(scope="module")
def go_relay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The relay on grpc-go, built."""
    if shutil.which("go") is None:
        pytest.skip("the Go compiler is not on this machine: no server on grpc-go can be built")
    program = tmp_path_factory.mktemp("go") / "relay"
    build = ["go", "build", "-o", str(program), "."]
    run = subprocess.run(build, cwd=GO_RELAY, capture_output=True, text=True)
    if run.returncode and ("dial tcp" in run.stderr or "lookup " in run.stderr):
        pytest.skip("grpc-go cannot be fetched from here")
    assert run.returncode == 0, run.stderr
    return program


@contextlib.contextmanager
def aging(program: Path, url: str, **options: str) -> Iterator[str]:
    """The address of the relay in front of the server at the url."""
    behind = urlsplit(url).netloc
    command = [str(program), f"-to={behind}", *(f"-{key}={each}" for key, each in options.items())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://{process.stdout.readline().strip()}"
        finally:
            process.kill()


@pytest.mark.parametrize("grace", ["500ms", "4s"])
def test_a_server_on_grpc_go_that_ages_its_connections_costs_no_slot(
    localnet: Localnet, go_relay: Path, grace: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        aging(go_relay, localnet.geyser_url, age="1s", grace=grace) as url,
        worker(),
        follower(url, localnet.url) as following,
    ):
        until = time.monotonic() + SECONDS / 4
        while time.monotonic() < until:
            archived_to(newest_archived() + 1)
        wait(lambda: caplog.text.count("connected to the localnet") > 3, "several connections")
        assert not following.failure
    with worker(), follower(localnet.geyser_url, localnet.url):
        archived_to(localnet.call("getSlot") + 5)
    assert "not HTTP/2" not in caplog.text
    assert no_open_gaps()
    is_localnets_chain(localnet)
    assert Block.objects.exists()
