"""RpcEndpoint: from the HTTP request to the response of its calls."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

import gateway.whoami  # noqa: F401  (adds itself to the common methods)
from access.callers import Caller
from access.served_paths import paths_serving
from eventloop.faces import complete, started
from gateway.admission import Costs
from gateway.answers import Answer
from gateway.bodies import read_body, read_calls
from gateway.budgets import EXPENSIVE_PRICE, Budget
from gateway.calls import Call, Observer, answer_calls, refused
from gateway.common_methods import common_methods
from gateway.endpoint_policy import EndpointPolicy
from gateway.exception_handler import error_of
from gateway.forwarded_calls import HandedOn, Handing
from gateway.hosts import ALL_IN_ONE
from gateway.permissions import is_narrow, right_missing, shut_out
from gateway.refusals import BodyTooLarge
from gateway.routes import is_page, wants_socket
from gateway.views import Endpoint
from jsonrpc import dispatch as rpc
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from webserver.requests import CAME, READ, WORKER
from webserver.responses import Response

log = logging.getLogger(__name__)

# The page at an endpoint's path for browsers.
Page = Callable[[HttpRequest], HttpResponseBase]


class RpcEndpoint(Endpoint):
    """`RpcEndpoint.as_view(methods=…, policy=EndpointPolicy(scope=…))` in an area's urls; `page`
    answers a GET on the all-in-one host, `socket` one that asks for WebSocket.
    """

    verb = "POST"
    http_method_names = ["post"]
    methods: MethodTable = MethodTable()

    _calls: "rpc.Requests | RpcError | None" = None
    _method: str = ""

    @classmethod
    def as_view(cls, *, page: Page | None = None, socket: Page | None = None, **given: Any) -> Any:
        calls: Any = super().as_view(**given)

        @wraps(calls)
        def view(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if socket is not None and wants_socket(view, request.META):
                return socket(request)
            if page is not None and request.host is ALL_IN_ONE and is_page(view, request.method):
                return page(request)
            found: HttpResponseBase = calls(request, *args, **kwargs)
            return found

        known: Any = view
        known.methods = given.get("methods", cls.methods)
        known.methods.include(common_methods)
        known.methods.served_at = paths_serving
        known.page, known.socket = page, socket
        return view

    def terms(self, caller: Caller) -> Costs:
        """Reads the body and refuses calls without the right: a single call by raising, those of a
        batch one by one. An expensive call of a batch costs more.
        """
        policy = self.policy
        if self._calls is None:
            self._calls = self._read(caller)
        if is_narrow(caller, policy):
            self._calls = _with_rights(self._calls, caller, policy)
        calls = self._calls
        if isinstance(calls, RpcError):
            return {policy.quota: 1}
        if not policy.quotas:
            return {policy.quota: sum(map(self._price, calls.items)) if calls.batch else 1}
        prices: Counter[str] = Counter()
        for each in calls.items:
            quota = policy.quotas.get(each.method, policy.quota)
            prices[quota] += self._price(each) if calls.batch and quota == "requests" else 1
        return prices

    def post(self, request: Any) -> HttpResponseBase:
        """The answers of the calls, which were admitted: those of a batch one by one."""
        caller, calls, identity = request.user, self._calls, request.request_id
        assert calls is not None
        entry, meta = self.entry, request.META
        sender, taken = entry.sender, entry.taken
        observe = self._observer()
        call = Call(
            caller,
            sender.host,
            self.now,
            identity,
            sender.address,
            meta,
            Budget(caller),
            came_at=meta.get(CAME) or time.monotonic(),
        )
        accepted: str = meta.get("HTTP_ACCEPT_ENCODING") or ""
        # A single call, for which the web server's loop may wait in place of this thread.
        one = None
        if not isinstance(calls, RpcError) and not calls.batch and WORKER in meta:
            one = calls.items[0]
        if one is not None and one.error is None and self.methods.falls_back(one.method):
            assert self.methods.fallback is not None
            handing = Handing(self.methods.fallback, one, call, observe, taken, accepted)
            return HandedOn(handing.response)
        answering = answer_calls(calls, self.methods, call, observe, self.policy, accepted)
        answered = (complete(answering),) if one is None else started(answering)
        if answered is not None:
            return Answer(answered[0], identity, taken)

        async def response() -> Response:
            # A coroutine that has begun can only go on as a task.
            found = await asyncio.get_running_loop().create_task(answering)
            return found.response(identity, taken)

        return HandedOn(response)

    def handle_exception(self, error: Exception) -> HttpResponseBase:  # type: ignore[override]
        """The refusal of the whole body, in the form of the endpoint."""
        known = self._method if self.methods.knows(self._method) else ""
        request: Any = self.request
        identity, key_id = request.request_id, self.entry.key_id(error)
        self.refusal = error_of(error, request_id=identity, method=known, key_id=key_id, log=log)
        # A revoked or expired key has no caller, but its refusals still count as its usage.
        answered = refused(self.refusal, self._observer(), self._method)
        return Answer(answered, identity, self.entry.taken)

    def finalize_response(  # type: ignore[override]
        self, request: Any, response: Any, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """The response as it is: it has its headers, and its calls were counted one by one."""
        self.entry.close()
        return response  # type: ignore[no-any-return]

    def _read(self, caller: Caller) -> "rpc.Requests | RpcError":
        body = read_body(self.request, caller, self.policy)
        calls: rpc.Requests | RpcError = self.request.META.get(READ) or read_calls(body)
        if isinstance(calls, RpcError):
            return calls
        self._method = "batch" if calls.batch else calls.items[0].method
        if len(body) > settings.MAX_BODY:
            method = None if calls.batch else self.methods.get(self._method)
            if method is None or not method.takes_large:
                raise BodyTooLarge(settings.MAX_BODY, len(body))
        return calls

    def _price(self, request: rpc.Request) -> int:
        """What a call of a batch takes from the limit of requests."""
        method = self.methods.get(request.method)
        return EXPENSIVE_PRICE if method is not None and method.is_expensive else 1

    def _observer(self) -> Observer:
        sender = self.entry.sender
        request: Any = self.request
        return Observer(
            self.methods,
            self.key_id,
            address=sender.address,
            request_id=request.request_id,
            started=self.started,
            path=sender.path,
            error_format=self.policy.error_format,
        )


def _with_rights(
    calls: rpc.Requests | RpcError, caller: Caller, policy: EndpointPolicy
) -> rpc.Requests | RpcError:
    """The calls, with a refusal on those of a batch that the key may not make. Raises it for a
    single call, and if the key may make none of them.
    """
    shut = shut_out(caller, policy) if caller.key_id is not None else None
    if isinstance(calls, RpcError):
        if shut is not None:
            raise shut
        return calls
    if shut is not None and not any(common_methods.knows(each.method) for each in calls.items):
        raise shut
    refusals = [right_missing(caller, policy, each.method) for each in calls.items]
    if not calls.batch and refusals[0] is not None and calls.items[0].error is None:
        raise refusals[0]
    items = [
        each if refusal is None or each.error is not None else replace(each, error=refusal)
        for each, refusal in zip(calls.items, refusals, strict=True)
    ]
    return rpc.Requests(items, calls.batch)
