"""The endpoints: a request's way in, from the HTTP request to the method's answer."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.views import APIView

from access import usage
from access.buckets import Taken
from access.callers import Caller
from gateway import call_log
from gateway.addresses import client_address
from gateway.answers import Answer
from gateway.authentication import caller_of
from gateway.bodies import read_body
from gateway.compression import MINIMUM, compress
from gateway.everywhere import everywhere
from gateway.hosts import ALL_IN_ONE, Host
from gateway.outages import ServiceOutage, outage_of
from gateway.paths import paths_serving
from gateway.permissions import (
    is_narrow,
    require_served,
    require_standing,
    right_missing,
    shut_out,
)
from gateway.refusals import NotAllowed, Refusal, body_of, headers_of, status_of
from gateway.terms import Face, Terms
from gateway.throttles import require_taken, still_known, take, take_each
from jsonrpc import dispatch as rpc
from jsonrpc.errors import InternalError, RpcError
from jsonrpc.methods import MethodTable

__all__ = ["Call", "RpcEndpoint", "Terms"]

log = logging.getLogger(__name__)

# What an endpoint's path shows to who looks at it with a browser.
Page = Callable[[HttpRequest], HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Call:
    """What a method may know of the request: the first argument of every RPC method.

    `now` is an aware datetime, `address` the client's address as text, `query` the query string.
    `request` is Django's own. What a method puts into `headers` goes with the answer of a call that
    came alone.
    """

    caller: Caller
    host: Host
    now: datetime
    request_id: str
    address: str
    query: str = ""
    request: HttpRequest | None = None
    headers: dict[str, str] = field(default_factory=dict)


class RpcEndpoint(APIView):
    """`RpcEndpoint.as_view(methods=…, terms=Terms(scope=…))` in an area's urls; a `page` is shown
    to who asks with GET on the all-in-one host.

    The steps are functions, called here one after the other (gateway.reading calls the same for
    plain GETs): DRF's own walk (its Request, negotiation, two passes over the headers) costs more
    than all of them.
    """

    methods: MethodTable = MethodTable()
    terms: Terms = Terms(scope="")
    page: Page | None = None

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view: Any = super().as_view(**initkwargs)
        view.methods = initkwargs.get("methods", cls.methods)
        view.methods.include(everywhere)
        view.methods.served_at = paths_serving
        view.terms = initkwargs.get("terms", cls.terms)  # HostMiddleware knows endpoints by it
        view.verb = "POST"
        view.page = initkwargs.get("page")
        return view

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        started = time.perf_counter()
        meta, terms = request.META, self.terms
        host: Host = request.host  # type: ignore[attr-defined]
        if self.page is not None and request.method in ("GET", "HEAD") and host is ALL_IN_ONE:
            return self.page(request)
        identity: str = request.request_id  # type: ignore[attr-defined]
        address, method = "", ""
        caller: Caller | None = None
        taken: Taken | None = None
        try:
            require_served(host, terms, request.path_info)
            if request.method != "POST":
                raise NotAllowed(request.method or "")
            address = client_address(meta)
            now = datetime.now(UTC)
            caller = caller_of(meta, now=now)
            require_standing(host, caller, terms, address)
            body = read_body(request)
            calls: rpc.Requests | RpcError
            try:
                calls = rpc.read(body, max_batch=settings.MAX_BATCH)
                cost = len(calls.items)
                method = "batch" if calls.batch else calls.items[0].method
            except RpcError as error:
                calls, cost = error, 1
            if is_narrow(caller, terms):
                calls = _with_rights(calls, caller, terms)
            if terms.quotas and not isinstance(calls, RpcError):
                asked = [terms.quotas.get(each.method, terms.quota) for each in calls.items]
                taken, cost = take_each(request, caller, asked, address)
            else:
                taken = take(request, caller, terms.quota, address, cost)
            if taken is not None:
                if not still_known(taken):
                    caller = caller_of(meta, now=now)
                    require_standing(host, caller, terms, address)
                    if is_narrow(caller, terms):
                        calls = _with_rights(calls, caller, terms)
                require_taken(taken, cost)
            observe = self._observer(caller, address, started, identity)
            headers: dict[str, str] | None = None
            if isinstance(calls, RpcError):
                observe("", calls)
                chunks = [rpc.failure(calls)]
            else:
                query: str = meta.get("QUERY_STRING", "")
                call = Call(caller, host, now, identity, address, query, request)
                chunks = rpc.answer(calls, self.methods, call, observe, outage_of)
                if not calls.batch:
                    headers = call.headers
                    found = observe.error
                    if isinstance(found, ServiceOutage):
                        headers = {**headers, **found.headers()}
                    if found is not None and _has_a_face(found, terms.face):
                        return _refused(found, chunks, terms.face, identity, taken)
            encoding = None
            accepted = meta.get("HTTP_ACCEPT_ENCODING")
            if accepted and sum(map(len, chunks)) > MINIMUM:
                chunks, encoding = compress(chunks, accepted)
            return Answer(
                chunks, request_id=identity, encoding=encoding, taken=taken, headers=headers
            )
        except RpcError as error:
            refusal = error
        except Exception as error:
            key = None if caller is None else caller.key_id
            known = method if self.methods.knows(method) else ""
            extra = {"request_id": identity, "method": known, "key_id": key}
            outage = outage_of(error)
            if outage is not None:
                log.warning("calls are answered %s: %s", outage.reason, error, extra=extra)
            else:
                log.exception(
                    *("request %s failed: method %r, key %s", identity, known, key), extra=extra
                )
            refusal = outage or InternalError()
        # A revoked or expired key is no caller's any more, but its refusals are still its usage.
        key_id = getattr(refusal, "key_id", None) if caller is None else caller.key_id
        spent = time.perf_counter() - started
        self.count(key_id, method, refusal.reason, address, spent, identity)
        content_type, text = body_of(refusal, terms.face)
        return Answer(
            [text],
            request_id=identity,
            status=status_of(refusal),
            content_type=content_type,
            taken=taken,
            headers=headers_of(refusal),
        )

    def _observer(self, caller: Caller, address: str, started: float, identity: str) -> "_Observer":
        return _Observer(self, caller.key_id, address, started, identity)

    def count(
        self,
        key_id: int | None,
        method: str,
        status: str,
        address: str,
        spent: float,
        identity: str,
    ) -> None:
        """Whatever a caller invents as a method is one word, so that counters stay few; `none` is
        what was refused before its method was read, or could not be read.
        """
        if not self.methods.knows(method) and method != "batch":
            method = "unknown" if method else "none"
        usage.count(
            key_id,
            method,
            status,
            seconds=time.time(),
            microseconds=int(spent * 1e6),
            address=address,
        )
        call_log.note(method, status, spent, key_id=key_id, request_id=identity)


class _Observer:
    """Counts each call of a body, and keeps the refusal of the last one."""

    __slots__ = ("address", "endpoint", "error", "identity", "key_id", "started")

    def __init__(
        self,
        endpoint: RpcEndpoint,
        key_id: int | None,
        address: str,
        started: float,
        identity: str,
    ) -> None:
        self.endpoint = endpoint
        self.key_id = key_id
        self.address = address
        self.started = started
        self.identity = identity
        self.error: RpcError | None = None

    def __call__(self, method: str, error: RpcError | None) -> None:
        now = time.perf_counter()
        reason = "ok" if error is None else error.reason
        self.error = error
        spent = now - self.started
        self.endpoint.count(self.key_id, method, reason, self.address, spent, self.identity)
        self.started = now


def _has_a_face(error: RpcError, face: Face) -> bool:
    """Whether a method's refusal is more than an error object in an answer of HTTP 200."""
    return isinstance(error, Refusal) or (
        face is Face.PLAIN_TEXT and isinstance(error, InternalError)
    )


def _refused(
    error: RpcError, chunks: list[bytes], face: Face, identity: str, taken: Taken | None
) -> Answer:
    content_type, text = body_of(error, face)
    return Answer(
        # The error object that was written already has the call's id.
        chunks if content_type == "application/json" else [text],
        request_id=identity,
        status=status_of(error),
        content_type=content_type,
        taken=taken,
        headers=headers_of(error),
    )


def _with_rights(
    calls: rpc.Requests | RpcError, caller: Caller, terms: Terms
) -> rpc.Requests | RpcError:
    """The calls, those of a batch that the key may not make with their refusal; raises it for a
    call that came alone, and where none of them may be made.
    """
    shut = shut_out(caller, terms) if caller.key_id is not None else None
    if isinstance(calls, RpcError):
        if shut is not None:
            raise shut
        return calls
    if shut is not None and not any(everywhere.knows(each.method) for each in calls.items):
        raise shut
    refusals = [right_missing(caller, terms, each.method) for each in calls.items]
    if not calls.batch and refusals[0] is not None and calls.items[0].error is None:
        raise refusals[0]
    items = [
        each if refusal is None or each.error is not None else replace(each, error=refusal)
        for each, refusal in zip(calls.items, refusals, strict=True)
    ]
    return rpc.Requests(items, calls.batch)
