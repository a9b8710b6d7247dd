"""RpcEndpoint: from the HTTP request to the response of its calls."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NoReturn

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from access.buckets import Taken
from access.callers import Caller
from eventloop.faces import complete, started
from gateway.answers import Answer
from gateway.bodies import read_body, read_calls
from gateway.budgets import EXPENSIVE_PRICE, Budget
from gateway.calls import Call, Observer, answer_calls, refused
from gateway.common_methods import common_methods
from gateway.endpoint_policy import EndpointPolicy
from gateway.exception_handler import error_of
from gateway.forwarded_calls import HandedOn, Handing
from gateway.hosts import ALL_IN_ONE, Host
from gateway.paths import paths_serving
from gateway.permissions import is_narrow, right_missing, shut_out
from gateway.refusals import BodyTooLarge, NotAllowed
from gateway.routes import is_page, wants_socket
from gateway.throttles import refusal_of, take, take_each
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

    It runs the same classes as every Endpoint with a dispatch of its own: DRF's (its Request,
    negotiation, a Response and its rendering) costs more than all of them (docs/benchmarks.md).
    """

    verb = "POST"
    methods: MethodTable = MethodTable()
    page: Page | None = None
    # The view of WebSockets at the endpoint's path.
    socket: Page | None = None

    _caller: Caller | None = None
    _calls: "rpc.Requests | RpcError | None" = None
    _cost: int = 1
    _method: str = ""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view: Any = super().as_view(**initkwargs)
        view.methods = initkwargs.get("methods", cls.methods)
        view.methods.include(common_methods)
        view.methods.served_at = paths_serving
        view.page = initkwargs.get("page")
        view.socket = initkwargs.get("socket")
        return view

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        began = time.perf_counter()
        host: Host = request.host
        if self.socket is not None and wants_socket(self, request.META):
            return self.socket(request)
        if self.page is not None and host is ALL_IN_ONE and is_page(self, request.method):
            return self.page(request)
        try:
            self.check_host(request)
            if request.method != "POST":
                raise NotAllowed(request.method or "")
            self.now = datetime.now(UTC)
            self.check_caller(request)
            self.check_throttles(request)
            return self._answer(request, began)
        except Exception as error:
            self.refusal = refusal = self._error_of(error, request)
        # A revoked or expired key has no caller, but its refusals still count as its usage.
        answered = refused(refusal, self._observer(self.key_id, began), self._method)
        return Answer.of(answered, request.request_id, self.taken)

    def check_rights(self, caller: Caller) -> None:
        """Reads the body and refuses calls without the right: a single call by raising, those of a
        batch one by one.
        """
        self._caller = caller
        if self._calls is None:
            self._calls = self._read(caller)
        if is_narrow(caller, self.policy):
            self._calls = _with_rights(self._calls, caller, self.policy)

    def take_quota(self, request: Any) -> Taken | None:
        caller, calls, address = request.user, self._calls, request.client_address
        if isinstance(calls, RpcError):
            return take(request, caller, self.policy.quota, address, 1)
        assert calls is not None
        if not self.policy.quotas:
            self._cost = sum(map(self._price, calls.items)) if calls.batch else 1
            return take(request, caller, self.policy.quota, address, self._cost)
        prices: Counter[str] = Counter()
        for each in calls.items:
            quota = self.policy.quotas.get(each.method, self.policy.quota)
            prices[quota] += self._price(each) if calls.batch and quota == "requests" else 1
        taken, self._cost = take_each(request, caller, prices, address)
        return taken

    def throttled(self, request: Any, wait: float | None) -> NoReturn:
        assert self.taken is not None
        raise refusal_of(self.taken, self._cost)

    @property
    def key_id(self) -> int | None:
        caller = self._caller or getattr(self.request, "user", None)
        if isinstance(caller, Caller):
            return caller.key_id
        return getattr(self.refusal, "key_id", None)

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

    def _answer(self, request: Any, began: float) -> HttpResponseBase:
        caller, calls, identity = self._caller, self._calls, request.request_id
        assert caller is not None and calls is not None
        meta = request.META
        observe = self._observer(caller.key_id, began)
        call = Call(
            caller,
            request.host,
            self.now,
            identity,
            request.client_address,
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
            handing = Handing(self.methods.fallback, one, call, observe, self.taken, accepted)
            return HandedOn(handing.response)
        answering = answer_calls(calls, self.methods, call, observe, self.policy, accepted)
        answered = (complete(answering),) if one is None else started(answering)
        if answered is not None:
            return Answer.of(answered[0], identity, self.taken)
        taken = self.taken

        async def response() -> Response:
            # A coroutine that has begun can only go on as a task.
            found = await asyncio.get_running_loop().create_task(answering)
            return found.response(identity, taken)

        return HandedOn(response)

    def _error_of(self, error: Exception, request: Any) -> RpcError:
        known = self._method if self.methods.knows(self._method) else ""
        return error_of(
            error, request_id=request.request_id, method=known, key_id=self.key_id, log=log
        )

    def _observer(self, key_id: int | None, began: float) -> Observer:
        request: Any = self.request
        return Observer(
            self.methods,
            key_id,
            address=request.client_address,
            request_id=request.request_id,
            started=began,
            path=request.path_info,
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
