"""Answers of HTTP/1.1: the same whatever pieces they come in, and never an unforeseen error."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patience import PATIENCE_SECONDS
from tests.upstream.hostile import speaking
from upstream.http.errors import FAILURES, BadAddress, BadAnswer
from upstream.http.poster import Poster
from upstream.http.response import Reader, Response

LARGEST_ANSWER = 1_048_576
bodies = st.binary(max_size=200)


class Posted(NamedTuple):
    """A whole response."""

    status: int
    body: bytes
    retry_after: float | None
    keeps: bool


def read_answer(received: bytes, *, ended: bool) -> Posted | None:
    """The response that came in one piece, or None while it is not whole."""
    reader, response = Reader(), Response(largest=LARGEST_ANSWER)
    reader.begin(response)
    if received:
        reader.feed(received)
    if ended:
        reader.end()
    if response.failure is not None:
        raise response.failure
    if not response.is_whole:
        return None
    return Posted(response.status, response.body(), response.retry_after, response.keeps)


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x;x=1\r\n%s\r\n" % (len(each), each) for each in pieces) + b"0\r\n\r\n"


@given(bodies, st.integers(1, 50), st.sampled_from(["length", "chunked", "until the end"]))
def test_an_answer_is_whole_at_its_last_byte_and_not_before(
    body: bytes, size: int, form: str
) -> None:
    head = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n"
    if form == "length":
        whole = head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    elif form == "chunked":
        whole = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, size)
    else:
        whole = head + b"\r\n" + body
    ended = form == "until the end"
    for end in range(len(whole)):
        assert read_answer(whole[:end], ended=False) is None
    assert read_answer(whole, ended=ended) == Posted(429, body, 7.0, not ended)
    if form != "until the end":
        for end in range(len(whole)):
            with pytest.raises(BadAnswer):
                read_answer(whole[:end], ended=True)


@given(
    st.lists(
        st.tuples(bodies, st.sampled_from(["length", "chunked", "announced"])),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.integers(1, 60), min_size=1),
)
def test_answers_of_one_connection_are_read_one_after_the_other_in_any_pieces(
    answers: list[tuple[bytes, str]], sizes: list[int]
) -> None:
    reader, lengths = Reader(), cycle(sizes)
    for body, form in answers:
        response = Response(largest=LARGEST_ANSWER)
        reader.begin(response)
        said = b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" if form == "announced" else b""
        said += b"HTTP/1.1 200 OK\r\n"
        if form == "chunked":
            said += b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 7)
        else:
            said += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        while said:
            assert not response.is_over
            size = next(lengths)
            reader.feed(said[:size])
            said = said[size:]
        assert (response.status, response.body(), response.keeps) == (200, body, True)
        assert b"a" not in response.headers


@pytest.mark.parametrize("more", [b"x", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"])
@pytest.mark.parametrize("at_once", [True, False])
def test_bytes_behind_an_answer_are_not_of_it_and_end_the_connection(
    more: bytes, at_once: bool
) -> None:
    reader, response = Reader(), Response(largest=LARGEST_ANSWER)
    reader.begin(response)
    said = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    for piece in [said + more] if at_once else [said, more]:
        reader.feed(piece)
    assert (response.body(), response.keeps) == (b"ok", False)


@given(st.binary(max_size=300), st.booleans())
def test_whatever_comes_is_an_answer_or_none_or_bad(received: bytes, ended: bool) -> None:
    for data in (received, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + received):
        try:
            answer = read_answer(data, ended=ended)
        except BadAnswer:
            continue
        assert answer is None or isinstance(answer, Posted)


def test_an_announcement_is_passed_over_and_close_is_heard() -> None:
    said = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n"
    assert read_answer(said + b"Content-Length: 2\r\n\r\nok", ended=False) == Posted(
        200, b"ok", None, False
    )


@pytest.mark.parametrize(
    "received",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9,
        b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 101 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + bytes(1_048_577),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 5_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 5_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + bytes(2_097_153),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + bytes(2_097_153),
        bytes(65_536),
    ],
)
def test_what_grows_beyond_the_bounds_is_given_up_before_it_ends(received: bytes) -> None:
    with pytest.raises(BadAnswer):
        read_answer(received, ended=False)


@pytest.mark.parametrize("url", ["ftp://a", "http://", "http://user:word@host", "http://a:99999"])
def test_an_address_that_leads_nowhere_is_refused(url: str) -> None:
    with pytest.raises(BadAddress):
        Poster(url)


Door = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def with_server(door: Door, ask: Callable[[Poster], Awaitable[None]]) -> None:
    server = await asyncio.start_server(door, "127.0.0.1", 0)
    poster = Poster(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base?key=1")
    try:
        await ask(poster)
    finally:
        await poster.close()
        server.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return head + await reader.readexactly(length)


def test_connections_are_used_again_and_one_that_was_closed_meanwhile_is_replaced() -> None:
    connections: list[list[bytes]] = []

    async def door(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests: list[bytes] = []
        connections.append(requests)
        while len(requests) < 2:  # then it closes without a word
            requests.append(await _request(reader))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    async def ask(poster: Poster) -> None:
        await poster.warm(1, seconds=5)
        for _ in range(5):
            assert (await poster.post(b"{}", seconds=5, path="/more")).body() == b"ok"

    asyncio.run(with_server(door, ask))
    assert sum(map(len, connections)) == 5 and len(connections) == 3
    assert connections[0][0].startswith(b"POST /base/more?key=1 HTTP/1.1\r\nHost: 127.0.0.1:")


def test_silence_and_a_refused_connection_are_told() -> None:
    async def door(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def ask(poster: Poster) -> None:
        with pytest.raises(OSError, match=r"no answer within 0\.05 s"):
            await poster.post(b"{}", seconds=0.05)

    asyncio.run(with_server(door, ask))

    async def nobody() -> None:
        with pytest.raises(OSError, match="refused"):
            await Poster("http://127.0.0.1:1").post(b"{}", seconds=5)

    asyncio.run(nobody())


def test_more_requests_than_connections_wait_for_their_turn() -> None:
    most = 0
    now = 0

    async def door(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal most, now
        try:
            while True:
                await _request(reader)
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.001)
                now -= 1
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        except asyncio.IncompleteReadError:
            writer.close()

    async def ask(poster: Poster) -> None:
        few = Poster(f"http://{poster.name}", most_connections=3)
        answers = await asyncio.gather(*(few.post(b"{}", seconds=5) for _ in range(40)))
        assert [each.status for each in answers] == [200] * 40
        await few.close()

    asyncio.run(with_server(door, ask))
    assert most == 3


def test_one_who_waits_no_longer_leaves_his_answer_to_nobody_else() -> None:
    async def door(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                body = (await _request(reader))[-2:]
                if body == b"no":
                    await asyncio.sleep(0.05)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body)

    async def ask(poster: Poster) -> None:
        one = Poster(f"http://{poster.name}", most_connections=1)
        given_up = asyncio.create_task(one.post(b"no", seconds=5))
        late = one.start(b"no", answers.append, seconds=5)
        waiting = asyncio.create_task(one.post(b"ok", seconds=5))
        await asyncio.sleep(0.02)
        given_up.cancel()
        late.cancel()
        assert (await waiting).body() == b"ok"
        assert (await one.post(b"ok", seconds=5)).body() == b"ok"
        await one.close()

    answers: list[Response] = []
    asyncio.run(with_server(door, ask))
    assert not answers


def test_an_answer_that_comes_as_its_task_is_cancelled_fails_nothing() -> None:
    sent = threading.Event()

    def door(connection: socket.socket, _stopping: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        sent.set()
        connection.recv(65_536)

    failures: list[Any] = []

    async def ask(port: int) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: failures.append(context))
        poster = Poster(f"http://127.0.0.1:{port}")
        await poster.warm(1, seconds=PATIENCE_SECONDS)
        post = asyncio.create_task(poster.post(b"{}", seconds=PATIENCE_SECONDS))
        await asyncio.sleep(0)
        # The loop stands still until the answer is there: in its next turn, the task is cancelled
        # first, the answer is read second, and the task hears of the first last.
        assert sent.wait(PATIENCE_SECONDS)
        await asyncio.sleep(0)
        post.cancel()
        with pytest.raises(asyncio.CancelledError):
            await post
        await poster.close()

    with speaking(door) as port:
        asyncio.run(ask(port))
    assert not failures


def test_a_request_that_waits_for_a_connection_ends_with_the_poster() -> None:
    async def door(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def ask(poster: Poster) -> None:
        one = Poster(f"http://{poster.name}", most_connections=1)
        for _ in range(3):
            one.start(b"{}", answers.append, seconds=60)
        await asyncio.sleep(0.02)
        assert not answers
        await one.close()
        while len(answers) < 3:
            await asyncio.sleep(0.001)

    answers: list[Response] = []
    asyncio.run(with_server(door, ask))
    assert all(isinstance(each.failure, FAILURES) for each in answers)


@given(st.integers(65_400, 65_700), st.lists(st.integers(0, 65_700), max_size=3))
def test_the_bound_of_a_head_is_the_same_in_whatever_pieces_it_comes(
    size: int, cuts: list[int]
) -> None:
    start = b"HTTP/1.1 200 OK\r\na: "
    whole = start + b"b" * (size - len(start) - 4) + b"\r\n\r\n"
    reader, response = Reader(), Response(largest=LARGEST_ANSWER)
    reader.begin(response)
    places = [0, *sorted(cuts), size]
    for begin, end in pairwise(places):
        reader.feed(whole[begin:end])
    assert response.has_head is (size <= 65_536)
    assert isinstance(response.failure, BadAnswer) is (size > 65_536)
