"""All error reasons, collected from the error classes."""

from django.urls import get_resolver

from jsonrpc.errors import RpcError

# The modules of errors that any call may get.
_COMMON = {
    "jsonrpc.errors",
    "access.errors",
    "gateway.refusals",
    "gateway.budgets",
    "gateway.outages",
}


def errors() -> list[type[RpcError]]:
    """All concrete error classes, sorted by reason; a reason may have several classes."""
    get_resolver().url_patterns  # noqa: B018  (loads every area's errors)
    kinds = (kind for kind in RpcError.kinds() if not kind.__module__.startswith("tests"))
    return sorted(kinds, key=lambda kind: (kind.reason, kind.__module__, kind.__qualname__))


def common_errors() -> list[type[RpcError]]:
    """Errors that any call may get."""
    return [kind for kind in errors() if kind.__module__ in _COMMON]


def http_status(kind: type[RpcError]) -> int:
    """The HTTP status of the error; 200 for errors of a single JSON-RPC call."""
    status: int = getattr(kind, "status", 200)
    return status
