"""The service's JSON-RPC paths and plain GETs, collected from its urls."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from access.served_paths import endpoints
from gateway.declarations import TypedGet
from gateway.endpoint_policy import EndpointPolicy
from jsonrpc.methods import Method, MethodTable

_PART = re.compile(r"<(?:\w+:)?(\w+)>")
# Methods that every path serves; only the first path's page describes them.
COMMON_METHODS = ("rpc.discover", "whoami")


@dataclass(frozen=True, slots=True)
class RpcPath:
    """A path that serves JSON-RPC, with its aliases."""

    path: str
    table: MethodTable
    policy: EndpointPolicy
    aliases: tuple[str, ...]

    @property
    def methods(self) -> list[Method]:
        return list(self.table)

    def scope(self, method: str) -> str:
        """The scope that a key needs for the method."""
        return self.policy.scopes.get(method, self.policy.scope)


@dataclass(frozen=True, slots=True)
class Get:
    """A path that serves GET, as OpenAPI writes it, and an instance of its view, a TypedGet."""

    path: str
    view: Any


@cache
def rpc_paths() -> Sequence[RpcPath]:
    """JSON-RPC paths, in the order of the urls."""
    found: dict[int, tuple[MethodTable, EndpointPolicy, list[str]]] = {}
    for path, view in endpoints():
        table = getattr(view, "methods", None)
        if isinstance(table, MethodTable):
            found.setdefault(id(table), (table, view.policy, []))[2].append(path)
    return tuple(
        RpcPath(paths[0], table, policy, tuple(paths[1:]))
        for table, policy, paths in found.values()
    )


@cache
def gets() -> Sequence[Get]:
    """Plain GETs, in the order of the urls."""
    return tuple(
        Get(_PART.sub(r"{\1}", path), view.cls(**view.initkwargs))
        for path, view in endpoints()
        if issubclass(getattr(view, "cls", object), TypedGet)
    )


def rpc_path(path: str) -> RpcPath:
    """The JSON-RPC path; KeyError if there is none."""
    for each in rpc_paths():
        if each.path == path:
            return each
    raise KeyError(path)
