"""Leaders' TPU ports over QUIC: transactions to many leaders, on connections that are kept warm."""

import asyncio
import ssl
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import SessionTicket
from solders.keypair import Keypair

from chain.transaction_limits import most_bytes
from upstream import tpu_errors
from upstream.tpu_certificate import tls_identity
from upstream.tpu_connection import Limits, TpuConnection
from upstream.tpu_errors import TpuError
from upstream.tpu_sending import Done, Sending, Sent
from upstream.tpu_socket import Address

_LIMITS = Limits()
_ALPN = "solana-tpu"
_SERVER_NAME = "localhost"
_QUIC_IDLE_SECONDS = 30.0
# What leaders allow an address; more is answered with silence.
_OPENINGS = 8
_OPENINGS_SECONDS = 60.0
_FIRST_REST_SECONDS = 0.5
_LONGEST_REST_SECONDS = 30.0
_TICKETS = 2
# Addresses that we have a memory of: a cluster has some 2,000 leaders.
_MOST_LEADERS = 4_096


class LeaderState(NamedTuple):
    """A leader's address and how we stand with it: `state` is open, opening, resting or closed;
    `counts` has connections, resumptions, early, sent, acked, failed:<kind of TpuError>.
    """

    address: Address
    state: str
    pending: int
    counts: dict[str, int]
    last_error: str


@dataclass(slots=True, eq=False)
class _Leader:
    address: Address
    connection: TpuConnection | None = None
    counts: Counter[str] = field(default_factory=Counter)
    openings: deque[float] = field(default_factory=deque)
    tickets: deque[SessionTicket] = field(default_factory=lambda: deque(maxlen=_TICKETS))
    failures: int = 0
    rest_until: float = 0.0
    last_error: str = ""


class TpuClient:
    """Sends transactions as this identity, with the stake that stands behind it. One connection
    for each address, at most `max_connections`. A transaction may have `max_wire_bytes`, by default
    as many as its version allows. For one event loop, and to be closed.
    """

    def __init__(
        self,
        identity: Keypair,
        *,
        limits: Limits = _LIMITS,
        max_connections: int = 64,
        max_wire_bytes: int | None = None,
    ) -> None:
        self._limits = limits
        self._max_connections = max_connections
        self._max_wire_bytes = max_wire_bytes
        self._leaders: OrderedDict[Address, _Leader] = OrderedDict()
        # Those with a connection; the one that was wanted last is last.
        self._connected: OrderedDict[Address, _Leader] = OrderedDict()
        self._retiring: set[TpuConnection] = set()
        self._is_closed = False
        self._tls = tls_identity(identity)

    async def send(
        self, address: Address, wire: bytes, *, timeout_seconds: float | None = None
    ) -> Sent:
        """When the leader has acknowledged the transaction. Written before the first await if the
        connection is open and has credit. Raises TpuError: then the leader may have it all the
        same only after Unacknowledged, ConnectionLost and the leader's close codes.
        """
        answer: asyncio.Future[Sent | TpuError] = asyncio.get_running_loop().create_future()

        def done(found: Sent | TpuError) -> None:
            if not answer.done():
                answer.set_result(found)

        connection, sending = self._submit(address, wire, timeout_seconds, done)
        connection.flush()
        try:
            found = await answer
        finally:
            connection.forget(sending)
        if isinstance(found, TpuError):
            raise found
        return found

    def start(
        self, address: Address, wire: bytes, done: Done, *, timeout_seconds: float | None = None
    ) -> None:
        """As `send`, without a task: written at the end of this turn of the loop, together with
        what else is started in it; `done` is called with what `send` returns or raises.
        """
        try:
            self._submit(address, wire, timeout_seconds, done)
        except TpuError as error:
            asyncio.get_running_loop().call_soon(done, error)

    def _submit(
        self, address: Address, wire: bytes, timeout_seconds: float | None, done: Done
    ) -> tuple[TpuConnection, Sending]:
        leader = self._leader(address)

        def count(found: Sent | TpuError) -> None:
            if isinstance(found, TpuError):
                leader.counts[f"failed:{found.kind}"] += 1
            done(found)

        try:
            most = self._max_wire_bytes or most_bytes(wire[0] if wire else 0)
            if len(wire) > most:
                message = f"{len(wire)} bytes; leaders take {most}"
                raise tpu_errors.TooLarge(message)
            connection = self._wanted(leader)
            seconds = timeout_seconds or self._limits.send_seconds
            return connection, connection.submit(wire, seconds, count)
        except TpuError as error:
            leader.counts[f"failed:{error.kind}"] += 1
            raise

    def warm(self, addresses: Iterable[Address]) -> None:
        """Opens and keeps connections to these, which will be sent to soon. Never raises: what
        cannot be opened now shows in `states`.
        """
        for address in list(addresses)[: self._max_connections]:
            leader = self._leader(address)
            try:
                self._wanted(leader)
            except TpuError as error:
                leader.counts[f"warm_failed:{error.kind}"] += 1

    def states(self) -> list[LeaderState]:
        """All addresses that were sent to or warmed lately."""
        now = asyncio.get_running_loop().time()
        return [
            LeaderState(
                leader.address,
                _state(leader, now),
                0 if leader.connection is None else leader.connection.pending,
                dict(leader.counts),
                leader.last_error,
            )
            for leader in self._leaders.values()
        ]

    async def close(self) -> None:
        """Ends all connections; what has no answer yet fails with ClientClosed."""
        self._is_closed = True
        connections = [each.connection for each in self._connected.values()]
        for connection in [*connections, *self._retiring]:
            if connection is not None:
                connection.close("the client was closed")
        # Those who waited hear it before the loop may end.
        await asyncio.sleep(0)

    def _leader(self, address: Address) -> _Leader:
        leader = self._leaders.get(address)
        if leader is None:
            leader = self._leaders[address] = _Leader(address)
            for old in list(self._leaders)[: max(0, len(self._leaders) - _MOST_LEADERS)]:
                if old not in self._connected:
                    del self._leaders[old]
        self._leaders.move_to_end(address)
        return leader

    def _wanted(self, leader: _Leader) -> TpuConnection:
        """The leader's connection, opened if need be."""
        connection = leader.connection
        if connection is None:
            connection = self._open(leader)
        else:
            connection.wanted_at = asyncio.get_running_loop().time()
            self._connected.move_to_end(leader.address)
        return connection

    def _open(self, leader: _Leader) -> TpuConnection:
        if self._is_closed:
            raise tpu_errors.ClientClosed("the client is closed")
        now = asyncio.get_running_loop().time()
        self._check_rest(leader, now)
        self._make_room()
        leader.openings.append(now)
        try:
            connection = TpuConnection(
                leader.address,
                self._configuration(leader),
                self._limits,
                leader.counts,
                ended=partial(self._ended, leader),
                ticket=leader.tickets.append,
            )
        except TpuError as error:
            self._rest(leader, error)
            raise
        if connection.error is not None:
            self._rest(leader, connection.error)
            raise connection.error
        leader.connection = connection
        self._connected[leader.address] = leader
        return connection

    def _check_rest(self, leader: _Leader, now: float) -> None:
        if now < leader.rest_until:
            left = leader.rest_until - now
            raise tpu_errors.Resting(f"{leader.last_error}; tried again in {left:.1f} s")
        while leader.openings and leader.openings[0] <= now - _OPENINGS_SECONDS:
            leader.openings.popleft()
        if len(leader.openings) >= _OPENINGS:
            left = leader.openings[0] + _OPENINGS_SECONDS - now
            message = f"connected {_OPENINGS} times within a minute; again in {left:.0f} s"
            raise tpu_errors.Resting(
                f"{message} ({leader.last_error})" if leader.last_error else message
            )

    def _rest(self, leader: _Leader, error: TpuError) -> None:
        leader.last_error = str(error)
        leader.failures += 1
        # 2 ** 6 is past the longest: no need of greater numbers.
        rest = _FIRST_REST_SECONDS * 2.0 ** min(leader.failures - 1, 6)
        now = asyncio.get_running_loop().time()
        leader.rest_until = now + min(rest, _LONGEST_REST_SECONDS)

    def _ended(self, leader: _Leader, connection: TpuConnection, error: TpuError) -> None:
        self._retiring.discard(connection)
        if leader.connection is not connection:
            return
        leader.connection = None
        self._connected.pop(leader.address, None)
        if isinstance(error, tpu_errors.ClientClosed):
            return
        if connection.has_served:
            # It was good: the next one is opened as soon as it is wanted.
            leader.failures = 0
            leader.last_error = str(error)
        else:
            self._rest(leader, error)

    def _make_room(self) -> None:
        while len(self._connected) >= self._max_connections:
            oldest = next(iter(self._connected.values()))
            idle = (
                each
                for each in self._connected.values()
                if each.connection is not None and not each.connection.pending
            )
            self._retire(next(idle, oldest))

    def _retire(self, leader: _Leader) -> None:
        connection = leader.connection
        if connection is not None:
            leader.connection = None
            self._connected.pop(leader.address, None)
            self._retiring.add(connection)
            connection.retire()

    def _configuration(self, leader: _Leader) -> QuicConfiguration:
        certificate, key = self._tls
        return QuicConfiguration(
            alpn_protocols=[_ALPN],
            certificate=certificate,
            private_key=key,
            idle_timeout=_QUIC_IDLE_SECONDS,
            server_name=_SERVER_NAME,
            # Each is for one use. Early data can be replayed: a transaction lands only once.
            session_ticket=leader.tickets.pop() if leader.tickets else None,
            supported_versions=[QuicProtocolVersion.VERSION_1],
            # A leader's certificate is self-signed.
            verify_mode=ssl.CERT_NONE,
        )


def _state(leader: _Leader, now: float) -> str:
    if leader.connection is not None:
        return "open" if leader.connection.is_open else "opening"
    return "resting" if now < leader.rest_until else "closed"
