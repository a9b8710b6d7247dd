"""Single calls with a valid key, admitted on the web server's loop without Django's request,
handler, view and response: a head is resolved once for all requests of a connection that have it.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from access import buckets, key_text
from access.buckets import Taken
from access.callers import Caller
from access.services import keys
from eventloop.faces import in_thread, started
from gateway.addresses import came_in_clear, client_address
from gateway.answers import Answered
from gateway.authentication import key_of
from gateway.bodies import is_plain_json
from gateway.budgets import Budget
from gateway.calls import Call, Observer, answer_calls, refused
from gateway.edge import Lanes, calls_of, holder_of, usable_database
from gateway.endpoint import RpcEndpoint
from gateway.endpoint_policy import EndpointPolicy
from gateway.exception_handler import error_of
from gateway.forwarded_calls import Handing
from gateway.hosts import Host, host_of
from gateway.permissions import is_narrow, require_served, require_standing, right_missing
from gateway.request_ids import new_request_id, sane_request_id
from gateway.routes import endpoint_at
from gateway.throttles import refusal_of, still_known
from jsonrpc import dispatch as rpc
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from webserver.connections import Connection
from webserver.lanes import Lane
from webserver.requests import Request
from webserver.responses import Response

log = logging.getLogger(__name__)


def answering(
    lanes: Lanes, request: Request, connection: Connection
) -> Coroutine[Any, Any, Response | None] | None:
    """Answers a single call by a valid key: an async method on the loop, another in its lane. None
    for all else, which the coroutine may find as well, before it took anything: a thread runs the
    application.
    """
    if request.method != "POST" or not 0 <= request.length <= settings.MAX_BODY:
        return None
    shared = request.shared
    head = None if shared is None else shared.known
    if isinstance(head, KnownHead):
        methods = head.methods
    else:
        match = endpoint_at(request.decoded_path)
        view: Any = None if match is None else match.func
        if head is _UNKNOWN or not issubclass(getattr(view, "cls", object), RpcEndpoint):
            return None
        methods = view.methods
    calls = calls_of(request)
    if isinstance(calls, RpcError) or calls.batch or (one := calls.items[0]).error is not None:
        return None
    method = methods.get(one.method)
    if method is None and not methods.falls_back(one.method):
        return None
    if head is None:
        head = _known(request, view, connection.peer) or _UNKNOWN
        if shared is not None:
            shared.known = head
    if not isinstance(head, KnownHead):
        return None
    turn = None
    if method is not None and not method.is_async:
        lane = lanes.of_calls(calls, methods)
        holder = b"" if lane is lanes.quick else holder_of(request, connection.peer[0])
        if not lane.has_room() or not lane.has_room_for(holder):
            return None
        turn = Turn(lane, holder, connection)
    return head.answer(calls, turn, came_at=request.came_at, forwards=method is None)


@dataclass(slots=True)
class Turn:
    """A place in a lane, for a call of a connection."""

    lane: Lane
    holder: bytes
    connection: Connection

    async def take(self, answering: Coroutine[Any, Any, Answered], observe: Observer) -> Answered:
        """Runs the call in a thread, unless its client left, and what is left of it on the loop."""

        def run() -> tuple[Answered] | None:
            if self.connection.is_lost:
                answering.close()
                return (Answered([]),)
            observe.started = time.perf_counter()
            with usable_database():
                return started(answering)

        found = await self.lane.run(run, self.holder)
        return found[0] if found is not None else await asyncio.create_task(answering)


_UNKNOWN = object()


def _known(request: Request, view: Any, address: tuple[str, int]) -> "KnownHead | None":
    """The resolved head; None if it has anything unusual."""
    meta = request.environ(address, ("", 0))
    secret, host = key_of(meta), host_of(meta.get("HTTP_HOST", ""))
    if not secret or host is None or came_in_clear(meta) or not is_plain_json(meta):
        return None
    try:
        require_served(host, view.policy, meta["PATH_INFO"])
        address_of_client = client_address(meta)
    except Exception:
        return None
    return KnownHead(
        host,
        view.policy,
        view.methods,
        meta["PATH_INFO"],
        secret,
        key_text.digest_of(secret),
        address_of_client,
        {name: value for name, value in meta.items() if name != "wsgi.input"},
        meta.get("HTTP_ACCEPT_ENCODING", ""),
        sane_request_id(meta.get("HTTP_X_REQUEST_ID")),
    )


@dataclass(slots=True)
class KnownHead:
    """The endpoint of a head, with its caller's key and address."""

    host: Host
    policy: EndpointPolicy
    methods: MethodTable
    path: str
    secret: str = field(repr=False)
    digest: bytes
    address: str
    meta: Mapping[str, Any] = field(repr=False)
    accepted: str
    request_id: str | None
    # The caller that passed the checks last: callers are compared by identity.
    _admitted: Caller | None = None
    _is_narrow: bool = True

    async def answer(
        self, calls: rpc.Requests, turn: "Turn | None", *, came_at: float, forwards: bool
    ) -> Response | None:
        """The response to the call, on the loop or in its `turn`; the fallback answers it if it
        `forwards`. None if the application is to answer it, or to refuse it.
        """
        began, now = time.perf_counter(), datetime.now(UTC)
        one = calls.items[0]
        methods, name = self.methods, one.method
        try:
            caller = await keys.acached(self.digest, now=now)
            if caller is None:
                return None
            if caller is not self._admitted or self._is_narrow:
                self._require(caller, name)
        except Exception:
            return None
        identity, address = self.request_id or new_request_id(), self.address
        observe = Observer(
            methods,
            caller.key_id,
            address=address,
            request_id=identity,
            started=began,
            path=self.path,
            error_format=self.policy.error_format,
        )
        taken: Taken | None = None
        plan = buckets.plan_of(caller, self.policy.quotas.get(name, self.policy.quota))
        if plan is not None:
            taken = await buckets.atake(plan)
            try:
                if not still_known(taken):
                    caller = await in_thread(self._identified_again, name, now)
                if not taken.allowed:
                    raise refusal_of(taken, 1)
            except Exception as error:
                key_id = caller.key_id
                refusal = error_of(error, request_id=identity, method=name, key_id=key_id, log=log)
                return refused(refusal, observe, name).response(identity, taken)
        budget = Budget(caller)
        call = Call(caller, self.host, now, identity, address, self.meta, budget, came_at=came_at)
        if forwards:
            assert methods.fallback is not None
            handing = Handing(methods.fallback, one, call, observe, taken, self.accepted)
            return Response(200, (), later=handing.response, is_known=True)
        answering = answer_calls(calls, methods, call, observe, self.policy, self.accepted)
        answered = await (answering if turn is None else turn.take(answering, observe))
        response = answered.response(identity, taken)
        response.is_known = True
        return response

    def _require(self, caller: Caller, method: str) -> None:
        """Raises a Refusal unless the caller may call the method."""
        if caller is not self._admitted:
            require_standing(self.host, caller, self.policy, self.address)
            self._is_narrow = is_narrow(caller, self.policy)
            self._admitted = caller
        if self._is_narrow and (refusal := right_missing(caller, self.policy, method)) is not None:
            raise refusal

    def _identified_again(self, method: str, now: datetime) -> Caller:
        """The caller as the key's table has it now. Raises a Refusal."""
        caller = keys.identify(self.secret, now=now)
        self._require(caller, method)
        return caller
