"""DRF's exception handler: every exception becomes a typed error in the endpoint's format."""

import logging
from typing import Any

from rest_framework import exceptions
from rest_framework.response import Response

from gateway.outages import outage_of
from gateway.refusals import NotAllowed, PathNotServed, body_of, headers_of, status_of
from jsonrpc.errors import InternalError, RpcError
from jsonrpc.wire import encode

log = logging.getLogger(__name__)


def exception_handler(exception: Exception, context: dict[str, Any]) -> Response:
    """A response for every exception; unexpected ones are logged with their tracebacks."""
    view, request = context["view"], context["request"]
    if isinstance(exception, exceptions.MethodNotAllowed):
        exception = NotAllowed(request.method or "", view.verb)
    elif isinstance(exception, exceptions.NotFound):
        exception = PathNotServed(request.host.label, request.path_info)
    error = error_of(
        exception, request_id=request.request_id, method=view.name, key_id=view.key_id, log=log
    )
    view.refusal = error
    own_body: dict[str, Any] | None = getattr(error, "response_body", None)
    content_type, body = body_of(error, view.policy.error_format)
    return Response(
        body if own_body is None else encode(own_body),
        status=status_of(error),
        headers=headers_of(error),
        content_type=content_type,
    )


def error_of(
    exception: Exception,
    *,
    request_id: str,
    method: str,
    key_id: int | None,
    log: logging.Logger,
) -> RpcError:
    """The typed error for an exception: an outage by its name, any other unexpected one as an
    internal error, with its traceback in the log.
    """
    if isinstance(exception, RpcError):
        return exception
    extra = {"request_id": request_id, "method": method, "key_id": key_id}
    outage = outage_of(exception)
    if outage is not None:
        log.warning("calls are answered %s: %s", outage.reason, exception, extra=extra)
        return outage
    log.error(
        "request %s failed: method %r, key %s",
        request_id,
        method,
        key_id,
        exc_info=exception,
        extra=extra,
    )
    return InternalError()
