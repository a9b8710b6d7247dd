"""A Geyser server that costs next to nothing: messages made beforehand, sent in full frames.

Run as a process of its own, so that what the follower costs is not mixed with what a validator
would: `python -m benchmarks.stream_source BLOCKS BLOCK_SECONDS [STEP]` (0: as fast as they are
read). With a STEP blocks are so many slots apart, and each is made when it is sent. It prints its
two ports, then one line for every slot that it finalized: `slot seconds`.
"""

import json
import select
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

import h2.config  # noqa: E402
import h2.connection  # noqa: E402
import h2.events  # noqa: E402
import h2.exceptions  # noqa: E402

from benchmarks.sample_chain import (  # noqa: E402
    FIRST_SLOT,
    WRITES,
    SampleChain,
    messages_of,
    slot_message,
)
from chain.units import Slot  # noqa: E402
from upstream.protobuf import geyser_pb2 as schema  # noqa: E402

_GENESIS = "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY"
_FRAME = 16_384
_PARTS = 20  # a slot's messages are sent in so many parts, spread over its time


class Source:
    """The chain, what of it is finalized, and the stream's bytes slot by slot."""

    def __init__(self, count: int, step: int) -> None:
        self._count, self._step = count, step
        self._made = list(self._make()) if step == 1 else []
        self.writes = count * WRITES
        self.finalized = FIRST_SLOT - 1
        # Of a day in fast motion the follower is told to be behind: it catches up at any speed.
        self.head = 0 if step == 1 else self.slot(count)

    def slot(self, number: int) -> Slot:
        """The slot of the block of this number."""
        return Slot(FIRST_SLOT + number * self._step)

    def blocks(self) -> Iterable[list[bytes]]:
        return self._made or self._make()

    def _make(self) -> Iterator[list[bytes]]:
        chain = SampleChain()
        for number in range(self._count):
            yield _framed(chain, self.slot(number), Slot(self.slot(number) - self._step))

    def statuses(self, number: int) -> bytes:
        """What is told after the slot of this number: the one before is confirmed, and the one
        before that finalized.
        """
        told = []
        if number >= 1:
            told.append(self._status(number - 1, schema.SlotStatus.SLOT_CONFIRMED))
        if number >= 2:
            told.append(self._status(number - 2, schema.SlotStatus.SLOT_FINALIZED))
        return b"".join(map(_prefixed, told))

    def _status(self, number: int, status: schema.SlotStatus) -> bytes:
        slot = self.slot(number)
        return slot_message(slot, status, Slot(slot - self._step))


def _framed(chain: SampleChain, slot: Slot, parent: Slot) -> list[bytes]:
    packed = [_prefixed(message) for message in messages_of(chain.slot(slot, parent))]
    size = -(-len(packed) // _PARTS)
    return [b"".join(packed[at : at + size]) for at in range(0, len(packed), size)]


def _prefixed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def serve_stream(source: Source, door: socket.socket, slot_seconds: float) -> None:
    """Each subscriber gets the chain from its first slot."""
    while True:
        peer, _ = door.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_serve, args=[peer, source, slot_seconds], daemon=True).start()


def _serve(peer: socket.socket, source: Source, slot_seconds: float) -> None:
    try:
        _Stream(peer).run(source, slot_seconds)
    except (ConnectionError, h2.exceptions.ProtocolError):
        peer.close()


class _Stream:
    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self._http = h2.connection.H2Connection(config)
        self._http.initiate_connection()
        self._peer.sendall(self._http.data_to_send())
        self._stream = 0

    def run(self, source: Source, slot_seconds: float) -> None:
        while not self._stream:
            self._listen()
        self._http.send_headers(
            self._stream, [(":status", "200"), ("content-type", "application/grpc")]
        )
        began = time.monotonic()
        for number, parts in enumerate(source.blocks()):
            for place, part in enumerate(parts):
                due = began + slot_seconds * (number + place / len(parts))
                if (early := due - time.monotonic()) > 0:
                    time.sleep(early)
                self._send(part)
            self._send(source.statuses(number))
            if number >= 2:
                source.finalized = source.slot(number - 2)
                # In one piece: a repair has a stream of its own.
                sys.stdout.write(f"{source.finalized} {time.time()}\n")
                sys.stdout.flush()
        while True:
            self._listen()

    def _listen(self) -> None:
        data = self._peer.recv(65_536)
        if not data:
            raise ConnectionError("the subscriber is gone")
        for event in self._http.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                path = next(value for name, value in event.headers if str(name) == ":path")
                if str(path).endswith("/Subscribe"):
                    self._stream = event.stream_id
                else:
                    self._refuse(event.stream_id)
            elif isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
                self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if answer := self._http.data_to_send():
            self._peer.sendall(answer)

    def _refuse(self, stream: int) -> None:
        headers = [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", "12"),
        ]
        self._http.send_headers(stream, headers, end_stream=True)

    def _send(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            window = self._http.local_flow_control_window(self._stream)
            size = min(window, self._http.max_outbound_frame_size, _FRAME, len(data) - at)
            if size <= 0:
                self._flush()
                self._listen()
                continue
            self._http.send_data(self._stream, data[at : at + size])
            at += size
        self._flush()
        self._drain()

    def _flush(self) -> None:
        if out := self._http.data_to_send():
            self._peer.sendall(out)

    def _drain(self) -> None:
        """Reads what is there, without waiting."""
        while select.select([self._peer], [], [], 0)[0]:
            self._listen()


def node_handler(source: Source) -> type[BaseHTTPRequestHandler]:
    """The little JSON-RPC that a follower asks of a node."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = {"jsonrpc": "2.0", "id": body["id"], **_answer(source, body)}
            packed = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(packed)))
            self.end_headers()
            self.wfile.write(packed)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _answer(source: Source, body: dict[str, Any]) -> dict[str, Any]:
    match body["method"]:
        case "getGenesisHash":
            return {"result": _GENESIS}
        case "getSlot":
            return {"result": max(source.finalized, source.head)}
        case "getVersion":
            return {"result": {"solana-core": "4.1.2", "feature-set": 1}}
        case "getHealth":
            return {"result": "ok"}
        case "getFirstAvailableBlock":
            return {"result": FIRST_SLOT}
        case "getBlocks":
            low, high = [*body["params"], source.finalized][:2]
            return {"result": list(_between(low, min(high, source.finalized)))}
    return {"error": {"code": -32601, "message": "Method not found"}}


def _between(low: int, high: int) -> Iterator[int]:
    yield from range(max(low, FIRST_SLOT), high + 1)


def main() -> None:
    source = Source(int(sys.argv[1]), int((sys.argv[3:] or ["1"])[0]))
    door = socket.create_server(("127.0.0.1", 0))
    node = ThreadingHTTPServer(("127.0.0.1", 0), node_handler(source))
    threading.Thread(target=node.serve_forever, daemon=True).start()
    print(door.getsockname()[1], node.server_address[1], source.writes, flush=True)
    serve_stream(source, door, float(sys.argv[2]))


if __name__ == "__main__":
    main()
