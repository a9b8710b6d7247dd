"""The real nginx in front, configured as the operators' page says."""

import contextlib
import datetime
import http.client
import ipaddress
import json
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS
from tests.priority.fate_streams import FateStream
from tests.web_server import service_worker, serving

ROOT = Path(__file__).resolve().parent.parent.parent
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
pytestmark = [
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]
# nginx itself reaches the service from 127.0.0.1.
CALLER = "127.0.0.5"
_CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "whoami"})


def as_documented() -> str:
    """The configuration of docs/deployment.md, as it is there."""
    found = re.search(
        r"```nginx\n(.*?)```", (ROOT / "docs" / "deployment.md").read_text(), re.DOTALL
    )
    assert found is not None
    return found[1]


@pytest.fixture
def behind(
    settings: Any, tmp_path: Path, issue: Callable[..., Any]
) -> Iterator[Callable[..., "Proxy"]]:
    """`behind()` is nginx in front of the whole service. By default 127.0.0.0/8 is trusted."""
    with contextlib.ExitStack() as stack:

        def start(*, trusted: str = "127.0.0.0/8", **limits: Any) -> Proxy:
            settings.TRUSTED_PROXIES = (ipaddress.ip_network(trusted),) if trusted else ()
            from gateway.addresses import _is_trusted

            _is_trusted.cache_clear()
            stack.callback(_is_trusted.cache_clear)
            service = stack.enter_context(serving(service_worker(**limits)))
            key = issue(requests_per_second=1_000, requests_burst=1_000).secret
            return stack.enter_context(_nginx(tmp_path, service, key))

        yield start


class Proxy:
    """Where nginx listens; requests go to it over TLS."""

    def __init__(self, port: int, certificate: Path, key: str) -> None:
        self.port = port
        self.key = key
        self.certificate = certificate

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.certificate))
        return http.client.HTTPSConnection(
            "localhost", self.port, context=context, timeout=60, source_address=(CALLER, 0)
        )

    def ask(
        self, method: str, path: str, body: str | None = None, header: str = ""
    ) -> tuple[int, dict[str, str], bytes]:
        """The response; `header` names one in which the caller claims another address."""
        connection = self.connect()
        try:
            headers = {"Authorization": self.key}
            if body is not None:
                headers["Content-Type"] = "application/json"
            if header:
                headers[header] = "6.6.6.6"
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, dict(response.headers), response.read()
        finally:
            connection.close()

    def address(self, header: str = "") -> str:
        """The caller's address, as the service sees it."""
        status, _, body = self.ask("POST", "/historical", _CALL, header)
        assert status == 200, body
        found: str = json.loads(body)["result"]["address"]
        return found


@contextlib.contextmanager
def _nginx(folder: Path, service: int, key: str) -> Iterator[Proxy]:
    certificate = _certificate(folder)
    (port,) = free_ports(1)
    site = as_documented()
    for documented, here in (
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;"),
        ("listen [::]:443 ssl http2;", ""),
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{service};"),
        ("/etc/ssl/rpc.example.pem", str(certificate)),
        ("/etc/ssl/rpc.example.key", str(folder / "key.pem")),
        ("server_name rpc.example *.rpc.example;", "server_name localhost;"),
    ):
        assert documented in site, f"the documented configuration has no {documented!r}"
        site = site.replace(documented, here)
    paths = "\n".join(
        f"    {kind}_temp_path {folder / kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off; pid {folder / 'pid'}; error_log {folder / 'errors'}; worker_processes 1;\n"
        f"events {{}}\nhttp {{\n    access_log off;\n{paths}\n{site}}}\n"
    )
    assert NGINX is not None
    process = subprocess.Popen(
        [NGINX, "-p", str(folder), "-e", str(folder / "errors"), "-c", str(configuration)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while True:
            assert process.poll() is None, process.communicate()[1]
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        yield Proxy(port, certificate, key)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def _certificate(folder: Path) -> Path:
    """A certificate of localhost, signed by itself; its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    unprotected = serialization.NoEncryption()
    traditional = serialization.PrivateFormat.TraditionalOpenSSL
    (folder / "key.pem").write_bytes(key.private_bytes(pem, traditional, unprotected))
    file = folder / "certificate.pem"
    file.write_bytes(certificate.public_bytes(pem))
    return file


def test_calls_and_pages_pass_through_tls(behind: Callable[..., Proxy]) -> None:
    proxy = behind()
    assert proxy.ask("GET", "/healthz")[0] == 200
    status, _, body = proxy.ask("POST", "/historical", _CALL)
    assert status == 200 and json.loads(body)["result"]["key"] is not None
    status, headers, _ = proxy.ask("GET", "/docs/")
    assert status == 200 and "text/html" in headers["Content-Type"]


def test_a_connection_is_kept_on_both_sides(behind: Callable[..., Proxy]) -> None:
    proxy = behind()
    connection = proxy.connect()
    for _ in range(20):
        connection.request("GET", "/priority/ping")
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    connection.close()


def test_http_2_is_spoken_by_the_proxy(behind: Callable[..., Proxy]) -> None:
    import httpx2

    proxy = behind()
    context = ssl.create_default_context(cafile=str(proxy.certificate))
    with httpx2.Client(http2=True, verify=context, timeout=PATIENCE_SECONDS) as client:
        for _ in range(3):
            response = client.post(
                f"https://localhost:{proxy.port}/historical",
                content=_CALL,
                headers={"Content-Type": "application/json", "Authorization": proxy.key},
            )
            assert (response.status_code, response.http_version) == (200, "HTTP/2")
            assert response.json()["result"]["address"] == "127.0.0.1"


def test_the_callers_address_is_what_the_proxy_saw(behind: Callable[..., Proxy]) -> None:
    proxy = behind(trusted="127.0.0.1/32")
    assert proxy.address() == CALLER
    for name in ("X-Forwarded-For", "X_Forwarded_For", "x_forwarded-for", "X-Real-IP", "Forwarded"):
        assert proxy.address(name) == CALLER


def test_nobody_but_the_proxy_is_believed(behind: Callable[..., Proxy]) -> None:
    proxy = behind(trusted="10.9.9.9/32")
    assert proxy.address() == "127.0.0.1"
    assert proxy.address("X-Forwarded-For") == "127.0.0.1"


def test_events_come_at_once(behind: Callable[..., Proxy], issue: Callable[..., Any]) -> None:
    from priority.fates.announcing import FateChange, announce
    from priority.submissions import State
    from tests.priority.submitted import signature

    proxy, issued = behind(), issue()
    connection = proxy.connect()
    connection.request("GET", "/priority/fates/stream", headers={"Authorization": issued.secret})
    stream = FateStream(connection, connection.getresponse())  # type: ignore[arg-type]
    assert stream.status == 200
    event = stream.next()
    assert event is not None and event.name == "ready"
    for number in range(3):  # each arrives before there is another
        announce(
            [
                FateChange(
                    *(
                        issued.key.pk,
                        bytes(signature(number)),
                        State.SENT,
                        "",
                        None,
                        None,
                        None,
                        "",
                    ),
                    settled=False,
                    at=datetime.datetime.now(datetime.UTC),
                )
            ]
        )
        assert stream.fates(1) == [(str(signature(number)), "sent")]
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


def test_a_body_that_is_too_large_is_refused(behind: Callable[..., Proxy]) -> None:
    assert behind().ask("POST", "/historical", "x" * 300_000)[0] == 413
