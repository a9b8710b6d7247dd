"""Single calls with a key, admitted on the web server's loop without Django's request,
handler, view and response: a head is resolved once for all requests of a connection that have it.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.conf import settings

from access.callers import Caller
from eventloop.faces import outcome_of, started
from gateway.admission import Costs, Entry, Sender, aadmit, sender_of
from gateway.answers import Answered, new_request_id, sane_request_id
from gateway.bodies import calls_of, is_plain_json
from gateway.budgets import Budget
from gateway.calls import Call, Observer, answer_calls, refused
from gateway.edge import AtOnce, Lanes, holder_of, usable_database
from gateway.endpoint import RpcEndpoint
from gateway.endpoint_policy import EndpointPolicy
from gateway.exception_handler import error_of
from gateway.forwarded_calls import Handing
from gateway.permissions import is_narrow, right_missing
from gateway.routes import endpoint_at
from jsonrpc import dispatch as rpc
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from webserver.connections import Connection
from webserver.lanes import Lane
from webserver.requests import Request
from webserver.responses import Response

log = logging.getLogger(__name__)


def answering(
    lanes: Lanes, at_once: AtOnce, request: Request, connection: Connection
) -> Response | Coroutine[Any, Any, Response] | None:
    """Answers a single call with a key: an async method on the loop, and what is in memory; another
    in its lane. `at_once` may answer other requests than POST. None for all else: a thread runs the
    application.
    """
    if request.method != "POST":
        return at_once(request)
    if not 0 <= request.length <= settings.MAX_BODY:
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

        lane, holder = self.lane, self.holder
        try:
            loop = asyncio.get_running_loop()
            found = await outcome_of(loop, lambda job: lane.submit(job, holder), run)
        finally:
            lane.done(holder)
        return found[0] if found is not None else await asyncio.create_task(answering)


_UNKNOWN = object()


def _known(request: Request, view: Any, address: tuple[str, int]) -> "KnownHead | None":
    """The resolved head; None if it has anything unusual."""
    meta = request.environ(address, ("", 0))
    if not meta.get("HTTP_HOST") or not is_plain_json(meta):
        return None
    try:
        sender = sender_of(meta)
    except RpcError:
        return None
    if not sender.secret:
        return None
    return KnownHead(
        sender,
        view.policy,
        view.methods,
        {name: value for name, value in meta.items() if name != "wsgi.input"},
        meta.get("HTTP_ACCEPT_ENCODING", ""),
        sane_request_id(meta.get("HTTP_X_REQUEST_ID")),
    )


@dataclass(slots=True)
class KnownHead:
    """The endpoint of a head, and who sent it."""

    sender: Sender
    policy: EndpointPolicy
    methods: MethodTable
    meta: Mapping[str, Any] = field(repr=False)
    accepted: str
    request_id: str | None
    # The caller that may call every method: callers are compared by identity.
    _unrestricted: Caller | None = field(default=None, repr=False)

    async def answer(
        self, calls: rpc.Requests, turn: "Turn | None", *, came_at: float, forwards: bool
    ) -> Response:
        """The response to the call, on the loop or in its `turn`; the fallback answers it if it
        `forwards`.
        """
        began, now = time.perf_counter(), datetime.now(UTC)
        one = calls.items[0]
        methods, name, policy, sender = self.methods, one.method, self.policy, self.sender
        identity = self.request_id or new_request_id()
        entry = Entry(sender, policy, partial(self._terms, name))
        observe = Observer(
            methods,
            None,
            address=sender.address,
            request_id=identity,
            started=began,
            path=sender.path,
            error_format=policy.error_format,
        )
        try:
            caller = await aadmit(entry, now=now)
        except Exception as error:
            observe.key_id = key_id = entry.key_id(error)
            refusal = error_of(error, request_id=identity, method=name, key_id=key_id, log=log)
            # As where a thread reads the body: a caller without standing has not called a method.
            called = name if entry.caller is not None and sender.in_standing is entry.caller else ""
            return refused(refusal, observe, called).response(identity, entry.taken)
        observe.key_id, taken = caller.key_id, entry.taken
        budget = Budget(caller)
        call = Call(
            caller,
            sender.host,
            now,
            identity,
            sender.address,
            self.meta,
            budget,
            came_at=came_at,
        )
        if forwards:
            assert methods.fallback is not None
            handing = Handing(methods.fallback, one, call, observe, taken, self.accepted)
            return Response(200, (), later=handing.response, is_known=True)
        known = None if turn is None else rpc.known_result(one, methods, call)
        answering = answer_calls(calls, methods, call, observe, policy, self.accepted, known)
        if turn is None or known is not None:
            answered = await answering
        else:
            answered = await turn.take(answering, observe)
        response = answered.response(identity, taken)
        response.is_known = True
        return response

    def _terms(self, method: str, caller: Caller) -> Costs:
        policy = self.policy
        if caller is not self._unrestricted:
            if not is_narrow(caller, policy):
                self._unrestricted = caller
            elif (refusal := right_missing(caller, policy, method)) is not None:
                raise refusal
        return {policy.quotas.get(method, policy.quota): 1}
