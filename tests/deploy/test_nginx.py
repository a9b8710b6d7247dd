"""What only nginx does: limits of its own, in front of the whole service."""

import contextlib
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.proxies import CALL, CALLER, Proxy, in_front, trusting
from tests.deploy.starting import needs, nginx

pytestmark = [
    needs("nginx"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]


@pytest.fixture
def proxy(
    settings: Any, tmp_path: Path, issue: Callable[..., Any], tier: Callable[..., Any]
) -> Iterator[Proxy]:
    """nginx in front of the whole service."""
    wide = {"requests_per_second": 10_000, "requests_burst": 10_000, "stream_connections": 2_000}
    issued = issue(tier=tier("basic", **wide))
    with trusting(settings, "127.0.0.1/32"), in_front(nginx, tmp_path, issued) as found:
        yield found


def _secure(proxy: Proxy, source: str = "127.0.0.1") -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(proxy.certificate))
    raw = socket.create_connection(("127.0.0.1", proxy.port), 60, source_address=(source, 0))
    return context.wrap_socket(raw, server_hostname="localhost")


def test_a_body_that_stops_never_reaches_the_service(proxy: Proxy) -> None:
    slow = []
    for _ in range(40):
        secure = _secure(proxy)
        secure.sendall(
            b"POST /historical HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
        )
        slow.append(secure)
    assert proxy.address() == CALLER
    for secure in slow:
        secure.close()


def test_a_large_body_is_refused_in_the_form_of_the_service(proxy: Proxy) -> None:
    for path, maximum in (("/historical", 262_144), ("/rewind", 12_582_912)):
        status, headers, body = proxy.ask("POST", path, "x" * 13_000_000)
        assert status == 413 and headers["Access-Control-Allow-Origin"] == "*"
        error = json.loads(body)["error"]
        assert error["code"] == -32600
        assert error["data"] == {"reason": "body_too_large", "maximum": maximum}


def test_one_address_has_so_many_connections(proxy: Proxy) -> None:
    head = b"POST /historical HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(256):  # a connection counts once nginx has read a request's head
            held = stack.enter_context(contextlib.closing(_secure(proxy, "127.0.0.7")))
            held.sendall(head + b"Content-Length: 9\r\n\r\n")
        refused = stack.enter_context(contextlib.closing(_secure(proxy, "127.0.0.7")))
        length = b"Content-Length: %d\r\n\r\n" % len(CALL)
        refused.sendall(head + b"Connection: close\r\n" + length + CALL.encode())
        answer = b"".join(iter(lambda: refused.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 503") and b"Retry-After: 1\r\n" in answer
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        assert error["data"]["reason"] == "too_many_connections"
        assert proxy.address() == CALLER  # another address is not


@pytest.mark.soak
def test_there_is_room_for_more_websockets_than_debians_768(proxy: Proxy) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(1_000):
            context = ssl.create_default_context(cafile=str(proxy.certificate))
            raw = socket.create_connection(
                ("127.0.0.1", proxy.port), 60, source_address=(f"127.0.1.{number // 200}", 0)
            )
            opened = stack.enter_context(
                contextlib.closing(context.wrap_socket(raw, server_hostname="localhost"))
            )
            head = (
                "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            )
            head += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            opened.sendall(f"{head}Authorization: {proxy.key}\r\n\r\n".encode())
            assert opened.recv(65_536).startswith(b"HTTP/1.1 101"), number
