"""Exchanges by threads with servers that may be hostile: bounded in size, and in time in all."""

import contextlib
import math
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from upstream.http.errors import Busy, NotConnected
from upstream.http.requests import CONNECT_SECONDS, Requests, shared_tls_context
from upstream.http.response import Reader, Response

_PIECE = 262_144
_TURN_SECONDS = 0.5


class Place(NamedTuple):
    """One address behind a name, ready for a socket."""

    family: int
    sockaddr: Any


class Answer(NamedTuple):
    """A response, its body decompressed. `peer` is the IP address that it came from."""

    status: int
    body: bytes
    peer: str


class Connection:
    """One connection, for one exchange at a time. Its methods raise OSError (NotConnected, and
    TimeoutError at the deadline, in monotonic seconds) and BadAnswer.
    """

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self._reader = Reader()
        self.peer = peer

    @classmethod
    def open(
        cls,
        places: Sequence[Place],
        *,
        deadline: float,
        tls: ssl.SSLContext | None = None,
        host: str = "",
        place_seconds: float = math.inf,
    ) -> "Connection":
        """To the first place that takes a connection. With `tls` the certificate is checked for
        `host`. A place is given up after `place_seconds`.
        """
        problem: OSError = OSError("no address")
        for place in places:
            plain = socket.socket(place.family, socket.SOCK_STREAM)
            try:
                plain.settimeout(min(_seconds_left(deadline), place_seconds))
                plain.connect(place.sockaddr)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                plain.close()
                problem = NotConnected("timed out") if isinstance(error, TimeoutError) else error
                continue
            peer = str(place.sockaddr[0])
            if tls is None:
                return cls(plain, peer)
            try:
                plain.settimeout(_seconds_left(deadline))
                return cls(tls.wrap_socket(plain, server_hostname=host), peer)
            except BaseException:
                plain.close()
                raise
        raise problem

    def begin(self, request: bytes, *, deadline: float, largest: int) -> Response:
        """Sends the request and reads the response's head."""
        # A timeout restarts with every call: each gets what is left.
        with memoryview(request) as unsent:
            at = 0
            while at < len(unsent):
                self._socket.settimeout(_seconds_left(deadline))
                at += self._socket.send(unsent[at:])
        response = Response(largest=largest)
        self._reader.begin(response)
        while not response.has_head:
            self.receive(deadline=deadline)
            if response.failure is not None and not response.has_head:
                raise response.failure
        return response

    def receive(self, *, deadline: float) -> None:
        """Reads on in the response, once."""
        self._socket.settimeout(_seconds_left(deadline))
        data = self._socket.recv(_PIECE)
        if data:
            self._reader.feed(data)
        elif self._reader.began:
            self._reader.end()
        else:
            raise ConnectionResetError("the connection was closed")

    def ask(self, request: bytes, *, deadline: float, largest: int) -> tuple[Answer, bool]:
        """The response, and whether the connection is good for another exchange. `largest` bounds
        the body's bytes as they come, and once decompressed.
        """
        response = self.begin(request, deadline=deadline, largest=largest)
        pieces: list[bytes] = []
        while (piece := response.take()) or not response.is_whole:
            if piece:
                pieces.append(piece)
            else:
                self.receive(deadline=deadline)
        return Answer(response.status, b"".join(pieces), self.peer), response.keeps

    @property
    def is_silent(self) -> bool:
        """Whether nothing came since the last exchange, as it has to be before the next one."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self._socket.close()

    def __del__(self) -> None:
        self._socket.close()


class Client:
    """Exchanges with the server of one URL over kept connections. For any number of threads.

    With `most` no more exchanges than that are under way at a time; the next ones wait half a
    second for their turn.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], kept: int = 8, most: int | None = None
    ) -> None:
        self._requests = Requests(url, headers)
        self.name = self._requests.name
        self._idle: deque[Connection] = deque()
        self._kept = kept
        self._turns = None if most is None else threading.BoundedSemaphore(most)

    def post(self, body: bytes, *, seconds: float, largest: int) -> Answer:
        """Raises FAILURES (TimeoutError when it took longer in all, AnswerTooLarge), and Busy."""
        if self._turns is None:
            return self._post(body, seconds, largest)
        if not self._turns.acquire(timeout=_TURN_SECONDS):
            raise Busy
        try:
            return self._post(body, seconds, largest)
        finally:
            self._turns.release()

    def close(self) -> None:
        """Ends the connections that no exchange uses."""
        while self._idle:
            self._idle.pop().close()

    def _post(self, body: bytes, seconds: float, largest: int) -> Answer:
        deadline = time.monotonic() + seconds
        request = self._requests.with_body(body)
        connection = self._idle_one()
        if connection is not None:
            # A server may close a connection that waited long just as we write: a new one, once.
            with contextlib.suppress(ConnectionError):
                return self._ask(connection, request, deadline, largest)
        return self._ask(self._new_one(deadline), request, deadline, largest)

    def _ask(self, connection: Connection, request: bytes, deadline: float, largest: int) -> Answer:
        keep = False
        try:
            answer, keep = connection.ask(request, deadline=deadline, largest=largest)
            return answer
        finally:
            if keep and len(self._idle) < self._kept:
                self._idle.append(connection)
            else:
                connection.close()

    def _new_one(self, deadline: float) -> Connection:
        address = self._requests.address
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        return Connection.open(
            [Place(family, sockaddr) for family, _, _, _, sockaddr in found],
            deadline=deadline,
            tls=shared_tls_context() if address.tls else None,
            host=address.host,
            place_seconds=CONNECT_SECONDS,
        )

    def _idle_one(self) -> Connection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if connection.is_silent:
                return connection
            connection.close()


def _seconds_left(deadline: float) -> float:
    """Raises TimeoutError when none are left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left
