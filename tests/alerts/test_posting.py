"""One POST: its response, or a description of the problem, in time."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from alerts.posting import post


def _post(url: str, timeout: float = 5.0) -> Any:
    return post(url, b"{}", {}, private_allowed=True, timeout=timeout)


@pytest.fixture
def speaker() -> Iterator[Callable[[Callable[[socket.socket], None]], int]]:
    """`speaker(what)`: the port of a server that does `what` with its first connection."""
    listeners: list[tuple[socket.socket, threading.Thread]] = []

    def start(what: Callable[[socket.socket], None]) -> int:
        listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            with suppress(OSError):
                connection, _address = listener.accept()
                with connection, suppress(OSError):
                    what(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        listeners.append((listener, thread))
        return int(listener.getsockname()[1])

    yield start
    for listener, thread in listeners:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_an_answer_has_its_status_and_how_it_begins(receiver: Any) -> None:
    receiver.status, receiver.text = 500, b"\xffsorry\0 " + b"x" * 5_000
    answer = _post(receiver.url)
    assert (answer.status, answer.problem) == (500, "answered 500, not 2xx")
    assert answer.text.startswith("\ufffdsorry\ufffd xxx")
    assert len(answer.text) == 500


def test_a_redirect_is_not_followed(receiver: Any, receivers: Any) -> None:
    other = receivers()
    receiver.status, receiver.headers = 307, {"Location": other.url}
    answer = _post(receiver.url)
    assert answer.status == 307
    assert "redirect: those are not followed" in answer.problem
    assert other.got == []


def test_a_closed_port_is_described_as_refused(receivers: Any) -> None:
    gone = receivers()
    gone.stop()
    gone.stop = lambda: None
    assert _post(gone.url).problem == f"connection refused by 127.0.0.1 port {gone.port}"


def test_an_unknown_name_is_described() -> None:
    problem = _post("http://unknown.invalid/").problem
    assert problem == "the name unknown.invalid was not found"


def test_silence_ends_in_time(receiver: Any) -> None:
    receiver.may_answer.clear()
    assert _post(receiver.url, timeout=0.3).problem == "no answer within 0.3 s"


def test_a_trickle_ends_in_time_too(speaker: Any) -> None:
    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:  # until the other side hangs up
            connection.sendall(b"x")
            time.sleep(0.02)

    answer = _post(f"http://127.0.0.1:{speaker(trickle)}/", timeout=0.3)
    assert answer.problem == "no answer within 0.3 s"


def test_a_receiver_that_answers_without_end_costs_no_more_than_is_kept(speaker: Any) -> None:
    def flood(connection: socket.socket) -> None:
        connection.recv(10_000)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:  # until the other side hangs up
            connection.sendall(b"x" * 65_536)

    answer = _post(f"http://127.0.0.1:{speaker(flood)}/")
    assert (answer.status, answer.text) == (200, "x" * 500)


@pytest.mark.parametrize("endless", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: y"])
def test_a_head_that_does_not_end_is_given_up(speaker: Any, endless: bytes) -> None:
    def flood(connection: socket.socket) -> None:
        while True:  # until the other side hangs up
            connection.sendall(endless)

    answer = _post(f"http://127.0.0.1:{speaker(flood)}/", timeout=0.5)
    assert answer.status is None
    assert answer.problem


def test_a_response_that_is_not_http_is_described(speaker: Any) -> None:
    def mumble(connection: socket.socket) -> None:
        connection.recv(10_000)
        connection.sendall(b"220 mail.example ESMTP\r\n")

    problem = _post(f"http://127.0.0.1:{speaker(mumble)}/").problem
    assert problem.endswith("is not HTTP")


def test_a_closed_connection_is_described(speaker: Any) -> None:
    port = speaker(lambda connection: connection.recv(10_000))
    problem = _post(f"http://127.0.0.1:{port}/").problem
    assert problem.endswith("closed the connection without an answer")


@pytest.fixture
def secure_port(tmp_path: Path, speaker: Any) -> int:
    """A TLS server for `localhost`, whose certificate it signed itself (tmp_path/certificate)."""
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    private, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key.write_bytes(private.private_bytes(*form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(10_000)
            secured.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            with suppress(OSError):
                secured.recv(10_000)  # closing with something unread would reset the connection

    return int(speaker(serve))


def test_a_self_signed_certificate_is_refused(secure_port: int) -> None:
    problem = _post(f"https://localhost:{secure_port}/").problem
    assert problem.startswith(f"TLS: the certificate of localhost port {secure_port}")


def test_tls_is_spoken_with_the_name_of_the_url(
    secure_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    assert _post(f"https://localhost:{secure_port}/").status == 202


def test_a_certificate_for_another_name_is_refused(
    secure_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
    assert "was not accepted" in _post(f"https://127.0.0.1:{secure_port}/").problem
