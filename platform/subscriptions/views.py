"""The handshake of WebSockets: a caller is checked as for any other request."""

import base64
import binascii
import time
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from django.http.response import HttpResponseBase
from websockets.utils import accept_key

from access.callers import Caller
from access.key_text import digest_of
from gateway.answers import Answer
from gateway.authentication import key_of
from gateway.calls import count_call
from gateway.endpoint_policy import ErrorFormat
from gateway.exception_handler import error_of
from gateway.refusals import body_of, headers_of, status_of
from gateway.views import Endpoint, Switching
from jsonrpc.methods import MethodTable
from shared_state.outages import AWAY
from subscriptions.connection import Connection
from subscriptions.errors import HandshakeInvalid, HandshakeMalformed, SocketsUnavailable
from subscriptions.hub import Hub
from subscriptions.members import USAGE_NAME, Member, log
from subscriptions.methods import methods
from webserver.requests import WORKER
from webserver.upgrades import Channel
from webserver.worker import Worker

# How long a thread waits for the loop.
_LOOP_SECONDS = 10.0
_VERSION = "13"


class SubscriptionSocket(Endpoint):
    """WebSockets at an endpoint's path."""

    name = USAGE_NAME
    # What may be called by it.
    methods: MethodTable = methods

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        started = time.perf_counter()
        try:
            self.check_host(request)
            self.check_caller(request)
            self.check_throttles(request)
            response: HttpResponseBase = self._switch(request)
        except Exception as error:
            self.refusal = refusal = error_of(
                error,
                request_id=request.request_id,
                method=self.name,
                key_id=self.key_id,
                log=log,
            )
            content_type, body = body_of(refusal, ErrorFormat.WORD)
            response = Answer(
                [body],
                request_id=request.request_id,
                status=status_of(refusal),
                content_type=content_type,
                taken=self.taken,
                headers=headers_of(refusal),
            )
        self._count(request, response.status_code, time.perf_counter() - started)
        return response

    @property
    def key_id(self) -> int | None:
        caller = getattr(self.request, "user", None)
        return (
            caller.key_id if isinstance(caller, Caller) else getattr(self.refusal, "key_id", None)
        )

    def _switch(self, request: Any) -> Switching:
        meta = request.META
        key = _handshake_key(meta)
        worker: Worker | None = meta.get(WORKER)
        if worker is None:
            raise SocketsUnavailable  # another server than ours has called this view
        caller: Caller = request.user
        secret = key_of(meta)
        member = Member(
            None if secret is None or caller.key_id is None else digest_of(secret),
            caller.key_id,
            request.host,
            request.client_address,
            self.policy,
        )
        try:
            hub = worker.call(_hub_of, worker).result(_LOOP_SECONDS)
            hub.members.enter(member, caller)
        except (*AWAY, FutureTimeout) as error:
            log.warning("a WebSocket could not be opened: %s", error)
            raise SocketsUnavailable from None

        def upgrade(channel: Channel) -> Connection:
            return Connection(channel, hub, member, caller, self.methods)

        headers = {"Sec-WebSocket-Accept": accept_key(key), "X-Request-Id": request.request_id}
        return Switching(upgrade, headers=headers)

    def _count(self, request: Any, status: int, seconds: float) -> None:
        count_call(
            self.key_id,
            self.name,
            self.refusal,
            seconds,
            path=request.path_info,
            status=status,
            address=request.client_address,
            request_id=request.request_id,
        )


async def _hub_of(worker: Worker) -> Hub:
    return Hub.of(worker)


def _handshake_key(meta: dict[str, Any]) -> str:
    """Raises HandshakeInvalid and HandshakeMalformed."""
    if meta.get("HTTP_SEC_WEBSOCKET_VERSION") != _VERSION:
        raise HandshakeInvalid
    if meta.get("SERVER_PROTOCOL") != "HTTP/1.1":
        raise HandshakeMalformed("HTTP/1.1")
    names = [name.strip().lower() for name in meta.get("HTTP_CONNECTION", "").split(",")]
    if "upgrade" not in names:
        raise HandshakeMalformed("Connection: Upgrade")
    key: str = meta.get("HTTP_SEC_WEBSOCKET_KEY", "").strip()
    try:
        is_key = len(base64.b64decode(key, validate=True)) == 16
    except binascii.Error:
        is_key = False
    if not is_key:
        raise HandshakeMalformed("a Sec-WebSocket-Key of 16 bytes in base64")
    return key
