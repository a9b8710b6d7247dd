"""Limits, retries and broken connections."""

import random
import socket
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tidemark import Management, Tidemark, Unreachable, errors


@pytest.fixture(scope="module")
def slow_key(management: Management) -> str:
    """A key that may make two calls a second."""
    tier = management.tiers.create(
        name=f"slow-{uuid.uuid4().hex[:8]}",
        rank=random.randrange(100, 30_000),
        requests_per_second=2.0,
        requests_burst=2,
    )
    customer = management.customers.create(name="Slow")
    return management.keys.create(customer=customer.id, tier=tier.name, name="slow").secret


def test_a_limited_call_waits_as_the_service_says(url: str, slow_key: str) -> None:
    with Tidemark(url, slow_key) as client:
        slots = [client.rewind.get_rewind_coverage().latest_slot or 0 for _ in range(5)]
    assert slots == sorted(slots) and len(slots) == 5


def test_without_retries_it_is_an_error_that_says_how_long(url: str, slow_key: str) -> None:
    with Tidemark(url, slow_key, retry_seconds=0) as client, pytest.raises(
        errors.RateLimited
    ) as refused:  # fmt: skip
        for _ in range(20):
            client.rewind.get_rewind_coverage()
    assert refused.value.status == 429 and refused.value.retry_after is not None


def test_a_text_that_is_not_a_key_is_refused(url: str) -> None:
    with Tidemark(url, "tmk_" + "a" * 39) as client, pytest.raises(errors.KeyMalformed) as refused:
        client.node.whoami()
    assert refused.value.status == 401


def test_a_service_that_never_responded_is_not_tried_again() -> None:
    began = time.monotonic()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Tidemark(address) as client, pytest.raises(Unreachable) as failed:
            client.node.whoami()
    assert str(failed.value).startswith(f"no connection to {address}: ")
    with Tidemark("http://nothing.invalid") as client, pytest.raises(Unreachable):
        client.node.whoami()
    assert time.monotonic() - began < 10  # 30 is for how long other calls are repeated


class _Slot(BaseHTTPRequestHandler):
    """Responds to every call with 7, and ends the connection."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"jsonrpc": "2.0", "id": 1, "result": 7}')

    def log_message(self, *_args: object) -> None:
        pass


def test_a_service_that_responded_before_is_tried_again() -> None:
    with HTTPServer(("127.0.0.1", 0), _Slot) as server, ThreadPoolExecutor() as pool:
        port = server.server_address[1]
        client = pool.submit(_two_slots, f"http://127.0.0.1:{port}", server.server_close)
        server.handle_request()
        while server.fileno() != -1:
            time.sleep(0.01)
        time.sleep(0.5)  # a second call finds no server
        with HTTPServer(("127.0.0.1", port), _Slot) as again:
            again.handle_request()
        assert client.result() == (7, 7)


def _two_slots(url: str, between: Callable[[], None]) -> tuple[int, int]:
    with Tidemark(url) as tidemark:
        first = tidemark.call("getSlot")
        between()
        return first, tidemark.call("getSlot")


def test_a_url_without_a_scheme_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="not the URL of a service"):
        Tidemark("localhost:8000")
