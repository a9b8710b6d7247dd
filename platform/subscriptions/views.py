"""The handshake of WebSockets: a caller is checked as for any other request."""

import logging
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from access.callers import Caller
from gateway.open_streams import member_of
from gateway.views import Endpoint, Switching
from jsonrpc.methods import MethodTable
from shared_state.outages import AWAY
from subscriptions.connection import Connection
from subscriptions.errors import HandshakeInvalid, HandshakeMalformed, SocketsUnavailable
from subscriptions.hub import Hub
from subscriptions.members import USAGE_NAME
from subscriptions.methods import methods
from webserver.handshakes import HandshakeRefused, require_handshake
from webserver.requests import WORKER
from webserver.upgrades import Channel
from webserver.worker import Worker

log = logging.getLogger(__name__)

# How long a thread waits for the loop.
_LOOP_SECONDS = 10.0
_REQUIRED = {
    "Connection": "Connection: Upgrade",
    "Upgrade": "Upgrade: websocket",
    "Sec-WebSocket-Key": "a Sec-WebSocket-Key of 16 bytes in base64",
}


class SubscriptionSocket(Endpoint):
    """WebSockets at an endpoint's path."""

    name = USAGE_NAME
    # What may be called by it.
    methods: MethodTable = methods

    def get(self, request: Any) -> Switching:
        """Switches to WebSocket."""
        meta = request.META
        _require_handshake(meta)
        worker: Worker | None = meta.get(WORKER)
        if worker is None:
            raise SocketsUnavailable  # another server than ours has called this view
        caller: Caller = request.user
        member = member_of(caller, self.entry.sender, self.policy)
        try:
            hub = worker.call(_hub_of, worker).result(_LOOP_SECONDS)
            hub.members.enter(member, caller)
        except (*AWAY, FutureTimeout) as error:
            log.warning("a WebSocket could not be opened: %s", error)
            raise SocketsUnavailable from None

        def upgrade(channel: Channel) -> Connection:
            return Connection(channel, hub, member, caller, self.methods)

        return Switching(upgrade, headers={"X-Request-Id": request.request_id})


async def _hub_of(worker: Worker) -> Hub:
    return Hub.of(worker)


def _require_handshake(meta: dict[str, Any]) -> None:
    """Raises HandshakeInvalid and HandshakeMalformed."""
    try:
        require_handshake(meta)
    except HandshakeRefused as refused:
        if refused.header == "Sec-WebSocket-Version":
            raise HandshakeInvalid from None
        raise HandshakeMalformed(_REQUIRED.get(refused.header, "HTTP/1.1")) from None
