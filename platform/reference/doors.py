"""The doors of the service, found in its urls: JSON-RPC paths and plain GETs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gateway.declarations import TypedGet
from gateway.paths import endpoints
from gateway.terms import Terms
from jsonrpc.methods import Method, MethodTable

_PART = re.compile(r"<(?:\w+:)?(\w+)>")
# Names that begin so are served at every door, and told of at the first.
EVERYWHERE = ("rpc.discover", "whoami")


@dataclass(frozen=True, slots=True)
class Door:
    """A path that takes JSON-RPC, and further paths that answer just the same."""

    path: str
    table: MethodTable
    terms: Terms
    aliases: tuple[str, ...]

    @property
    def methods(self) -> list[Method]:
        return list(self.table)

    def scope(self, method: str) -> str:
        """The key's right that the method asks for."""
        return self.terms.scopes.get(method, self.terms.scope)


@dataclass(frozen=True, slots=True)
class Get:
    """A path that answers GET, as OpenAPI writes it, and an instance of its view, a TypedGet."""

    path: str
    view: Any


@cache
def doors() -> Sequence[Door]:
    """JSON-RPC paths, in the order of the urls."""
    found: dict[int, tuple[MethodTable, Terms, list[str]]] = {}
    for path, view in endpoints():
        table = getattr(view, "methods", None)
        if isinstance(table, MethodTable):
            found.setdefault(id(table), (table, view.terms, []))[2].append(path)
    return tuple(
        Door(paths[0], table, terms, tuple(paths[1:])) for table, terms, paths in found.values()
    )


@cache
def gets() -> Sequence[Get]:
    """Plain GETs, in the order of the urls."""
    return tuple(
        Get(_PART.sub(r"{\1}", path), view.cls(**view.initkwargs))
        for path, view in endpoints()
        if issubclass(getattr(view, "cls", object), TypedGet)
    )


def door(path: str) -> Door:
    """The door at the path; KeyError where there is none."""
    for each in doors():
        if each.path == path:
            return each
    raise KeyError(path)
