"""Each proxy of deploy/, with its shipped files, in front of the whole service."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.deploy.proxies import (
    CALL,
    CALLER,
    Proxy,
    announce_fate,
    certificate,
    in_front,
    trusting,
)
from tests.deploy.starting import EVERY, needs
from tests.localnet_process import free_ports
from tests.web_server import service_worker
from tests.webserver.serving import serving

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]
Behind = Callable[..., Proxy]


@pytest.fixture(params=[pytest.param(name, marks=needs(name)) for name in EVERY])
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def behind(
    name: str,
    settings: Any,
    tmp_path: Path,
    issue: Callable[..., Any],
    tier: Callable[..., Any],
) -> Iterator[Behind]:
    """`behind()` is a proxy in front of the whole service, which trusts 127.0.0.1."""
    with contextlib.ExitStack() as stack:

        def start(*, trusted: str = "127.0.0.1/32", **limits: Any) -> Proxy:
            stack.enter_context(trusting(settings, trusted))
            highest = tier("epic", 40, requests_per_second=10_000, requests_burst=10_000)
            issued = issue(tier=highest)
            return stack.enter_context(in_front(EVERY[name], tmp_path, issued, **limits))

        yield start


def test_calls_pages_and_events_pass_through(behind: Behind) -> None:
    proxy = behind()
    assert proxy.ask("GET", "/healthz")[0] == 200
    # What /readyz says depends on processes that do not run here; it is the service that says it.
    assert "status" in json.loads(proxy.ask("GET", "/readyz")[2])
    status, _, body = proxy.ask("POST", "/historical", CALL)
    assert status == 200 and json.loads(body)["result"]["key"] is not None
    status, headers, _ = proxy.ask("GET", "/docs/")
    assert status == 200 and "text/html" in headers["Content-Type"]
    assert proxy.http_2()[:2] == (200, "HTTP/2")
    for path in ("/", "/priority"):
        with proxy.socket(path) as socket:
            assert socket.error("noMethod")["code"] == -32601
    stream = proxy.events()
    ready = stream.next()
    assert ready is not None and ready.name == "ready"
    for number in range(3):  # each arrives before there is another
        signature = announce_fate(proxy.issued, number)
        assert stream.fates(1) == [(signature, "sent")]
    stream.close()


def test_grpc_passes_both_ways_and_refusals_keep_their_status(behind: Behind) -> None:
    proxy = behind(with_grpc=True)
    assert proxy.pongs(3) == [1, 2, 3]
    assert proxy.health() == b"\x08\x01"  # SERVING
    assert proxy.refusals(20) == {grpc.StatusCode.UNAUTHENTICATED}


def test_the_callers_address_is_what_the_proxy_saw(behind: Behind) -> None:
    proxy = behind()
    assert proxy.address() == CALLER
    for header in (
        "X-Forwarded-For",
        "X_Forwarded_For",
        "x_forwarded-for",
        "X-Real-IP",
        "Forwarded",
    ):
        assert proxy.address(header) == CALLER


def test_nobody_but_the_proxy_is_trusted(behind: Behind) -> None:
    proxy = behind(trusted="10.9.9.9/32")
    assert proxy.address() == proxy.address("X-Forwarded-For") == "127.0.0.1"


def test_metrics_are_for_this_machine(behind: Behind) -> None:
    proxy = behind()
    for path in ("/metrics", "/%6detrics"):
        status, headers, _ = proxy.ask("GET", path)
        assert status == 403 and "WWW-Authenticate" not in headers


def test_a_connection_is_kept(behind: Behind) -> None:
    connection = behind().connect()
    for _ in range(20):
        connection.request("GET", "/priority/ping")
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    connection.close()


def test_connections_of_the_proxy_are_not_counted(behind: Behind) -> None:
    proxy = behind(connections_per_address=1)
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            connection = stack.enter_context(contextlib.closing(proxy.connect()))
            connection.request("GET", "/priority/ping")
            response = connection.getresponse()
            assert response.status == 200 and response.read()


def test_bodies_have_the_limits_of_their_paths(behind: Behind) -> None:
    proxy = behind()
    status, headers, body = proxy.ask("POST", "/historical", "x" * 300_000)
    error = json.loads(body)["error"]
    assert (status, error["data"]["reason"]) == (413, "body_too_large")
    assert error["data"]["maximum"] == 262_144
    assert headers["Access-Control-Allow-Origin"] == "*"
    # /rewind takes larger ones of a key that may send them.
    status, _, body = proxy.ask("POST", "/rewind", "x" * 300_000)
    assert status == 200 and json.loads(body)["error"]["code"] == -32700


def test_every_tier_has_its_host(behind: Behind) -> None:
    from gateway.hosts import EVERY as HOSTS

    proxy = behind()
    for label in sorted(HOSTS):
        path = "/historical" if label.startswith("public") else "/priority"
        assert proxy.served_at(f"{label}.localhost", path) == label


def test_a_call_without_tls_is_refused(behind: Behind) -> None:
    proxy = behind()
    for start in (
        b"POST / HTTP/1.1\r\nAuthorization: tmk_x\r\n",
        b"POST / HTTP/1.1\r\n",
        b"GET /priority/tipinfo HTTP/1.1\r\nAuthorization: tmk_x\r\n",
        b"GET /priority/tipinfo?api_key=tmk_x HTTP/1.1\r\n",
    ):
        tail = b"Host: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        status, answer = proxy.in_clear(start + tail)
        assert status.startswith("HTTP/1.1 403") and b"tls_required" in answer
        assert b"location:" not in answer.lower()


def test_a_page_without_tls_is_redirected(behind: Behind) -> None:
    request = b"GET /docs/?a=b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    status, answer = behind().in_clear(request)
    assert status.startswith("HTTP/1.1 308")
    assert b"location: https://localhost/docs/?a=b\r\n" in answer.replace(
        b"Location:", b"location:"
    )


@pytest.mark.soak
def test_while_the_service_is_away_the_proxy_answers_in_its_form(
    name: str, tmp_path: Path, issue: Callable[..., Any]
) -> None:
    issued = issue()
    made = certificate(tmp_path)
    away, geyser = free_ports(2)
    with EVERY[name](tmp_path, away, geyser) as port:
        proxy = Proxy(port, made, issued.secret, issued)
        status, headers, body = proxy.ask("POST", "/historical", CALL)
        assert (status, headers["Retry-After"]) == (503, "1")
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert headers["Content-Type"].startswith("application/json")
        error = json.loads(body)["error"]
        assert error["data"] == {"reason": "overloaded", "retryAfterSeconds": 1}
        assert "Connect" not in error["message"]


@pytest.mark.soak
def test_a_restart_of_the_service_resets_no_call(
    name: str, settings: Any, tmp_path: Path, issue: Callable[..., Any]
) -> None:
    """Calls that cannot wait for the service are answered 503: nginx never waits, and Caddy cannot
    send a body twice.
    """
    issued = issue(requests_per_second=100_000, requests_burst=100_000)
    made = certificate(tmp_path)
    service, geyser = free_ports(2)
    with (
        trusting(settings, "127.0.0.1/32"),
        EVERY[name](tmp_path, service, geyser) as port,
        ThreadPoolExecutor(4) as threads,
    ):
        callers = Callers(Proxy(port, made, issued.secret, issued))
        with serving(service_worker(), service):
            running = [threads.submit(callers.run, verb) for verb in ("GET", "POST") * 2]
            callers.wait_for(100)
        for _ in range(3):
            time.sleep(0.3)
            with serving(service_worker(), service):
                callers.wait_for(60)
        with serving(service_worker(), service):
            callers.stops = True
            for each in running:
                each.result()
    assert callers.failures["GET"] <= {"nginx": {(503, "1")}}.get(name, set())
    assert callers.failures["POST"] <= {"haproxy": set()}.get(name, {(503, "1")})


class Callers:
    """Clients that call again and again, on connections that they keep."""

    def __init__(self, proxy: Proxy) -> None:
        self.stops = False
        self.failures: dict[str, set[tuple[int, str | None]]] = {"GET": set(), "POST": set()}
        self._proxy = proxy
        self._answered = 0

    def run(self, verb: str) -> None:
        connection = self._proxy.connect()
        headers = {"Authorization": self._proxy.key, "Content-Type": "application/json"}
        path, body = ("/historical", CALL) if verb == "POST" else ("/priority/ping", None)
        while not self.stops:
            connection.request(verb, path, body, headers)
            response = connection.getresponse()
            response.read()
            if response.status == 200:
                self._answered += 1
            else:
                self.failures[verb].add((response.status, response.headers["Retry-After"]))
            time.sleep(0.005)
        connection.close()

    def wait_for(self, count: int) -> None:
        """Until so many calls more were answered."""
        wanted = self._answered + count
        while self._answered < wanted:
            time.sleep(0.01)
