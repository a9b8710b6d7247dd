"""Call, a method's view of its request, and the processing of the calls of one body."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from access import usage
from access.callers import Caller
from gateway import answers, call_log
from gateway.answers import Answered
from gateway.budgets import Budget
from gateway.compression import acompress
from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.hosts import Host
from gateway.outages import ServiceOutage, outage_of
from gateway.refusals import RPC_CONTENT_TYPE, Refusal, status_of
from jsonrpc import dispatch as rpc
from jsonrpc.errors import InternalError, RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.wire import Encoded


@dataclass(slots=True)
class Call:
    """The request as the first argument of every RPC method.

    `now` is an aware datetime, `address` the client's address as text, `meta` the WSGI environment
    of the head. `headers` of a method are added to the response of a call outside a batch.
    `came_at` is the earliest time (monotonic) at which the request can have come.
    """

    caller: Caller
    host: Host
    now: datetime
    request_id: str
    address: str
    meta: Mapping[str, Any] = field(default_factory=dict, repr=False)
    budget: Budget = field(default_factory=Budget)
    headers: dict[str, str] = field(default_factory=dict)
    came_at: float = field(default_factory=time.monotonic)

    @property
    def query(self) -> str:
        """The query string."""
        return str(self.meta.get("QUERY_STRING", ""))


class Observer:
    """Counts each call of a body and keeps the error of the last one. `started` is the start of the
    next call (perf_counter), `is_batch` whether the body is a batch.
    """

    __slots__ = (
        "address",
        "error",
        "error_format",
        "is_batch",
        "key_id",
        "methods",
        "path",
        "request_id",
        "started",
    )

    def __init__(
        self,
        methods: MethodTable,
        key_id: int | None,
        *,
        address: str,
        request_id: str,
        started: float,
        path: str,
        error_format: ErrorFormat,
    ) -> None:
        self.methods = methods
        self.key_id = key_id
        self.address = address
        self.request_id = request_id
        self.started = started
        self.path = path
        self.error_format = error_format
        self.is_batch = False
        self.error: RpcError | None = None

    def __call__(self, method: str, error: RpcError | None) -> None:
        now = time.perf_counter()
        self.error = error
        status = 200
        if error is not None and not self.is_batch and _has_a_status(error, self.error_format):
            status = status_of(error)
        self.count(method, error, now - self.started, status)
        self.started = now

    def count(self, method: str, error: RpcError | None, seconds: float, status: int) -> None:
        """Counts one call; `status` is that of the HTTP response. Unknown methods are counted as
        `unknown`, so that counters stay few, and calls refused before their method was read as
        `none`.
        """
        # Only a method that is known is answered without an error.
        if error is not None and method != "batch" and not self.methods.knows(method):
            method = "unknown" if method else "none"
        count_call(
            self.key_id,
            method,
            error,
            seconds,
            path=self.path,
            status=status,
            address=self.address,
            request_id=self.request_id,
        )


def count_call(
    key_id: int | None,
    name: str,
    error: RpcError | None,
    seconds: float,
    *,
    path: str,
    status: int,
    address: str,
    request_id: str,
) -> None:
    """Counts one call under the name, and logs it if it was slow or the service failed. One that
    was not ok is kept for the page of its key, with the path and the HTTP status.
    """
    outcome = "ok" if error is None else error.reason
    usage.count_finished(
        key_id,
        name,
        outcome,
        path=path,
        address=address,
        error=error,
        microseconds=int(seconds * 1e6),
        status=status,
        request_id=request_id,
    )
    if outcome == InternalError.reason or 0 < settings.SLOW_CALL_MS < seconds * 1e3:
        call_log.note(name, outcome, seconds, key_id=key_id, request_id=request_id)


async def answer_calls(
    calls: rpc.Requests | RpcError,
    methods: MethodTable,
    call: Call,
    observe: Observer,
    policy: EndpointPolicy,
    accepted: str,
    known: Encoded | None = None,
) -> Answered:
    """Runs the methods. `accepted` is the request's Accept-Encoding, `known` the one call's result
    where it is known already.
    """
    budget = call.budget
    headers: Mapping[str, str] | None = None
    try:
        if isinstance(calls, RpcError):
            observe("", calls)
            chunks = [rpc.failure(calls)]
        else:
            observe.is_batch = calls.batch
            chunks = await rpc.aanswer(calls, methods, call, observe, outage_of, budget, known)
            if not calls.batch:
                headers, found = call.headers, observe.error
                if found is not None:
                    if isinstance(found, ServiceOutage):
                        headers = {**headers, **found.headers()}
                    if _has_a_status(found, policy.error_format):
                        return _refused(found, chunks, policy.error_format)
        encoding = None
        if accepted:
            chunks, encoding = await acompress(chunks, accepted)
        sent = budget.kept_until_sent()
    except BaseException:
        budget.close()  # none of it is sent
        raise
    return Answered(chunks, encoding=encoding, headers=headers, sent=sent)


def refused(error: RpcError, observe: Observer, method: str) -> Answered:
    """The answer to a body that is refused as a whole; `method` is empty if it was not read."""
    seconds = time.perf_counter() - observe.started
    observe.count(method, error, seconds, status_of(error))
    return answers.refused(error, observe.error_format)


def _has_a_status(error: RpcError, error_format: ErrorFormat) -> bool:
    """Whether a method's refusal is more than an error object in an answer of HTTP 200."""
    return isinstance(error, Refusal) or (
        error_format is ErrorFormat.PLAIN_TEXT and isinstance(error, InternalError)
    )


def _refused(error: RpcError, chunks: list[bytes], error_format: ErrorFormat) -> Answered:
    answered = answers.refused(error, error_format)
    if answered.content_type == RPC_CONTENT_TYPE:
        answered.chunks = chunks  # the error object that was written already has the call's id
    return answered
