"""DRF's exception handler: whatever ends a request becomes a typed error in the endpoint's form."""

import logging
from typing import Any

from rest_framework import exceptions
from rest_framework.response import Response

from gateway.refusals import NotAllowed, PathNotServed, body_of, headers_of, status_of
from jsonrpc.errors import InternalError, RpcError
from jsonrpc.wire import encode

log = logging.getLogger(__name__)


def exception_handler(exception: Exception, context: dict[str, Any]) -> Response:
    """A response for every exception; what is unexpected is logged with its traceback."""
    view = context["view"]
    error = error_of(exception, context["request"], view)
    view.refusal = error
    words: dict[str, Any] | None = getattr(error, "words", None)
    content_type, body = body_of(error, view.terms.face)
    return Response(
        body if words is None else encode(words),
        status=status_of(error),
        headers=headers_of(error),
        content_type=content_type,
    )


def error_of(exception: Exception, request: Any, view: Any) -> RpcError:
    """The typed error that an exception stands for."""
    if isinstance(exception, RpcError):
        return exception
    if isinstance(exception, exceptions.MethodNotAllowed):
        return NotAllowed(request.method or "", view.verb)
    if isinstance(exception, exceptions.NotFound):
        return PathNotServed(request.host.label, request.path_info)
    log.exception(
        *("request %s failed: %s, key %s", request.request_id, view.name, view.key_id),
        extra={"request_id": request.request_id, "method": view.name, "key_id": view.key_id},
    )
    return InternalError()
