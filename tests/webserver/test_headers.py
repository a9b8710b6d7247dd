"""What of a request's head reaches the application, and how much of it may be."""

from collections.abc import Iterator

import pytest

from tests.webserver.application import Served, served
from tests.webserver.client import get


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(head=4_000, headers=20) as found:
        yield found


def test_a_name_with_an_underscore_is_left_out(server: Served) -> None:
    with server.client() as client:
        seen = client.send(
            get(
                "/",
                "X-Forwarded-For: 9.9.9.9",
                "X_Forwarded_For: 6.6.6.6",
                "Content_Type: multipart/form-data",
                "Author_ization: x",
            )
        ).reply()
    assert seen.json["HTTP_X_FORWARDED_FOR"] == "9.9.9.9"
    assert not {"CONTENT_TYPE", "HTTP_AUTHOR_IZATION"} & seen.json.keys()


def test_a_header_that_comes_twice_is_joined(server: Served) -> None:
    with server.client() as client:
        headers = ("X-A: 1", "x-a: 2", "Cookie: a=1", "Cookie: b=2", "X-Empty:", "X-B: 3")
        seen = client.send(get("/", *headers)).reply().json
    assert seen["HTTP_X_A"] == "1,2"
    assert seen["HTTP_COOKIE"] == "a=1; b=2"
    assert (seen["HTTP_X_EMPTY"], seen["HTTP_X_B"]) == ("", "3")


def test_no_header_stands_for_what_the_server_says_itself(server: Served) -> None:
    with server.client() as client:
        names = ("Remote-Addr", "Path-Info", "wsgi.input", "Request-Method")
        seen = client.send(get("/a", *(f"{name}: x" for name in names))).reply().json
    assert seen["REMOTE_ADDR"] == "127.0.0.1"
    assert (seen["PATH_INFO"], seen["REQUEST_METHOD"]) == ("/a", "GET")


def test_bytes_of_a_header_come_as_they_are(server: Served) -> None:
    with server.client() as client:
        seen = client.send(get("/", "X-A: \xc3\xa9")).reply().json
    assert seen["HTTP_X_A"].encode("latin-1").decode() == "é"


@pytest.mark.parametrize(
    "headers",
    [
        [f"X-{n}: a" for n in range(40)],
        ["X-A: " + "a" * 5_000],
        ["X-A: " + "a" * 50_000],
        ["X-" + "a" * 5_000 + ": a"],
        [f"X-{n}: " + "a" * 400 for n in range(15)],
    ],
    ids=["many", "long value", "very long value", "long name", "much in all"],
)
def test_a_head_that_is_too_large_is_refused(server: Served, headers: list[str]) -> None:
    with server.client() as client:
        client.send(get("/", *headers))
        assert client.reply().status == 431
        assert client.is_closed


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nX-A: ", b"GET / HTTP/1.1\r\nX-"])
def test_a_head_without_an_end_is_refused(server: Served, start: bytes) -> None:
    with server.client() as client:
        client.send(start)
        for _ in range(20):
            client.send(b"a" * 1_000)
        assert client.reply().status == 431
        assert client.is_closed


@pytest.mark.parametrize(
    "target, path, query",
    [
        ("/a/b?c=d&e", "/a/b", "c=d&e"),
        ("/a%20b%2Fc%3Fd?e%20f", "/a b/c?d", "e%20f"),
        ("/%C3%A9", "/\xc3\xa9", ""),
        ("/%zz%", "/%zz%", ""),
        ("//a//b", "//a//b", ""),
        ("/a?b?c", "/a", "b?c"),
        ("/a#b", "/a", ""),
        ("/a?b#c", "/a", "b"),
        ("/a/../b", "/a/../b", ""),
        ("http://localhost/a?b", "/a", "b"),
        ("http://localhost", "/", ""),
        ("https://localhost:1/a", "/a", ""),
    ],
)
def test_a_target_is_split(server: Served, target: str, path: str, query: str) -> None:
    with server.client() as client:
        seen = client.send(get(target)).reply().json
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == (path, query)


def test_a_target_that_comes_in_pieces_is_one(server: Served) -> None:
    with server.client() as client:
        for byte in get("/some/path?and=query"):
            client.send(bytes([byte]))
        seen = client.reply().json
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == ("/some/path", "and=query")
