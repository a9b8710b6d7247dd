"""deploy/nginx/tidemark.conf in the real nginx, in front of the whole service."""

import contextlib
import json
import shutil
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.proxies import (
    CALL,
    CALLER,
    DEPLOY,
    Proxy,
    announce_fate,
    in_front,
    program,
    replaced,
    trusting,
)
from tests.localnet_process import free_ports

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
pytestmark = [
    pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]


@pytest.fixture
def behind(settings: Any, tmp_path: Path, issue: Callable[..., Any]) -> Iterator[Any]:
    """`behind()` is nginx in front of the whole service. By default 127.0.0.0/8 is trusted."""
    with contextlib.ExitStack() as stack:

        def start(*, trusted: str = "127.0.0.0/8", **limits: Any) -> Proxy:
            stack.enter_context(trusting(settings, trusted))
            issued = issue(requests_per_second=1_000, requests_burst=1_000)
            return stack.enter_context(in_front(_nginx, tmp_path, issued, **limits))

        yield start


def _configuration(folder: Path, port: int, plain: int, service: int, geyser: int) -> Path:
    site = replaced(
        (DEPLOY / "nginx" / "tidemark.conf").read_text(),
        (
            ("    listen [::]:443 ssl http2;\n", ""),
            ("    listen [::]:80;\n", ""),
            ("listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;"),
            ("listen 80;", f"listen 127.0.0.1:{plain};"),
            ("server 127.0.0.1:8000 ", f"server 127.0.0.1:{service} "),
            ("server 127.0.0.1:10010;", f"server 127.0.0.1:{geyser};"),
            ("/etc/ssl/rpc.example.pem", str(folder / "certificate.pem")),
            ("/etc/ssl/rpc.example.key", str(folder / "key.pem")),
            ("server_name rpc.example *.rpc.example;", "server_name localhost;"),
        ),
    )
    paths = "\n".join(
        f"    {kind}_temp_path {folder / kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; pid {folder / 'pid'}; error_log {folder / 'errors'}; worker_processes 1;\n"
        f"events {{}}\nhttp {{\n    access_log off;\n{paths}\n{site}}}\n"
    )
    return file


@contextlib.contextmanager
def _nginx(folder: Path, service: int, geyser: int) -> Iterator[int]:
    port, plain = free_ports(2)
    (folder / "plain").write_text(str(plain))
    file = _configuration(folder, port, plain, service, geyser)
    assert NGINX is not None
    command = [NGINX, "-p", str(folder), "-e", str(folder / "errors"), "-c", str(file)]
    with program(command, port, log=folder / "output"):
        yield port


def test_calls_pages_and_checks_of_health_pass_through_tls(
    behind: Callable[..., Proxy], tmp_path: Path
) -> None:
    proxy = behind()
    assert proxy.ask("GET", "/healthz")[0] == 200
    # What /readyz says depends on processes that do not run here; it is the service that says it.
    assert "checks" in json.loads(proxy.ask("GET", "/readyz")[2])
    status, _, body = proxy.ask("POST", "/historical", CALL)
    assert status == 200 and json.loads(body)["result"]["key"] is not None
    status, headers, _ = proxy.ask("GET", "/docs/")
    assert status == 200 and "text/html" in headers["Content-Type"]
    # Without TLS nothing but the way to TLS.
    plain = socket.create_connection(("127.0.0.1", int((tmp_path / "plain").read_text())), 60)
    plain.sendall(b"GET /docs/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = b"".join(iter(lambda: plain.recv(65_536), b"")).decode()
    plain.close()
    assert answer.startswith("HTTP/1.1 308") and "Location: https://localhost/docs/" in answer


def test_a_connection_is_kept_on_both_sides(behind: Callable[..., Proxy]) -> None:
    proxy = behind()
    connection = proxy.connect()
    for _ in range(20):
        connection.request("GET", "/priority/ping")
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    connection.close()


def test_http_2_is_spoken_by_the_proxy(behind: Callable[..., Proxy]) -> None:
    assert behind().http_2() == (200, "HTTP/2", "127.0.0.1")


def test_websockets_and_grpc_pass_both_ways(behind: Callable[..., Proxy]) -> None:
    proxy = behind(with_grpc=True)
    for path in ("/", "/priority"):
        with proxy.socket(path) as socket:
            assert socket.error("noMethod")["code"] == -32601
    assert proxy.pongs(3) == [1, 2, 3]


def test_the_callers_address_is_what_the_proxy_saw(behind: Callable[..., Proxy]) -> None:
    proxy = behind(trusted="127.0.0.1/32")
    assert proxy.address() == CALLER
    for name in ("X-Forwarded-For", "X_Forwarded_For", "x_forwarded-for", "X-Real-IP", "Forwarded"):
        assert proxy.address(name) == CALLER


def test_nobody_but_the_proxy_is_believed(behind: Callable[..., Proxy]) -> None:
    proxy = behind(trusted="10.9.9.9/32")
    assert proxy.address() == "127.0.0.1"
    assert proxy.address("X-Forwarded-For") == "127.0.0.1"


def test_metrics_are_for_this_machine(behind: Callable[..., Proxy]) -> None:
    proxy = behind()
    status, headers, _ = proxy.ask("GET", "/metrics")
    assert status == 403 and "WWW-Authenticate" not in headers


def test_events_come_at_once(behind: Callable[..., Proxy]) -> None:
    proxy = behind()
    stream = proxy.events()
    assert stream.status == 200
    event = stream.next()
    assert event is not None and event.name == "ready"
    for number in range(3):  # each arrives before there is another
        signature = announce_fate(proxy.issued, number)
        assert stream.fates(1) == [(signature, "sent")]
    stream.close()


def test_connections_of_the_proxy_are_not_counted(behind: Callable[..., Proxy]) -> None:
    proxy = behind(connections_per_address=1)
    open_ones = []
    for _ in range(5):
        connection = proxy.connect()
        connection.request("GET", "/priority/ping")
        response = connection.getresponse()
        assert response.status == 200
        response.read()
        open_ones.append(connection)
    for connection in open_ones:
        connection.close()


def test_a_body_that_stops_never_reaches_the_service(behind: Callable[..., Proxy]) -> None:
    proxy = behind()
    context = ssl.create_default_context(cafile=str(proxy.certificate))
    slow = []
    for _ in range(40):
        raw = socket.create_connection(("127.0.0.1", proxy.port), 60)
        secure = context.wrap_socket(raw, server_hostname="localhost")
        secure.sendall(
            b"POST /historical HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
        )
        slow.append(secure)
    assert proxy.address() == CALLER
    for secure in slow:
        secure.close()


def test_bodies_have_the_limits_of_their_paths(behind: Callable[..., Proxy]) -> None:
    proxy = behind()
    status, _, body = proxy.ask("POST", "/historical", "x" * 300_000)
    assert status == 413 and b"nginx" in body
    # Larger ones reach the service at /rewind, which has a limit of its own for each key.
    status, _, body = proxy.ask("POST", "/rewind", "x" * 300_000)
    assert status == 200 and json.loads(body)["error"]["code"] == -32700
    status, _, body = proxy.ask("POST", "/rewind", "x" * 13_000_000)
    assert status == 413 and b"nginx" in body
