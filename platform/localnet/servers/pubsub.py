"""The WebSocket port: subscriptions, as a node has them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import localnet.methods.subscriptions  # noqa: F401  (registers the methods)
from localnet.methods.table import Node
from localnet.notifications import Listener, Notices, subscriptions
from localnet.servers.envelopes import NotUtf8, respond
from localnet.servers.http_port import Refusal, listening, require_method
from webserver.handshakes import HandshakeRefused, require_handshake
from webserver.paced_input import Share
from webserver.requests import Request
from webserver.responses import Response
from webserver.upgrades import Channel
from webserver.websocket import WebSocket

_TICK_SECONDS = 1.0
_NO_ADDRESS = ("", 0)


@asynccontextmanager
async def serve(node: Node, host: str, port: int) -> AsyncIterator[None]:
    """Listens while the context is open; OSError where it cannot."""
    notices = Notices(node.ledger)
    node.ledger.watchers.append(notices)
    sockets: set[_Socket] = set()

    def answer(request: Request) -> Response:
        require_method(request, "GET")
        try:
            require_handshake(request.environ(_NO_ADDRESS, _NO_ADDRESS))
        except HandshakeRefused as refused:
            raise Refusal(400, f"400: {refused}") from None
        return Response(101, (), upgrade=lambda channel: _Socket(channel, node, notices, sockets))

    async with listening(answer, host, port):
        ticking = asyncio.create_task(_tick(sockets))
        try:
            yield
        finally:
            ticking.cancel()
            node.ledger.watchers.remove(notices)
            notices.close()


async def _tick(sockets: "set[_Socket]") -> None:
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        for each in list(sockets):
            each.tick()


class _Socket(WebSocket):
    most_bytes = 4 * 1_048_576
    # A client further behind is disconnected: it would hold the chain's memory.
    most_waiting = 100_000
    most_waiting_bytes = 1 << 30

    __slots__ = ("_listener", "_notices", "_sockets")

    def __init__(
        self, channel: Channel, node: Node, notices: Notices, sockets: "set[_Socket]"
    ) -> None:
        # Every client is this machine's own.
        super().__init__(channel, Share.unbounded(time.monotonic()))
        self._notices, self._sockets = notices, sockets
        self._listener = Listener(node, notices, self._say)
        notices.listeners.add(self._listener)
        sockets.add(self)

    def _say(self, message: bytes | None) -> None:
        if message is None:
            self.end("the node stops")
        else:
            self._send(message)

    def _take(self, message: bytes, *, is_text: bool) -> None:
        with contextlib.suppress(NotUtf8):
            if answer := respond(message, subscriptions, self._listener):
                self._send(answer)

    def _on_end(self) -> None:
        self._notices.listeners.discard(self._listener)
        self._sockets.discard(self)
