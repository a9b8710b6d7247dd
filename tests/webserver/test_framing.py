"""Where a request begins and ends, and which ones are refused for it."""

import socket
from collections.abc import Iterator

import pytest

from tests.webserver.application import Served, served
from tests.webserver.client import chunked, get, post


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(body=1_000) as found:
        yield found


def test_a_body_comes_whole_however_it_is_sent(server: Served) -> None:
    with server.client() as client:
        for byte in post("/a", b"hello"):
            client.send(bytes([byte]))
        assert client.reply().json["body"] == "hello"
        assert client.send(chunked("/b", b"he", b"l", b"lo")).reply().json["body"] == "hello"
        assert client.send(post("/c")).reply().json["body"] == ""


def test_a_chunked_body_has_its_length_for_the_application(server: Served) -> None:
    with server.client() as client:
        seen = client.send(chunked("/", b"abc", b"defg")).reply().json
    assert seen["CONTENT_LENGTH"] == "7" and "HTTP_TRANSFER_ENCODING" not in seen


def test_what_stands_behind_a_chunked_body_is_no_header(server: Served) -> None:
    trailers = b"X-Forwarded-For: 6.6.6.6\r\nAuthorization: stolen\r\n"
    with server.client() as client:
        seen = client.send(chunked("/", b"a", trailers=trailers)).reply().json
        assert "HTTP_X_FORWARDED_FOR" not in seen and "HTTP_AUTHORIZATION" not in seen
        assert client.send(get("/next")).reply().json["PATH_INFO"] == "/next"


def test_trailers_without_an_end_are_refused(server: Served) -> None:
    with server.client() as client:
        client.send(chunked("/", b"a")[:-2] + b"X-Long: ")
        for _ in range(8):
            client.send(b"a" * 32_768)
        assert client.reply().status == 431
        assert client.is_closed


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
_CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    "request_bytes",
    [
        get("/", _CHUNKED, "Content-Length: 5", method="POST") + b"0\r\n\r\n" + SMUGGLED,
        get("/", "Content-Length: 5", _CHUNKED, method="POST") + b"0\r\n\r\n" + SMUGGLED,
        get("/", "Content-Length: 5", "Content-Length: 5", method="POST") + b"aaaaa",
        get("/", "Content-Length: 0", f"Content-Length: {len(SMUGGLED)}", method="POST") + SMUGGLED,
        get("/", "Content-Length: 5, 5", method="POST") + b"aaaaa",
        get("/", "Content-Length: +5", method="POST") + b"aaaaa",
        get("/", "Content-Length : 5", method="POST") + b"aaaaa",
        get("/", "Content-Length: 0x5", method="POST") + b"aaaaa",
        get("/", "Content-Length: 1e1", method="POST") + b"aaaaaaaaaa",
        get("/", "Transfer-Encoding: xchunked", method="POST") + b"0\r\n\r\n" + SMUGGLED,
        get("/", "Transfer-Encoding: gzip, chunked", method="POST") + b"0\r\n\r\n",
        get("/", "Transfer-Encoding: identity", method="POST") + SMUGGLED,
        get("/", _CHUNKED, _CHUNKED, method="POST") + b"0\r\n\r\n",
        get("/", "Transfer-Encoding:\r\n chunked", method="POST") + b"0\r\n\r\n",
        get("/", _CHUNKED, method="POST", version="1.0") + b"0\r\n\r\n",
        get("/", _CHUNKED, method="POST") + b"5;x=\n\r\naaaaa\r\n0\r\n\r\n",
        get("/", _CHUNKED, method="POST") + b"fffffffffffffffff\r\n",
        get("/", _CHUNKED, method="POST") + b"-1\r\n",
        get("/", _CHUNKED, method="POST") + b"1\r\naXX0\r\n\r\n",
        b"GET / HTTP/1.1\nHost: localhost\n\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX y: a\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/0.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.2\r\nHost: localhost\r\n\r\n",
        b"GET /\r\nHost: localhost\r\n\r\n",
        b"(x) / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"FOO / RTSP/1.0\r\nHost: localhost\r\n\r\n",
        b"GET historical HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET ftp://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nhost: other\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:  \r\n\r\n",
        b"GET / HTTP/1.0\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: user@localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost/x\r\n\r\n",
        b"GET http://other/ HTTP/1.1\r\n\r\n",
        b"GET http://other/ HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET http:///path HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://user@other/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / RTSP/1.0\r\nHost: localhost\r\n\r\n",
        b"DESCRIBE / RTSP/1.0\r\nHost: localhost\r\n\r\n",
        b"SETUP / RTSP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / RTSP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        b"GET / ICE/1.0\r\nHost: localhost\r\n\r\n",
        b"SOURCE / ICE/1.0\r\nHost: localhost\r\n\r\n",
    ],
    ids=repr,
)
def test_what_could_be_read_in_two_ways_is_refused(server: Served, request_bytes: bytes) -> None:
    _assert_refused(server, request_bytes, 400)


@pytest.mark.parametrize(
    "request_bytes",
    [
        get("localhost:80", f"Content-Length: {len(SMUGGLED)}", method="CONNECT") + SMUGGLED,
        get("/", f"Content-Length: {len(SMUGGLED)}", method="CONNECT") + SMUGGLED,
        b"NONE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"get / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\r\nPOSTS / HTTP/1.1\r\nContent-Length: 40\r\n\r\n" + SMUGGLED,
    ],
    ids=repr,
)
def test_a_method_that_no_path_has_is_refused(server: Served, request_bytes: bytes) -> None:
    _assert_refused(server, request_bytes, 501)


def _assert_refused(server: Served, request_bytes: bytes, status: int) -> None:
    server.application.calls.clear()
    with server.client() as client:
        client.send(request_bytes)
        reply = client.reply()
        assert reply.status == status and reply.headers["connection"] == "close"
        # Nothing behind it is read as a request.
        client.send(SMUGGLED)
        client.sock.shutdown(socket.SHUT_WR)
        assert client.is_closed
    assert server.application.calls == []


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        ("http://other/a?b=c", "other", "/a"),
        ("http://other:81", "other:81", "/"),
        ("HTTPS://other/", "other", "/"),
        ("http://[::1]:81/a", "[::1]:81", "/a"),
        ("http://other?b=c", "other", "/"),
        ("/a", "localhost", "/a"),
    ],
)
def test_an_absolute_target_names_the_host(
    server: Served, target: str, host: str, path: str
) -> None:
    with server.client() as client:
        for _ in range(2):  # the second time by what is remembered of the head
            seen = client.send(get(target)).reply().json
            assert (seen["HTTP_HOST"], seen["PATH_INFO"]) == (host, path)


def test_http_1_0_needs_no_host(server: Served) -> None:
    with server.client() as client:
        assert client.send(b"GET /a HTTP/1.0\r\n\r\n").reply().json["PATH_INFO"] == "/a"
        assert client.is_closed


def test_http_1_0_is_kept_open_where_the_client_asks(server: Served) -> None:
    with server.client() as client:
        for _ in range(2):
            client.send(get("/", "Connection: keep-alive", version="1.0"))
            assert client.reply().headers["connection"] == "keep-alive"
        client.send(get("/", version="1.0"))
        assert client.reply().headers["connection"] == "close"
        assert client.is_closed


def test_a_client_that_closes_is_closed_after_its_response(server: Served) -> None:
    server.application.calls.clear()
    with server.client() as client:
        client.send(get("/first", "Connection: close") + get("/second"))
        assert [each.status for each in client.replies()] == [200]
    assert server.application.calls == ["/first"]


def test_a_body_above_the_maximum_is_refused_by_its_length(server: Served) -> None:
    for length in (1_001, 10**9, 10**18, 10**30):
        with server.client() as client:
            client.send(get("/", f"Content-Length: {length}", method="POST"))
            assert client.reply().status in ((413,) if length < 10**19 else (400, 413))
            assert client.is_closed


def test_a_chunked_body_is_refused_once_it_is_too_large(server: Served) -> None:
    with server.client() as client:
        client.send(chunked("/", b"a" * 600, b"b" * 400))
        assert len(client.reply().json["body"]) == 1_000
        client.send(chunked("/", b"a" * 600, b"b" * 401))
        assert client.reply().status == 413
        assert client.is_closed


def test_a_multipart_body_is_refused_before_it_comes(server: Served) -> None:
    for kind in ("multipart/form-data; boundary=x", "Multipart/Mixed", "  multipart/x"):
        with server.client() as client:
            client.send(get("/", f"Content-Type: {kind}", "Content-Length: 9", method="POST"))
            assert client.reply().status == 415
            assert client.is_closed


def test_a_client_that_waits_for_it_is_told_to_continue(server: Served) -> None:
    with server.client() as client:
        client.send(get("/", "Content-Length: 3", "Expect: 100-continue", method="POST"))
        assert client.reply().status == 100
        assert client.send(b"abc").reply().json["body"] == "abc"
        # Without waiting, without a body, and of the version that knows no such thing.
        client.send(post("/", b"", "Expect: 100-continue"))
        assert client.reply().status == 200
        client.send(post("/", b"abc", "Expect: 100-continue", version="1.0"))
        assert client.reply().status == 200


def test_what_would_be_refused_is_not_asked_for(server: Served) -> None:
    with server.client() as client:
        client.send(get("/", "Content-Length: 2000", "Expect: 100-continue", method="POST"))
        assert client.reply().status == 413


def test_a_client_that_waits_behind_another_request_is_told_in_its_turn() -> None:
    with served() as server, server.client() as client:
        client.send(get("/held"))
        server.application.wait_for(1)
        client.send(get("/", "Content-Length: 3", "Expect: 100-continue", method="POST"))
        server.application.gate.set()
        assert client.reply().status == 200
        assert client.reply().status == 100
        assert client.send(b"abc").reply().json["body"] == "abc"


_UPGRADE = (
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAAQAAP__",
)


def test_an_upgrade_is_answered_in_http_1_1(server: Served) -> None:
    with server.client() as client:
        client.send(get("/a", *_UPGRADE) + post("/b", b"abc", *_UPGRADE) + get("/c"))
        seen = [client.reply().json for _ in range(3)]
    assert [(each["PATH_INFO"], each["body"]) for each in seen] == [
        ("/a", ""),
        ("/b", "abc"),
        ("/c", ""),
    ]


def test_thousands_of_upgrades_in_one_go_are_answered(server: Served) -> None:
    one = get("/", "Connection: Upgrade", "Upgrade: h2c")
    with server.client() as client:
        for _ in range(4):
            client.send(one * 500)
            assert {client.reply().status for _ in range(500)} == {200}


def test_head_has_the_head_alone(server: Served) -> None:
    with server.client() as client:
        client.send(get("/big?500", method="HEAD"))
        reply = client.reply(head_only=True)
        assert (reply.status, reply.headers["content-length"]) == (200, "500")
        assert client.send(get("/a")).reply().json["PATH_INFO"] == "/a"


def test_no_content_has_no_length(server: Served) -> None:
    with server.client() as client:
        reply = client.send(get("/empty") + get("/a")).reply()
        assert reply.status == 204 and "content-length" not in reply.headers
        assert client.reply().json["PATH_INFO"] == "/a"


def test_responses_keep_the_order_of_requests() -> None:
    with served() as server, server.client() as client:
        paths = [f"/{n}" for n in range(300)]
        client.send(get("/held") + b"".join(map(get, paths)))
        server.application.wait_for(1)
        server.application.gate.set()
        assert client.reply().json["PATH_INFO"] == "/held"
        assert [client.reply().json["PATH_INFO"] for _ in paths] == paths


def test_thousands_of_requests_behind_another_are_answered() -> None:
    with served() as server, server.client() as client:
        client.send(get("/held"))
        server.application.wait_for(1)
        client.send(get("/now") * 2_000)
        server.application.gate.set()
        assert client.reply().json["PATH_INFO"] == "/held"
        assert {client.reply().body for _ in range(2_000)} == {b"now"}


def test_a_bad_request_behind_good_ones_is_refused_in_its_turn(server: Served) -> None:
    with server.client() as client:
        client.send(get("/a") + post("/b", b"x") + b"nonsense\r\n\r\n" + get("/c"))
        assert [each.status for each in client.replies()] == [200, 200, 400]


def test_a_client_that_has_sent_its_last_is_answered_whole() -> None:
    with served() as server, server.client() as client:
        client.send(get("/held") + get("/a") + post("/b", b"x"))
        client.sock.shutdown(socket.SHUT_WR)
        server.application.wait_for(1)
        server.application.gate.set()
        paths = [each.json["PATH_INFO"] for each in client.replies()]
        assert paths == ["/held", "/a", "/b"]


def test_half_a_request_and_then_the_end_is_no_request(server: Served) -> None:
    server.application.calls.clear()
    with server.client() as client:
        client.send(post("/", b"abc")[:-1])
        client.sock.shutdown(socket.SHUT_WR)
        assert client.is_closed
    assert server.application.calls == []
