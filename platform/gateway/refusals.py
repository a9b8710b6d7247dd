"""Refusals of requests, and the formatting of every refusal."""

from datetime import datetime
from typing import Any, ClassVar

from access.buckets import Taken
from access.callers import MonthSpent
from gateway.endpoint_policy import ErrorFormat
from gateway.sent_keys import CHALLENGE
from jsonrpc.dispatch import failure
from jsonrpc.errors import RpcError
from jsonrpc.wire import encode


class Refusal(RpcError):
    """A refusal with an HTTP status of its own. `headers` go with it; with `retry_seconds` they say
    when to try again.
    """

    status: ClassVar[int] = 400
    code = -32600
    retry_seconds: int | None = None

    def headers(self) -> dict[str, str]:
        return {} if self.retry_seconds is None else {"Retry-After": str(self.retry_seconds)}


class HostUnknown(Refusal):
    """This installation does not have the host in the Host header."""

    status = 404
    reason = "host_unknown"
    text = "This service does not have this host"


class PathNotServed(Refusal):
    """This host does not serve this path."""

    status = 404
    reason = "path_not_served"

    def __init__(self, host: str, path: str) -> None:
        data = {"found": host, "path": path[:200]}
        super().__init__("This host does not serve this path", data=data)


class NotAllowed(Refusal):
    """The operation does not support this HTTP method."""

    status = 405
    reason = "http_method_not_allowed"

    def __init__(self, found: str, allowed: str = "POST", *, preflight: bool = True) -> None:
        super().__init__(
            f"HTTP method not allowed: expected {allowed}",
            data={"required": allowed, "found": found[:20]},
        )
        self.allow = f"{allowed}, OPTIONS" if preflight else allowed

    def headers(self) -> dict[str, str]:
        return {"Allow": self.allow}


class BodyTooLarge(Refusal):
    """The body is above the maximum. If the path accepts larger ones with another scope,
    `largerScope` is that scope, and `largerMaximum` its maximum.
    """

    status = 413
    reason = "body_too_large"

    def __init__(
        self, maximum: int, found: int | None, larger: tuple[str, int] | None = None
    ) -> None:
        data: dict[str, Any] = {"maximum": maximum}
        text = f"Body too large: the maximum is {maximum} bytes"
        if found is not None:
            data["found"] = found
        if larger is not None:
            data["largerMaximum"], data["largerScope"] = larger[1], larger[0]
            text += f", and {larger[1]} for a call with overrides and a key of scope `{larger[0]}`"
        super().__init__(text, data=data)


class BodyUnreadable(Refusal):
    """The body does not have its announced length, or the length is not a number."""

    status = 400
    reason = "body_unreadable"
    text = "The body does not have its announced length"


class ContentTypeUnsupported(Refusal):
    """The body is not declared as plain JSON."""

    status = 415
    reason = "content_type_unsupported"

    def __init__(self, found: str) -> None:
        super().__init__(
            "Unsupported content type: expected application/json, not encoded",
            data={"required": "application/json", "found": found[:100]},
        )

    def headers(self) -> dict[str, str]:
        """What the endpoint accepts instead (RFC 9110, sections 12.5.3 and 15.5.16)."""
        return {"Accept": "application/json", "Accept-Encoding": "identity"}


class RequestMalformed(Refusal):
    """The request is not HTTP/1.1."""

    reason = "request_malformed"
    text = "The request is not HTTP/1.1"


class RequestFailed(Refusal):
    """An internal error: the request failed with an uncaught exception, which is logged."""

    status = 500
    code = -32603
    reason = "request_failed"
    text = "Internal error"


class HostRequired(Refusal):
    """The request has no valid Host header, or more than one."""

    reason = "host_required"
    text = "Exactly one Host header is required"


class ForwardedAddressUnreadable(Refusal):
    """A trusted proxy names no readable client address in `X-Forwarded-For`. Without it, the proxy
    would count as the client: its address decides about limits and allowed networks.
    """

    reason = "forwarded_address_unreadable"

    def __init__(self, found: str) -> None:
        super().__init__(
            "The proxy's X-Forwarded-For does not end with an IP address",
            data={"required": "an IP address, optionally with a port", "found": found[:100]},
        )


class TlsRequired(Refusal):
    """The proxy in front reports that the key was sent without TLS: anyone on the way could read
    it.
    """

    status = 403
    code = -32003
    reason = "tls_required"
    text = (
        "Use https: without it, anyone on the way can read the key. Replace a key that was sent"
        " without it"
    )


class RequestTimedOut(Refusal):
    """The request was not complete in time."""

    status = 408
    reason = "request_timed_out"
    text = "The request was not complete in time"


class HeadTooLarge(Refusal):
    """The request line and headers are too many or too long."""

    status = 431
    reason = "head_too_large"
    text = "The headers are too large"


class Overloaded(Refusal):
    """Too many requests wait, or the process is stopping."""

    status = 503
    code = -32005
    reason = "overloaded"
    text = "The service is overloaded. Try again"
    retry_seconds = 1

    def __init__(self) -> None:
        super().__init__(data={"retryAfterSeconds": self.retry_seconds})


class TooManyAtOnce(Overloaded):
    """Too many expensive calls of this key, or of this address without a key, already wait; or so
    many requests without a key wait that another would take more than 10 s.
    """

    status = 429
    reason = "too_many_at_once"
    text = "Too many calls of this kind at once. Wait for some to finish"


class TooManyConnections(Overloaded):
    """The client's address, or all clients together, have reached the maximum of connections."""

    reason = "too_many_connections"
    text = "Too many connections from this address"


class KeyRequired(Refusal):
    """The operation requires an API key, and the request has none."""

    status = 401
    code = -32003
    reason = "key_required"
    text = "An API key is required: send it in the Authorization header"


class Forbidden(Refusal):
    """The key is valid but may not do this."""

    status = 403
    code = -32003
    reason = "forbidden"
    abstract: ClassVar[bool] = True


class KeySuspended(Forbidden):
    """The key is suspended, until an administrator resumes it."""

    reason = "key_suspended"
    text = "This API key is suspended"


class AddressNotAllowed(Forbidden):
    """The caller's address is outside the key's CIDR list."""

    reason = "address_not_allowed"

    def __init__(self, found: str) -> None:
        super().__init__(
            "This API key may not be used from this address",
            data={"required": "an address of the key's CIDR list", "found": found},
        )


class OriginNotAllowed(Forbidden):
    """The key has a list of web origins, and the request is from no page of them."""

    reason = "origin_not_allowed"

    def __init__(self, found: str) -> None:
        super().__init__(
            "This API key may not be used from this page",
            data={"required": "a web origin of the key's list", "found": found[:260] or None},
        )


class ScopeMissing(Forbidden):
    """The key does not have the operation's scope."""

    reason = "scope_missing"

    def __init__(self, required: str, found: list[str]) -> None:
        super().__init__(
            f"This API key does not have the scope `{required}`",
            data={"required": required, "found": found},
        )


class MethodNotAllowed(Forbidden):
    """The key has a list of methods, and this method is not on it."""

    reason = "method_not_allowed"

    def __init__(self, required: str, found: list[str]) -> None:
        super().__init__(
            f"This API key may not call `{required[:100]}`",
            data={"required": required[:100], "found": found},
        )


class TierTooLow(Forbidden):
    """The host belongs to a tier above the key's."""

    reason = "tier_too_low"

    def __init__(self, required: str, found: str) -> None:
        super().__init__(
            f"This host requires a key of tier `{required}` or above",
            data={"required": required, "found": found},
        )


class TooManyRequests(Refusal):
    """The limit of the key, or of the address of a caller without a key, is reached."""

    status = 429
    code = -32005
    reason = "rate_limited"
    text: ClassVar[str] = "Too many requests"

    def __init__(self, taken: Taken, cost: int) -> None:
        data = {
            "quota": taken.quota,
            "limit": taken.limit,
            "required": cost,
            "found": taken.remaining,
            "retryAfterSeconds": taken.retry_seconds,
        }
        super().__init__(self.text.format(limit=taken.limit), data=data)
        self.retry_seconds = taken.retry_seconds


class BatchAboveLimit(TooManyRequests):
    """A batch without a key has more calls than the limit ever allows at once: split it."""

    reason = "batch_above_limit"
    text = "Too many requests: split the batch, the limit is {limit} calls at once"


class MonthlyQuotaReached(Refusal):
    """The key has used up its calls of this calendar month (UTC). The limit applies within about a
    minute.
    """

    status = 429
    code = -32005
    reason = "monthly_quota_reached"

    def __init__(self, spent: MonthSpent, now: datetime) -> None:
        resets_at = int(spent.resets_at.timestamp())
        self.retry_seconds = max(1, resets_at - int(now.timestamp()))
        data = {
            "limit": spent.limit,
            "used": spent.used,
            "resetsAt": resets_at,
            "retryAfterSeconds": self.retry_seconds,
        }
        super().__init__(f"All {spent.limit} calls of this month are used up", data=data)


# The statuses that ErrorFormat.PLAIN_TEXT sends as a line of text.
_PLAIN = {401, 403, 429, 500}
# Exactly as the standard node sends it: some clients compare it.
RPC_CONTENT_TYPE = "application/json; charset=utf-8"


def format_of(method: str, path: str) -> ErrorFormat:
    """The error format of a request that no endpoint was found for, or before it is looked for."""
    is_call = method == "POST" and not path.startswith("/manage/")
    return ErrorFormat.JSON_RPC if is_call else ErrorFormat.WORD


def status_of(error: RpcError) -> int:
    """The refusal's own HTTP status, else 500 for internal errors and 200 for JSON-RPC errors."""
    return getattr(error, "status", 500 if error.code == -32603 else 200)


def headers_of(error: RpcError) -> dict[str, str]:
    own = getattr(error, "headers", None)
    headers: dict[str, str] = {} if own is None else dict(own())
    if status_of(error) == 401:
        headers.setdefault("WWW-Authenticate", CHALLENGE)
    return headers


def body_of(error: RpcError, error_format: ErrorFormat) -> tuple[str, bytes]:
    """Content type and body of the refusal in the endpoint's error format."""
    if error_format is ErrorFormat.PLAIN_TEXT and status_of(error) in _PLAIN:
        return "text/plain; charset=utf-8", f"{error.message}\n".encode()
    if error_format is ErrorFormat.WORD:
        details: dict[str, Any] = {k: v for k, v in error.data.items() if k != "reason"}
        return "application/json", encode(
            {"error": error.reason, "message": error.message, **details}
        )
    return RPC_CONTENT_TYPE, failure(error)
