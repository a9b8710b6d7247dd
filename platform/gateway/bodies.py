"""Reads a request's body and checks its type and size."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from access.callers import Caller
from gateway.endpoint_policy import EndpointPolicy
from gateway.refusals import BodyTooLarge, BodyUnreadable, ContentTypeUnsupported
from jsonrpc import dispatch as rpc
from jsonrpc.errors import RpcError
from webserver.requests import Request


def may_send_large(caller: Caller, policy: EndpointPolicy) -> bool:
    """Whether the caller's key may send the endpoint a body above MAX_BODY."""
    wanted = {policy.scope, policy.large_scope}
    return bool(policy.large_scope) and caller.key_id is not None and wanted <= caller.scopes


def larger_of(policy: EndpointPolicy) -> tuple[str, int] | None:
    """The scope for a body above MAX_BODY and its maximum size; None if the endpoint takes none."""
    return (policy.large_scope, settings.MAX_LARGE_BODY) if policy.large_scope else None


def read_body(request: HttpRequest, caller: Caller, policy: EndpointPolicy) -> bytes:
    """The bytes. Raises ContentTypeUnsupported, BodyTooLarge (before reading, if the length is
    announced) and BodyUnreadable.
    """
    meta = request.META
    if not is_plain_json(meta):
        content_type: str = meta.get("CONTENT_TYPE", "")
        coding: str = meta.get("HTTP_CONTENT_ENCODING", "")
        encoded = f", encoded as {coding}" if _is_json(content_type) else ""
        raise ContentTypeUnsupported(content_type + encoded)
    length: str = meta.get("CONTENT_LENGTH") or ""
    maximum: int = settings.MAX_BODY
    larger = larger_of(policy)
    if may_send_large(caller, policy):
        maximum, larger = max(maximum, settings.MAX_LARGE_BODY), None
    try:
        if length:
            if not length.isdecimal():
                raise BodyUnreadable
            announced = int(length[:20])
            if announced > maximum:
                raise BodyTooLarge(maximum, announced, larger)
            body: bytes = meta["wsgi.input"].read(announced)
            if len(body) < announced:
                raise BodyUnreadable
            return body
        if not meta.get("HTTP_TRANSFER_ENCODING"):
            return b""
        # Django reads nothing without a Content-Length; a chunked body must be asked for.
        body = meta["wsgi.input"].read(maximum + 1)
    except OSError:
        raise BodyUnreadable from None
    if len(body) > maximum:
        raise BodyTooLarge(maximum, None, larger)
    return body


def read_calls(body: bytes) -> rpc.Requests | RpcError:
    """The calls of a body, or the error if it cannot be read."""
    try:
        return rpc.read(body, max_batch=settings.MAX_BATCH)
    except RpcError as error:
        return error


def calls_of(request: Request) -> rpc.Requests | RpcError:
    """The calls of the request's body, which is read once."""
    found: rpc.Requests | RpcError | None = request.read
    if found is None:
        found = request.read = read_calls(request.body)
    return found


def is_plain_json(meta: dict[str, Any]) -> bool:
    """Whether the body's type is JSON, in no encoding."""
    coding: str = meta.get("HTTP_CONTENT_ENCODING", "")
    return _is_json(meta.get("CONTENT_TYPE", "")) and (not coding or coding.lower() == "identity")


def _is_json(content_type: str) -> bool:
    if content_type == "application/json":
        return True
    name = content_type.partition(";")[0].strip().lower()
    return name == "application/json" or (
        name.startswith("application/") and name.endswith("+json")
    )
