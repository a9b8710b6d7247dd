"""A client that writes bytes as a test gives them, and reads responses strictly."""

import contextlib
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.patience import PATIENCE_SECONDS


@dataclass
class Reply:
    """One response. `body` is without its chunks' framing."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode().strip()


class Client:
    """One connection."""

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self.sock = socket.create_connection(
            ("127.0.0.1", port), PATIENCE_SECONDS, source_address=(source, 0)
        )
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self.sock.makefile("rb")

    @property
    def is_ended(self) -> bool:
        """Whether the server has closed the connection; nothing was sent on it."""
        try:
            return self.sock.recv(1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def send(self, data: bytes | str) -> "Client":
        self.sock.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))
        return self

    def reply(self, *, head_only: bool = False) -> Reply:
        """The next response; `head_only` for one to HEAD. Raises EOFError when there is none."""
        line = self._file.readline()
        if not line:
            raise EOFError
        version, status, _phrase = line.decode("latin-1").split(" ", 2)
        assert version == "HTTP/1.1", line
        reply = Reply(int(status))
        while (line := self._file.readline()) not in (b"\r\n", b""):
            assert line.endswith(b"\r\n"), line
            name, _, value = line.decode("latin-1").rstrip("\r\n").partition(": ")
            assert name.lower() not in reply.headers, f"{name} twice"
            reply.headers[name.lower()] = value
        if reply.status == 100 or head_only or reply.status in (204, 304):
            return reply
        if reply.headers.get("transfer-encoding") == "chunked":
            reply.body = b"".join(self.chunks())
        elif "content-length" in reply.headers:
            size = int(reply.headers["content-length"])
            reply.body = self._file.read(size)
            assert len(reply.body) == size, "the response is cut"
        else:
            assert reply.headers.get("connection") == "close"
            reply.body = self._file.read()
        return reply

    def chunks(self) -> Iterator[bytes]:
        """The chunks of a body, each as soon as it has come."""
        while size := int(self._file.readline(), 16):
            data = self._file.read(size + 2)
            assert data.endswith(b"\r\n")
            yield data[:-2]
        assert self._file.readline() == b"\r\n"

    def replies(self) -> list[Reply]:
        """All responses until the server closes."""
        found = []
        with contextlib.suppress(EOFError):
            while True:
                found.append(self.reply())
        return found

    @property
    def is_closed(self) -> bool:
        """Waits for the server's end of the connection; false if bytes come instead."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._file.close()
        self.sock.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def get(path: str = "/", *headers: str, version: str = "1.1", method: str = "GET") -> bytes:
    """A request without a body."""
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(path: str, body: bytes = b"", *headers: str, version: str = "1.1") -> bytes:
    """A request with a body and its length."""
    length = f"Content-Length: {len(body)}"
    return get(path, length, *headers, version=version, method="POST") + body


def chunked(path: str, *chunks: bytes, trailers: bytes = b"") -> bytes:
    """A request whose body comes in chunks."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks)
    return (
        get(path, "Transfer-Encoding: chunked", method="POST")
        + body
        + b"0\r\n"
        + trailers
        + b"\r\n"
    )
