"""The loop's gRPC calls, at servers that are not ours, that age, restart, hang, or do harm."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent import futures
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.patience import PATIENCE_SECONDS
from tests.tls_door import tls_door
from tests.upstream.hostile import Frames, framed, speaking
from upstream.grpc import channel as channels
from upstream.grpc import status as codes
from upstream.grpc.channel import Channel
from upstream.grpc.status import GrpcStatus

Answer = Callable[[bytes, grpc.ServicerContext], bytes]


@contextmanager
def server(port: int = 0, options: Any = (), **handlers: Any) -> Iterator[int]:
    """The port of a grpcio server of the service `t.T`; a handler that is a generator streams."""
    methods = {
        name: (
            grpc.unary_stream_rpc_method_handler(each)
            if name.startswith("many")
            else grpc.unary_unary_rpc_method_handler(each)
        )
        for name, each in handlers.items()
    }
    running = grpc.server(
        futures.ThreadPoolExecutor(40), options=[("grpc.so_reuseport", 0), *options]
    )
    running.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t.T", methods),))
    bound = running.add_insecure_port(f"127.0.0.1:{port}")
    running.start()
    try:
        yield bound
    finally:
        running.stop(None).wait()


def run(port: int, task: Callable[[Channel], Awaitable[None]], scheme: str = "http") -> None:
    async def main() -> None:
        async with opened(f"{scheme}://localhost:{port}") as channel:
            await task(channel)

    asyncio.run(main())


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Channel]:
    channel = Channel(url)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield channel
    finally:
        await channel.close()


async def ask(channel: Channel, method: str, request: bytes = b"", seconds: float = 20) -> bytes:
    return await channel.unary(f"/t.T/{method}", request, metadata={"x": "y"}, seconds=seconds)


async def status_of(call: Awaitable[Any]) -> GrpcStatus:
    with pytest.raises(GrpcStatus) as caught:
        await call
    return caught.value


def test_many_calls_at_once_get_their_own_answers_by_one_connection() -> None:
    peers = set()

    def echo(request: bytes, context: Any) -> bytes:
        peers.add(context.peer())
        assert dict(context.invocation_metadata())["x"] == "y"
        return request[::-1]

    chance = random.Random(5)
    sent = [chance.randbytes(chance.choice([0, 1, 900, 300_000])) for _ in range(60)]

    async def task(channel: Channel) -> None:
        found = await asyncio.gather(*(ask(channel, "echo", each) for each in sent))
        assert found == [each[::-1] for each in sent]

    with server(echo=echo) as port:
        run(port, task)
    assert len(peers) == 1


def test_a_refusal_is_told_in_the_servers_words_and_disturbs_no_other_call() -> None:
    def refuses(_request: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no: é 100 %")
        return b""

    async def task(channel: Channel) -> None:
        refused, missing, found = await asyncio.gather(
            status_of(ask(channel, "refuses")),
            status_of(ask(channel, "absent")),
            ask(channel, "echo", b"a"),
        )
        assert (refused.code, refused.text) == (codes.INVALID_ARGUMENT, "no: é 100 %")
        assert missing.code == codes.UNIMPLEMENTED
        assert found == b"a"

    with server(refuses=refuses, echo=lambda request, _context: request) as port:
        run(port, task)


def test_a_call_that_takes_too_long_ends_at_both_sides_and_no_other_with_it() -> None:
    begun, ended, released = threading.Event(), threading.Event(), threading.Event()
    left: list[float] = []

    def slow(_request: bytes, context: Any) -> bytes:
        left.append(context.time_remaining())
        if context.add_callback(ended.set):
            begun.set()
        released.wait(PATIENCE_SECONDS)
        return b""

    async def task(channel: Channel) -> None:
        # A busy server may begin a call when its time is over: then another is made.
        while not begun.is_set():
            late = asyncio.ensure_future(status_of(ask(channel, "slow", seconds=0.2)))
            assert await ask(channel, "echo", b"a") == b"a"
            status = await late
            assert (status.code, status.text) == (codes.DEADLINE_EXCEEDED, "no answer within 0.2 s")
        # The server was told how long the answer is waited for.
        assert left and max(left) < 5
        assert await asyncio.to_thread(ended.wait, PATIENCE_SECONDS)
        released.set()
        assert await ask(channel, "echo", b"b") == b"b"

    with server(slow=slow, echo=lambda request, _context: request) as port:
        run(port, task)


def test_a_stream_and_calls_share_the_connection_until_one_is_left() -> None:
    ended = threading.Event()

    def many(_request: bytes, context: Any) -> Iterator[bytes]:
        context.add_callback(ended.set)
        number = 0
        while not ended.wait(0.002):
            yield b"%d" % number
            number += 1

    async def task(channel: Channel) -> None:
        stream = channel.stream("/t.T/many", b"", metadata={})
        for number in range(20):
            assert await anext(stream) == b"%d" % number
            assert await ask(channel, "echo", b"a") == b"a"
        await asyncio.sleep(0.05)  # more of the stream comes while it is not read
        assert await anext(stream) == b"20"
        await stream.aclose()
        assert await asyncio.to_thread(ended.wait, PATIENCE_SECONDS)
        assert await ask(channel, "echo", b"b") == b"b"

    with server(many=many, echo=lambda request, _context: request) as port:
        run(port, task)


def test_a_server_that_ages_its_connections_loses_no_call() -> None:
    peers = set()

    def echo(request: bytes, context: Any) -> bytes:
        peers.add(context.peer())
        return request

    async def task(channel: Channel) -> None:
        number = 0
        while len(peers) < 4:
            sent = b"%d" % number
            assert await ask(channel, "echo", sent) == sent
            number += 1

    options = [("grpc.max_connection_age_ms", 100), ("grpc.max_connection_age_grace_ms", 5_000)]
    with server(options=options, echo=echo) as port:
        run(port, task)


def test_a_call_that_a_leaving_server_did_not_take_is_made_once_more() -> None:
    """Once: of a server that takes no call at all the caller hears."""
    connections = [b"goes away", b"refuses", b"answers"]

    def script(server: Frames) -> None:
        match connections.pop(0):
            case b"goes away":
                server.go_away(0)
            case b"refuses":
                server.http.reset_stream(server.stream, 7)
                server.go_away(server.stream)
            case answer:
                server.begin()
                server.message(answer)
                server.end((b"grpc-status", b"0"))

    async def task(channel: Channel) -> None:
        assert (await status_of(ask(channel, "any"))).code == codes.UNAVAILABLE
        assert await ask(channel, "any") == b"answers"

    with speaking(framed(script)) as port:
        run(port, task)


def test_after_a_restart_of_the_server_the_next_call_connects_again() -> None:
    def echo(request: bytes, _context: Any) -> bytes:
        return request

    async def main() -> None:
        with server(echo=echo) as port:
            channel = Channel(f"http://127.0.0.1:{port}")
            assert await ask(channel, "echo", b"a") == b"a"
        gone = await status_of(ask(channel, "echo"))
        assert gone.code == codes.UNAVAILABLE
        with server(port, echo=echo):
            assert await ask(channel, "echo", b"b") == b"b"
        await channel.close()

    asyncio.run(main())


def test_by_tls_the_servers_certificate_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def known(channel: Channel) -> None:
        assert await ask(channel, "echo", b"a") == b"a"

    async def unknown(channel: Channel) -> None:
        status = await status_of(ask(channel, "echo", b"a"))
        assert status.code == codes.UNAVAILABLE
        assert "certificate verify failed" in status.text.lower()

    with (
        server(echo=lambda request, _context: request) as port,
        tls_door(f"127.0.0.1:{port}", tmp_path) as (address, certificate),
    ):
        door = int(address.rpartition(":")[2])
        run(door, unknown, "https")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        run(door, known, "https")


def test_a_server_that_answers_nothing_is_given_up_in_time() -> None:
    def script(server: Frames) -> None:
        while True:
            server.listen()

    async def task(channel: Channel) -> None:
        status = await status_of(ask(channel, "any", seconds=0.3))
        assert status.code == codes.DEADLINE_EXCEEDED

    with speaking(framed(script)) as port:
        run(port, task)


def test_a_stream_of_a_server_that_hangs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "_PING_SECONDS", 0.1)
    monkeypatch.setattr(channels, "_GONE_SECONDS", 0.5)
    hung = threading.Event()

    def script(server: Frames) -> None:
        server.begin()
        server.message(b"one")
        hung.wait(PATIENCE_SECONDS)

    async def task(channel: Channel) -> None:
        stream = channel.stream("/t.T/any", b"", metadata={})
        assert await anext(stream) == b"one"
        assert (await status_of(anext(stream))).code == codes.UNAVAILABLE
        hung.set()

    with speaking(framed(script)) as port:
        run(port, task)


def test_any_bytes_end_the_call_with_a_status() -> None:
    answer = [b""]

    def speak(connection: Any, _stopping: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(answer[0])

    with speaking(speak) as port:

        @settings(max_examples=examples(30), deadline=None)
        @given(data=st.binary(max_size=200))
        def anything(data: bytes) -> None:
            answer[0] = data

            async def task(channel: Channel) -> None:
                status = await status_of(ask(channel, "any"))
                assert status.code in (codes.INTERNAL, codes.UNAVAILABLE)

            run(port, task)

        anything()


@pytest.mark.parametrize("parts", [(b"\0\0\x20\0\0",), (b"\1\0\0\0\1a",), (b"\0\0\0\0\2ab", b"")])
def test_what_is_no_answer_ends_the_call(parts: tuple[bytes, ...]) -> None:
    """Too large, compressed, and one whose call does not end well."""

    def script(server: Frames) -> None:
        server.begin()
        server.http.send_data(server.stream, parts[0])
        server.flush()
        if len(parts) > 1:
            server.http.end_stream(server.stream)
            server.flush()
        while True:
            server.listen()

    async def task(channel: Channel) -> None:
        status = await status_of(ask(channel, "any"))
        assert status.code in (codes.INTERNAL, codes.UNKNOWN)

    with speaking(framed(script)) as port:
        run(port, task)
