"""A proxy of deploy/ in front of the whole service, and a client of it over TLS."""

import contextlib
import datetime
import http.client
import ipaddress
import json
import queue
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS
from tests.priority.fate_streams import FateStream
from tests.subscriptions.socket_client import Socket
from tests.web_server import service_worker
from tests.webserver.serving import serving
from tests.yellowstone.conftest import serving_geyser
from upstream.protobuf import geyser_pb2 as schema

DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"
# The proxy itself reaches the service from 127.0.0.1.
CALLER = "127.0.0.5"
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "whoami"})
# Starts the proxy in a folder, in front of the ports of HTTP and gRPC; gives its own port.
Start = Callable[[Path, int, int], contextlib.AbstractContextManager[int]]


class Proxy:
    """Where the proxy listens; requests go to it over TLS."""

    def __init__(self, port: int, certificate: Path, key: str, issued: Any) -> None:
        self.port = port
        self.issued = issued
        self.key = key
        self.certificate = certificate

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.certificate))
        return http.client.HTTPSConnection(
            "localhost",
            self.port,
            context=context,
            timeout=PATIENCE_SECONDS,
            source_address=(CALLER, 0),
        )

    def served_at(self, host: str, path: str) -> str:
        """The host as the service sees it, by a connection for that name and its certificate."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        address = ("127.0.0.1", self.port)
        with (
            socket.create_connection(address, timeout=PATIENCE_SECONDS) as raw,
            context.wrap_socket(raw, server_hostname=host) as secure,
        ):
            head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {self.key}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(CALL)}\r\n"
            secure.sendall(f"{head}Connection: close\r\n\r\n{CALL}".encode())
            answer = b"".join(iter(lambda: secure.recv(65_536), b""))
        found: str = json.loads(answer[answer.index(b"{") : answer.rindex(b"}") + 1])["result"][
            "host"
        ]
        return found

    def in_clear(self, request: bytes) -> tuple[str, bytes]:
        """Status line and all of the response without TLS."""
        port = int((self.certificate.parent / "plain").read_text())
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as plain:
            plain.sendall(request)
            answer = b"".join(iter(lambda: plain.recv(65_536), b""))
        return answer.partition(b"\r\n")[0].decode(), answer

    def ask(
        self, method: str, path: str, body: str | None = None, header: str = ""
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
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
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def address(self, header: str = "") -> str:
        """The caller's address, as the service sees it."""
        status, _, body = self.ask("POST", "/historical", CALL, header)
        assert status == 200, body
        found: str = json.loads(body)["result"]["address"]
        return found

    def http_2(self) -> tuple[int, str, str]:
        """Status, version and the caller's address of a call by HTTP/2."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        with httpx2.Client(http2=True, verify=context, timeout=PATIENCE_SECONDS) as client:
            response = client.post(
                f"https://localhost:{self.port}/historical",
                content=CALL,
                headers={"Content-Type": "application/json", "Authorization": self.key},
            )
            address = response.json()["result"]["address"]
            return response.status_code, response.http_version, address

    def socket(self, path: str) -> Socket:
        """A WebSocket over TLS."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        return Socket(f"wss://localhost:{self.port}{path}", self.key, ssl=context)

    def pongs(self, count: int) -> list[int]:
        """The ids of pongs on one stream of gRPC, each asked for once the last has come."""
        credentials = grpc.ssl_channel_credentials(self.certificate.read_bytes())
        with grpc.secure_channel(f"localhost:{self.port}", credentials) as channel:
            call = channel.stream_stream(
                "/geyser.Geyser/Subscribe",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=schema.SubscribeUpdate.FromString,
            )
            asked: queue.Queue[Any] = queue.Queue()
            found: list[int] = []

            def ask(number: int) -> None:
                ping = schema.SubscribeRequestPing(id=number)
                asked.put(schema.SubscribeRequest(ping=ping))

            ask(1)
            updates = call(
                iter(asked.get, None),
                metadata=(("x-token", self.key),),
                timeout=PATIENCE_SECONDS,
            )
            for update in updates:
                if not update.HasField("pong"):
                    continue
                found.append(update.pong.id)
                if len(found) == count:
                    break
                ask(len(found) + 1)
            asked.put(None)
            updates.cancel()
            return found

    def health(self) -> bytes:
        """The answer of grpc.health.v1, for which no key is sent."""
        credentials = grpc.ssl_channel_credentials(self.certificate.read_bytes())
        with grpc.secure_channel(f"localhost:{self.port}", credentials) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check", bytes, bytes)
            found: bytes = check(b"", timeout=PATIENCE_SECONDS)
            return found

    def refusals(self, count: int) -> set[Any]:
        """The statuses of so many Subscribes without a key, and of a call with one between two."""
        credentials = grpc.ssl_channel_credentials(self.certificate.read_bytes())
        found = set()
        with grpc.secure_channel(f"localhost:{self.port}", credentials) as channel:
            subscribe = channel.stream_stream("/geyser.Geyser/Subscribe", bytes, bytes)
            ping = channel.unary_unary("/geyser.Geyser/Ping", bytes, bytes)
            waits = threading.Event()
            for _ in range(count):
                # Its client does not half-close: it could go on to subscribe to more.
                call = subscribe(iter(waits.wait, True), timeout=PATIENCE_SECONDS)
                with contextlib.suppress(grpc.RpcError):
                    for _ in call:
                        pass
                found.add(call.code())
                ping(b"", metadata=(("x-token", self.key),), timeout=PATIENCE_SECONDS)
            waits.set()
        return found

    def events(self) -> FateStream:
        """The stream of fates of its key."""
        connection = self.connect()
        connection.request(
            "GET", "/priority/fates/stream", headers={"Authorization": self.issued.secret}
        )
        return FateStream(connection, connection.getresponse())  # type: ignore[arg-type]


@contextlib.contextmanager
def in_front(
    start: Start, folder: Path, issued: Any, *, with_grpc: bool = False, **limits: Any
) -> Iterator[Proxy]:
    """The proxy, and the service behind it, on request with its gRPC."""
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(serving(service_worker(**limits)))
        geyser = stack.enter_context(serving_geyser()) if with_grpc else free_ports(1)[0]
        made = certificate(folder)
        port = stack.enter_context(start(folder, service, geyser))
        yield Proxy(port, made, issued.secret, issued)


@contextlib.contextmanager
def trusting(settings: Any, network: str) -> Iterator[None]:
    """TRUSTED_PROXIES is this network."""
    from gateway.addresses import is_trusted

    settings.TRUSTED_PROXIES = (ipaddress.ip_network(network),)
    is_trusted.cache_clear()
    try:
        yield
    finally:
        is_trusted.cache_clear()


@contextlib.contextmanager
def program(command: list[str], port: int, *, log: Path, **options: Any) -> Iterator[int]:
    """The program, as soon as it listens on the port."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, **options)
    try:
        while True:
            assert process.poll() is None, log.read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)


def replaced(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    """The shipped configuration with what differs here; each must be there."""
    for shipped, here in changes:
        assert shipped in text, f"the configuration has no {shipped!r}"
        text = text.replace(shipped, here)
    return text


def announce_fate(issued: Any, number: int) -> str:
    """A fate of the key changes; the signature."""
    from priority.fates.services.announcing import FateChange, announce
    from priority.submissions import State
    from tests.priority.submitted import signature

    found = signature(number)
    now = datetime.datetime.now(datetime.UTC)
    change = FateChange(
        issued.key.pk, bytes(found), State.SENT, "", None, None, None, "", settled=False, at=now
    )
    announce([change])
    return str(found)


def certificate(folder: Path) -> Path:
    """A certificate of localhost and its tiers' hosts, signed by itself; its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    # Those that the files of deploy/ ask for.
    hosts = ("localhost", "*.rpc.localhost", "*.qos.localhost")
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
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
