"""Any bytes, cut anywhere: never a failure, and each request answered once and in order."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from itertools import pairwise

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.webserver.application import Served, served
from tests.webserver.client import Client, Reply, chunked, get, post

_QUIETLY = settings(
    max_examples=examples(80),
)
# Between two writes, so that most of them are read one by one.
_APART_SECONDS = 0.001


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(head=8_000, body=5_000) as found:
        yield found


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


def _exchange(server: Served, pieces: list[bytes]) -> list[Reply]:
    """All responses to what is sent; the client says that it is done."""
    with Client(server.port) as client:
        with contextlib.suppress(OSError):  # the server may have had enough of it
            for n, piece in enumerate(pieces):
                if n:
                    time.sleep(_APART_SECONDS)
                client.send(piece)
            client.sock.shutdown(socket.SHUT_WR)
        try:
            return client.replies()
        except ConnectionResetError:
            return []


_TOKENS = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"POST /a HTTP/1.1\r\n",
        b"Host: localhost\r\n",
        b"\r\n",
        b"\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"3\r\nabc\r\n",
        b"0\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"Upgrade: h2c\r\n",
        b"Connection: Upgrade\r\n",
        b"Connection: close\r\n",
        b"Expect: 100-continue\r\n",
        b" ",
        b":",
        b"abc",
        b"\x00",
        b"HTTP/1.0\r\n",
        b"Connection: keep-alive\r\n",
        b"\xff",
        b"GET",
        b"/%zz?",
        b"\t",
    ]
)


@_QUIETLY
@given(st.lists(st.one_of(_TOKENS, st.binary(max_size=20)), max_size=40), st.lists(st.integers(0)))
def test_any_bytes_are_answered_or_refused(
    server: Served, tokens: list[bytes], cuts: list[int]
) -> None:
    replies = _exchange(server, _pieces(b"".join(tokens), cuts[:6]))
    assert {each.status for each in replies} <= {100, 200, 400, 408, 413, 415, 431}
    with server.client() as other:
        assert other.send(get("/after")).reply().json["PATH_INFO"] == "/after"


_UPGRADE = ("Connection: Upgrade", "Upgrade: h2c")
_BODIES = st.binary(max_size=300)
_WRITERS = st.sampled_from(
    [
        lambda path, body: post(path, body),
        lambda path, body: post(path, body, *_UPGRADE),
        lambda path, body: chunked(path, body[:7], body[7:]) if body[7:] else post(path, body),
        lambda path, body: chunked(path, *(bytes([each]) for each in body[:30])),
        lambda path, body: chunked(path, b"x", trailers=b"X-Trailer: a\r\n"),
        lambda path, body: get(path),
        lambda path, body: get(path, *_UPGRADE),
        lambda path, body: b"\r\n" + get(path, "Connection: keep-alive", version="1.0"),
        lambda path, body: get(path, "X-Long: " + "a" * 3_000),
    ]
)


@_QUIETLY
@given(
    st.lists(st.tuples(_WRITERS, _BODIES), min_size=1, max_size=25),
    st.lists(st.integers(0, 20_000), max_size=12),
)
def test_each_request_is_answered_once_however_it_is_cut(
    server: Served, requests: list[tuple[object, bytes]], cuts: list[int]
) -> None:
    written = [
        writer(f"/{n}", body)  # type: ignore[operator]
        for n, (writer, body) in enumerate(requests)
    ]
    replies = _exchange(server, _pieces(b"".join(written), cuts))
    assert [each.json["PATH_INFO"] for each in replies] == [f"/{n}" for n in range(len(requests))]


_OTHERS = [
    "GET / RTSP/1.0",
    "POST /a RTSP/1.1",
    "OPTIONS * RTSP/1.0",
    "DESCRIBE / RTSP/1.0",
    "SOURCE /radio ICE/1.0",
    "SOURCE  /  ICE/1.0",
    "GET / ICE/1.0",
]
# What looks like one and is none.
_LIKE_OTHERS = st.lists(
    st.one_of(st.sampled_from(_OTHERS).map(lambda line: f"{line}\r\n\r\n".encode()), _BODIES),
    max_size=3,
).map(b"".join)
_BEFORE_OTHERS = st.sampled_from(
    [
        lambda path, body: post(path, body, f"X: {_OTHERS[0]}"),
        lambda path, body: post(path, body, *_UPGRADE),
        lambda path, body: chunked(path, *filter(None, (body[:7], body[7:]))),
        lambda path, body: chunked(path, b"x", trailers=b"X: SOURCE / ICE/1.0\r\n"),
        lambda path, body: get(path, f"X:{_OTHERS[4]}", f"Y: x{_OTHERS[4]}"),
    ]
)


@_QUIETLY
@given(
    st.lists(st.tuples(_BEFORE_OTHERS, _LIKE_OTHERS), max_size=5),
    st.sampled_from(["", "\r\n", "\r", "\n\r\r\n"]),
    st.sampled_from(_OTHERS),
    st.lists(st.integers(-60, 0) | st.integers(0, 9_000), max_size=12),
)
def test_a_request_line_of_another_protocol_is_refused_however_it_comes(
    server: Served,
    before: list[tuple[object, bytes]],
    blank: str,
    line: str,
    cuts: list[int],
) -> None:
    written = [
        writer(f"/{n}", body)  # type: ignore[operator]
        for n, (writer, body) in enumerate(before)
    ]
    other = f"{blank}{line}\r\nHost: localhost\r\n\r\n".encode()
    replies = _exchange(server, _pieces(b"".join([*written, other]), cuts))
    assert [each.status for each in replies] == [200] * len(before) + [400], replies
    assert [each.json["PATH_INFO"] for each in replies[:-1]] == [
        f"/{n}" for n in range(len(before))
    ]


def _as_h11_reads(data: bytes) -> list[tuple[str, str, bytes]]:
    """Method, target and body of each whole request, up to the first that h11 refuses."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    found: list[tuple[str, str, bytes]] = []
    method, target, body = "", "", b""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            return found
        if isinstance(event, h11.Request):
            method, target, body = event.method.decode(), event.target.decode("latin-1"), b""
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            found.append((method, target, body))
            connection.send(h11.Response(status_code=400, headers=[("Content-Length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is not h11.DONE:
                return found
            # Empty lines between two requests are to be overlooked (RFC 9112, 2.2): h11 does not.
            rest = connection.trailing_data[0].lstrip(b"\r\n")
            connection = h11.Connection(h11.SERVER)
            connection.receive_data(rest)
        else:
            return found


_SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
_FRAMINGS = st.lists(
    st.sampled_from(
        [
            b"Content-Length: 3\r\n",
            b"Content-Length: 0\r\n",
            b"Content-Length: 46\r\n",
            b"content-length:3\r\n",
            b"Content-Length: 3 \r\n",
            b"Content-Length:\t3\r\n",
            b"Content-Length: 03\r\n",
            b"Content-Length: 3,3\r\n",
            b"Content-Length: -1\r\n",
            b"Content-Length : 3\r\n",
            b"Content_Length: 3\r\n",
            b"Content-Length: \r\n",
            b"Transfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: Chunked\r\n",
            b"Transfer-Encoding: gzip, chunked\r\n",
            b"Transfer-Encoding: chunked, gzip\r\n",
            b"Transfer-Encoding: \x0bchunked\r\n",
            b"Transfer-Encoding:\tchunked\r\n",
            b"Transfer-Encoding : chunked\r\n",
            b"Transfer-Encoding: identity\r\n",
            b"Transfer-Encoding: chunked\r\n chunked\r\n",
            b"Transfer_Encoding: chunked\r\n",
            b"Upgrade: h2c\r\n",
            b"Connection: Upgrade\r\n",
            b"Connection: close\r\n",
            b"Connection: keep-alive\r\n",
            b"X: a\rY: b\r\n",
            b"X: a\nY: b\r\n",
            b"X: \x7f\r\n",
            b"Host: other\r\n",
            b"\tX: a\r\n",
            b"X\r\n",
            b"X: a\r\n",
        ]
    ),
    max_size=4,
)
_LINES = st.sampled_from(
    [
        b"POST /a HTTP/1.1\r\n",
        b"POST /a HTTP/1.1\r\n",
        b"POST /a HTTP/1.1\r\n",
        b"POST /a HTTP/1.0\r\n",
        b"GET /a HTTP/1.1\r\n",
        b"PUT /a?b HTTP/1.1\r\n",
        b"CONNECT /a HTTP/1.1\r\n",
        b"HEAD /a HTTP/1.1\r\n",
        b"POST /a HTTP/1.1 \r\n",
        b"POST\t/a HTTP/1.1\r\n",
        b"POST /a HTTP/01.1\r\n",
    ]
)
_CONTENTS = st.lists(
    st.sampled_from(
        [
            b"abc",
            b"3\r\nabc\r\n",
            b"0\r\n\r\n",
            b"03\r\nabc\r\n",
            b"3;x=y\r\nabc\r\n",
            b"",
            b"0x3\r\nabc\r\n",
            b"3 \r\nabc\r\n",
            b"3\nabc\r\n",
            b"+3\r\nabc\r\n",
            b"0;\r\n\r\n",
            b"0\r\nX: y\r\n\r\n",
            b"0\r\n" + _SMUGGLED,
            _SMUGGLED,
            b"2e\r\n",
            b"\r\n",
            b"0\n\n",
            b"ffffffffffffffff\r\n",
            b"00000000000000000003\r\nabc\r\n",
            b"0_3\r\nabc\r\n",
        ]
    ),
    max_size=4,
)


@settings(_QUIETLY, max_examples=examples(400))
@given(_LINES, _FRAMINGS, _CONTENTS)
def test_nothing_is_read_that_another_parser_reads_otherwise(
    server: Served, line: bytes, framing: list[bytes], contents: list[bytes]
) -> None:
    """What this server takes for requests is what h11 does, or less."""
    data = line + b"Host: localhost\r\n" + b"".join(framing) + b"\r\n" + b"".join(contents)
    theirs = _as_h11_reads(data + _SMUGGLED)
    with Client(server.port) as client:
        client.send(data + _SMUGGLED)
        client.sock.shutdown(socket.SHUT_WR)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.sock.recv(65_536):
                received += piece
    ours = _as_answered(received, is_head=line.startswith(b"HEAD"))
    ours = [(method, target, body) for method, target, body in ours if method]
    wanted = [(method, target, body) for method, target, body in theirs if method != "HEAD"]
    assert ours == wanted[: len(ours)], data


def _as_answered(received: bytes, *, is_head: bool) -> list[tuple[str, str, bytes]]:
    """The requests that the application saw, as it told of them."""
    found = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            return found
        if is_head:
            is_head = False
            continue
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        seen = json.loads(received[:size])
        query = f"?{seen['QUERY_STRING']}" if seen["QUERY_STRING"] else ""
        body = seen["body"].encode("latin-1")
        found.append((seen["REQUEST_METHOD"], seen["PATH_INFO"] + query, body))
        received = received[size:]
    return found


_AGAIN = st.lists(
    st.tuples(
        st.sampled_from(["/a", "/a?b=c", "/%C3%9F"]),
        st.sampled_from([(), ("X-One: 1",), ("X-One: 2", "X-One: 3"), ("Expect: 100-continue",)]),
        st.one_of(st.none(), st.binary(min_size=2, max_size=4)),
        st.sampled_from(["whole", "cut", "joined", "chunked", "close"]),
    ),
    min_size=2,
    max_size=30,
)


@_QUIETLY
@given(_AGAIN)
def test_a_repeated_head_is_read_as_the_first_one(
    server: Served, requests: list[tuple[str, tuple[str, ...], bytes | None, str]]
) -> None:
    """Each answered before the next is sent, so that most come as they were sent."""
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(server.client())
        for path, headers, body, how in requests:
            if how == "close":
                headers = (*headers, "Connection: close")
            if body is None:
                data = get(path, *headers)
            elif how == "chunked":
                data = chunked(path, body, b"more")
                headers, body = (), body + b"more"
            else:
                data = post(path, body, *headers)
            more = get("/last") if how == "joined" else b""
            for piece in _pieces(data + more, [len(data) - 1] if how == "cut" else []):
                client.send(piece)
            reply = client.reply()
            while reply.status == 100:
                reply = client.reply()
            expected = server.client().send(data.replace(b"Expect", b"X-Expect", 1)).reply().json
            found = reply.json
            assert found["body"].encode("latin-1") == (body or b"")
            for name in found.keys() - {"REMOTE_PORT", "HTTP_EXPECT", "CONTENT_LENGTH"}:
                assert found[name] == expected[name], name
            if more:
                assert client.reply().json["PATH_INFO"] == "/last"
            if how == "close":
                client = stack.enter_context(server.client())
