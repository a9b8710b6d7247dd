"""Quick calls without Django's request, handler, view and response: a request's head is resolved
once for all requests of a connection with the same head.
"""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from access import buckets, key_text
from access.callers import Caller
from access.services import keys
from eventloop.calls import current_call
from gateway.addresses import came_in_clear, client_address
from gateway.authentication import key_of
from gateway.bodies import is_plain_json
from gateway.budgets import Budget
from gateway.calls import Call, Observer, answer_calls
from gateway.endpoint import RpcEndpoint
from gateway.endpoint_policy import EndpointPolicy
from gateway.forwarded_calls import Handing
from gateway.hosts import Host, host_of
from gateway.permissions import is_narrow, require_served, require_standing, right_missing
from gateway.request_ids import new_request_id, sane_request_id
from gateway.routes import endpoint_at
from gateway.throttles import still_known
from jsonrpc import dispatch as rpc
from jsonrpc.methods import MethodTable
from webserver.requests import Request
from webserver.responses import Response


def answer(request: Request, address: tuple[str, int]) -> Response | None:
    """In a LoopCall: the response to a call of a quick method by a valid key, or to one that is
    forwarded. None for others: the application answers or refuses them, and takes no second token
    if one was taken.
    """
    shared = request.shared
    if shared is None:
        return None
    head = shared.known
    if head is None:
        head = shared.known = _known(request, address) or _UNKNOWN
    return head.answer(request.body) if isinstance(head, KnownHead) else None


_UNKNOWN = object()


def _known(request: Request, address: tuple[str, int]) -> "KnownHead | None":
    """The resolved head; None if it has anything unusual."""
    if request.method != "POST" or request.length < 0:
        return None
    match = endpoint_at(request.decoded_path)
    view: Any = None if match is None else match.func
    if not issubclass(getattr(view, "cls", object), RpcEndpoint):
        return None
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
        meta["QUERY_STRING"],
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
    query: str
    accepted: str
    request_id: str | None
    # The caller that passed the checks last: callers are compared by identity.
    _admitted: Caller | None = None
    _is_narrow: bool = True

    def answer(self, body: bytes) -> Response | None:
        started, now = time.perf_counter(), datetime.now(UTC)
        try:
            calls = rpc.read(body, max_batch=1)
            caller = keys.identify(self.secret, now=now, digest=self.digest)
            if caller is not self._admitted:
                self._admit(caller)
        except Exception:
            return None
        one = calls.items[0]
        if calls.batch or one.error is not None:
            return None
        methods, name = self.methods, one.method
        method = methods.get(name)
        if not (methods.falls_back(name) if method is None else method.is_quick):
            return None
        if self._is_narrow and right_missing(caller, self.policy, name) is not None:
            return None
        taken, plan = None, buckets.plan_of(caller, self.policy.quotas.get(name, self.policy.quota))
        if plan is not None:
            taken = buckets.take(plan)
            running = current_call()
            assert running is not None
            running.done = taken
            if not taken.allowed or not still_known(taken):
                return None
        identity, address = self.request_id or new_request_id(), self.address
        observe = Observer(
            methods,
            caller.key_id,
            address=address,
            request_id=identity,
            started=started,
            path=self.path,
            error_format=self.policy.error_format,
        )
        budget = Budget(caller)
        call = Call(caller, self.host, now, identity, address, self.query, None, budget)
        if method is None:
            assert methods.fallback is not None
            handing = Handing(methods.fallback, one, call, observe, taken, self.accepted)
            return Response(200, (), later=handing.response)
        answered = answer_calls(calls, methods, call, observe, self.policy, self.accepted)
        lines = answered.lines(identity, taken)
        return Response(answered.status, (), answered.chunks, sent=answered.sent, lines=lines)

    def _admit(self, caller: Caller) -> None:
        """Raises a Refusal."""
        require_standing(self.host, caller, self.policy, self.address)
        self._is_narrow = is_narrow(caller, self.policy)
        self._admitted = caller
