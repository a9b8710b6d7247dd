"""The WebSocket port: subscriptions, as a node has them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import WSMsgType, web

import localnet.methods.subscriptions  # noqa: F401  (registers the methods)
from localnet.methods.table import Node
from localnet.notifications import Listener, Notices, subscriptions
from localnet.servers.envelopes import NotUtf8, respond
from localnet.servers.http_port import listening, require_method

# A client further behind is disconnected: it would hold the chain's memory.
_LONGEST_BACKLOG = 100_000
_PING_SECONDS = 20.0


@asynccontextmanager
async def serve(node: Node, host: str, port: int) -> AsyncIterator[None]:
    """Listens while the context is open; OSError where it cannot."""
    notices = Notices(node.ledger)
    node.ledger.watchers.append(notices)

    async def open_socket(request: web.BaseRequest) -> web.WebSocketResponse:
        require_method(request, "GET")
        return await _converse(request, node, notices)

    async with listening(open_socket, host, port, goodbye=0.5):
        try:
            yield
        finally:
            node.ledger.watchers.remove(notices)
            notices.close()


async def _converse(
    request: web.BaseRequest, node: Node, notices: Notices
) -> web.WebSocketResponse:
    # As a node: a client that cannot keep its window, such as Go's gorilla, refuses what aiohttp
    # would agree to.
    socket = web.WebSocketResponse(heartbeat=_PING_SECONDS, compress=False)
    await socket.prepare(request)
    outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()

    def send(message: bytes | None) -> None:
        if message is not None and outgoing.qsize() >= _LONGEST_BACKLOG:
            message = None
        outgoing.put_nowait(message)

    listener = Listener(node, notices, send)
    notices.listeners.add(listener)
    writer = asyncio.create_task(_write(socket, outgoing))
    try:
        async for message in socket:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                text = message.data
                body = text.encode() if isinstance(text, str) else text
                with contextlib.suppress(NotUtf8):
                    if answer := respond(body, subscriptions, listener):
                        send(answer)
    finally:
        notices.listeners.discard(listener)
        writer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writer
    return socket


async def _write(socket: web.WebSocketResponse, outgoing: "asyncio.Queue[bytes | None]") -> None:
    with contextlib.suppress(ConnectionError):
        while (message := await outgoing.get()) is not None:
            await socket.send_str(message.decode())
    await socket.close()
