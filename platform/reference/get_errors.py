"""The errors of plain GETs."""

from typing import Any

from gateway.open_views import OpenView
from gateway.refusals import (
    ForwardedAddressUnreadable,
    HeadTooLarge,
    HostRequired,
    HostUnknown,
    KeyRequired,
    NotAllowed,
    Overloaded,
    PathNotServed,
    RequestMalformed,
    RequestTimedOut,
    TlsRequired,
    TooManyConnections,
)
from jsonrpc.errors import InternalError, RpcError
from reference.catalogue import common_errors, http_status

# Raised before a view is called, or when it fails.
OF_ANY = (
    RequestMalformed,
    HostRequired,
    HeadTooLarge,
    RequestTimedOut,
    Overloaded,
    ForwardedAddressUnreadable,
    TlsRequired,
    TooManyConnections,
    HostUnknown,
    PathNotServed,
    NotAllowed,
    InternalError,
)
# Errors of a call's body or method, which a GET does not have.
_OF_CALLS = {
    "parse_error",
    "invalid_request",
    "method_not_found",
    "invalid_params",
    "body_too_large",
    "body_unreadable",
    "content_type_unsupported",
    "batch_above_limit",
    "answer_too_large",
    "too_many_at_once",
}


def errors_of_get(view: Any) -> list[type[RpcError]]:
    """All errors of the view, its own first."""
    own = list(view.errors)
    if isinstance(view, OpenView) or not view.authentication_classes:
        return own + [kind for kind in OF_ANY if kind not in own]
    return own + [
        kind
        for kind in common_errors()
        if kind.reason not in _OF_CALLS
        and (kind is not KeyRequired or view.policy.key_required)
        and (http_status(kind) != 200 or kind is InternalError)
        and kind not in own
    ]


def status_of_get(kind: type[RpcError]) -> int:
    """The HTTP status of the error in a GET."""
    return 500 if kind is InternalError else http_status(kind)
