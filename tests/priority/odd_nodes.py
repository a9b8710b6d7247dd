"""Nodes that misbehave: a real HTTP server whose answers a test writes."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# From the request's body to the answer's status and bytes.
Answer = Callable[[bytes], tuple[int, bytes]]


@dataclass
class OddNode:
    """Where it listens, the bodies that it was sent, and how many connections it took."""

    url: str
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0


@contextlib.contextmanager
def odd_node(answer: Answer) -> Iterator[OddNode]:
    """A node that answers as told."""
    node = OddNode("")

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else the body waits 40 ms for an ACK

        def setup(self) -> None:
            super().setup()
            node.connections += 1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            node.bodies.append(body)
            status, content = answer(body)
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Door) as server:
        node.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield node
        finally:
            server.shutdown()
            thread.join()


# Gets the connection and a request's body, and writes what it likes.
Write = Callable[[socket.socket, bytes], None]


@contextlib.contextmanager
def raw_node(write: Write) -> Iterator[OddNode]:
    """A node that writes its answers byte by byte as told."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        node = OddNode(f"http://127.0.0.1:{listening.getsockname()[1]}")

        def serve(connection: socket.socket) -> None:
            with contextlib.suppress(OSError), connection:
                while body := _request(connection):
                    node.bodies.append(body)
                    write(connection, body)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _address = listening.accept()
                    node.connections += 1
                    threading.Thread(target=serve, args=[connection], daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield node
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(20)


def _request(connection: socket.socket) -> bytes:
    """The body of the next request, b"" where there is none."""
    received = b""
    while b"\r\n\r\n" not in received:
        if not (piece := connection.recv(65_536)):
            return b""
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return body
