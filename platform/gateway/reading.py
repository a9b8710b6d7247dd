"""A plain GET's way in: the steps of RpcEndpoint, for an operation that is one function."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
from django.http import HttpRequest

from access import usage
from access.buckets import Taken
from access.callers import Caller
from gateway import call_log
from gateway.addresses import client_address
from gateway.answers import Answer
from gateway.authentication import caller_of
from gateway.compression import MINIMUM, compress
from gateway.declarations import Parameter, declare
from gateway.hosts import Host
from gateway.outages import outage_of
from gateway.permissions import require, require_served
from gateway.refusals import NotAllowed, TooManyRequests, body_of, headers_of, status_of
from gateway.terms import Terms
from gateway.throttles import still_known, take
from jsonrpc.errors import InternalError, RpcError

log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Asked:
    """What an operation may know of its request. `query` is as it came, `meta` the request's; under
    `name` the operation's calls are counted.
    """

    caller: Caller
    host: Host
    now: datetime
    request_id: str
    address: str
    query: str
    meta: dict[str, Any]
    terms: Terms
    request: HttpRequest
    name: str
    taken: Taken | None = None

    def spend_request(self) -> None:
        """Takes a call from the limits that the terms name. Raises TooManyRequests, and what a
        change of the key asks for.
        """
        self.spend(take(self.request, self.caller, self.terms.quota, self.address))

    def spend(
        self, taken: Taken | None, refusal: Callable[[Taken], RpcError] | None = None
    ) -> None:
        """Notes what was taken of the caller's limits, for the answer's headers. Raises the refusal
        (TooManyRequests unless told otherwise) when it was not, and what a change of the key since
        the caller was identified asks for.
        """
        self.taken = taken
        if taken is None:
            return
        if not still_known(taken):
            self.caller = caller_of(self.meta, now=self.now)
            require(self.host, self.caller, self.terms, self.address, self.name)
        if not taken.allowed:
            raise refusal(taken) if refusal is not None else TooManyRequests(taken, 1)


# Answers anything that JSON can hold, members named as they go out. Behind the Asked come the
# captured parts of the path, by name.
Operation = Callable[..., object]


class View(Protocol):
    """A Django view that HostMiddleware knows as an endpoint."""

    terms: Terms
    verb: str

    def __call__(self, request: HttpRequest, **path: str) -> Answer: ...


def get_endpoint(
    name: str,
    operation: Operation,
    terms: Terms,
    *,
    query: Sequence[Parameter] = (),
    result: Any = None,
    errors: Sequence[type[RpcError]] = (),
    content_type: str = "application/json",
) -> View:
    """The view of an operation; its calls are counted under the name. Limits are the operation's
    own to take, by `Asked.spend`. An error that has `words` is answered with just these. What comes
    after the terms is for the reference.
    """

    def view(request: HttpRequest, **path: str) -> Answer:
        started = time.perf_counter()
        meta = request.META
        identity: str = request.request_id  # type: ignore[attr-defined]
        host: Host = request.host  # type: ignore[attr-defined]
        asked: Asked | None = None
        address = ""
        try:
            require_served(host, terms, request.path_info)
            if request.method != "GET":
                raise NotAllowed(request.method or "", "GET")
            address = client_address(meta)
            now = datetime.now(UTC)
            caller = caller_of(meta, now=now)
            query: str = meta.get("QUERY_STRING", "")
            asked = Asked(caller, host, now, identity, address, query, meta, terms, request, name)
            require(host, caller, terms, address, name)
            chunks = [_encode(operation(asked, **path))]
            encoding = None
            accepted = meta.get("HTTP_ACCEPT_ENCODING")
            if accepted and len(chunks[0]) > MINIMUM:
                chunks, encoding = compress(chunks, accepted)
            _count(asked.caller.key_id, name, "ok", address, started, identity)
            return Answer(chunks, request_id=identity, encoding=encoding, taken=asked.taken)
        except RpcError as error:
            refusal = error
        except Exception as error:
            key = None if asked is None else asked.caller.key_id
            extra = {"request_id": identity, "method": name, "key_id": key}
            outage = outage_of(error)
            if outage is not None:
                log.warning("calls are answered %s: %s", outage.reason, error, extra=extra)
            else:
                log.exception(*("request %s failed: %s, key %s", identity, name, key), extra=extra)
            refusal = outage or InternalError()
        key_id = getattr(refusal, "key_id", None) if asked is None else asked.caller.key_id
        _count(key_id, name, refusal.reason, address, started, identity)
        content_type, text = body_of(refusal, terms.face)
        words: dict[str, Any] | None = getattr(refusal, "words", None)
        return Answer(
            [text if words is None else _encode(words)],
            request_id=identity,
            status=status_of(refusal),
            content_type=content_type,
            taken=None if asked is None else asked.taken,
            headers=headers_of(refusal),
        )

    view.terms = terms  # type: ignore[attr-defined]
    view.verb = "GET"  # type: ignore[attr-defined]
    declare(
        view,
        name,
        function=operation,
        result=result,
        query=query,
        errors=errors,
        content_type=content_type,
    )
    view.is_short = True  # type: ignore[attr-defined]  # gateway.wsgi calls it without Django's handler
    return view  # type: ignore[return-value]


def _count(
    key_id: int | None, name: str, status: str, address: str, started: float, identity: str
) -> None:
    spent = time.perf_counter() - started
    usage.count(
        key_id,
        name,
        status,
        seconds=time.time(),
        microseconds=int(spent * 1e6),
        address=address,
    )
    call_log.note(name, status, spent, key_id=key_id, request_id=identity)
