"""A call of Subscribe by HTTP/2's frames alone: other encodings, and no reading."""

import socket
import zlib
from collections.abc import Iterable
from typing import Any, Self

import zstandard
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamReset, TrailersReceived

from tests.patience import PATIENCE_SECONDS
from upstream.protobuf import geyser_pb2 as schema


class BareCall:
    """`headers` and `trailers` are what came of these."""

    def __init__(
        self,
        port: int,
        key: str,
        path: str = "Subscribe",
        fields: Iterable[tuple[str, str]] = (),
        **headers: str,
    ) -> None:
        self.headers: dict[str, str] = {}
        self.trailers: dict[str, str] = {}
        self.is_reset = False
        self._buffer = bytearray()
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._http = H2Connection(H2Configuration(header_encoding="utf-8"))
        self._http.initiate_connection()
        self._http.send_headers(
            1,
            [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", f"/geyser.Geyser/{path}"),
                (":authority", "127.0.0.1"),
                ("content-type", "application/grpc"),
                ("te", "trailers"),
                ("x-token", key),
                *((name.replace("_", "-"), value) for name, value in headers.items()),
                *fields,
            ],
        )
        self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, request: Any, *, flag: int = 0, packed: bytes | None = None) -> None:
        data = request.SerializeToString() if packed is None else packed
        self._http.send_data(1, bytes([flag]) + len(data).to_bytes(4, "big") + data)
        self._flush()

    def frames(self) -> "list[tuple[int, bytes]]":
        """The next messages with their flag of compression; none at the end."""
        while not self.trailers and not self.is_reset:
            found = self._whole()
            if found:
                return found
            data = self._socket.recv(65_536)
            if not data:
                return []
            for event in self._http.receive_data(data):
                if isinstance(event, DataReceived):
                    self._buffer += event.data or b""
                    size = event.flow_controlled_length or 0
                    self._http.acknowledge_received_data(size, 1)
                elif isinstance(event, ResponseReceived):
                    self.headers = dict(event.headers)  # type: ignore[arg-type]
                    if "grpc-status" in self.headers:
                        self.trailers = self.headers
                elif isinstance(event, TrailersReceived):
                    self.trailers = dict(event.headers)  # type: ignore[arg-type]
                elif isinstance(event, StreamReset):
                    self.is_reset = True
            self._flush()
        return self._whole()

    def update(self) -> tuple[int, Any]:
        """The first of the next messages, unpacked."""
        flag, data = self.frames()[0]
        if flag:
            name = self.headers["grpc-encoding"]
            data = zlib.decompress(data, 31) if name == "gzip" else zstandard.decompress(data)
        return flag, schema.SubscribeUpdate.FromString(data)

    def _whole(self) -> list[tuple[int, bytes]]:
        found, buffer = [], self._buffer
        while len(buffer) >= 5 and len(buffer) >= 5 + int.from_bytes(buffer[1:5], "big"):
            size = int.from_bytes(buffer[1:5], "big")
            found.append((buffer[0], bytes(buffer[5 : 5 + size])))
            del buffer[: 5 + size]
        return found

    def _flush(self) -> None:
        self._socket.sendall(self._http.data_to_send())
