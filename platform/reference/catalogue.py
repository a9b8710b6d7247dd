"""Every reason that an answer may give: the classes of errors, found in the code."""

from collections.abc import Iterator

from django.urls import get_resolver

from jsonrpc.errors import RpcError

# What any call may be refused for, whatever it asks for, is defined in these.
_COMMON = {
    "jsonrpc.errors",
    "access.errors",
    "gateway.refusals",
    "gateway.budgets",
    "gateway.outages",
}


def errors() -> list[type[RpcError]]:
    """Those that are answered, by their reasons in order; of one reason each of its classes."""
    get_resolver().url_patterns  # noqa: B018  (loads every area's errors)
    kinds = (kind for kind in _kinds() if "reason" in vars(kind) and "abstract" not in vars(kind))
    return sorted(kinds, key=lambda kind: (kind.reason, kind.__module__, kind.__qualname__))


def common_errors() -> list[type[RpcError]]:
    """Those that any call may get."""
    return [kind for kind in errors() if kind.__module__ in _COMMON]


def http_status(kind: type[RpcError]) -> int:
    """The HTTP status that goes with it; 200 where it is an error of a JSON-RPC call alone."""
    status: int = getattr(kind, "status", 200)
    return status


def _kinds(kind: type[RpcError] = RpcError) -> Iterator[type[RpcError]]:
    for child in kind.__subclasses__():
        if not child.__module__.startswith("tests"):
            yield child
            yield from _kinds(child)
