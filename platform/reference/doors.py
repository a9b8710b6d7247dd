"""The doors of the service, found in its urls: JSON-RPC paths and plain GETs."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gateway.declarations import Declaration
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
    """A path that answers GET; `parts` are the variables of the path, each with its annotation."""

    path: str
    declaration: Declaration
    terms: Terms | None
    parts: tuple[tuple[str, Any], ...]


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
    found = []
    for path, view in endpoints():
        declaration = getattr(view, "declaration", None)
        if declaration is not None:
            names = _PART.findall(path)
            hints = inspect.get_annotations(declaration.function, eval_str=True) if names else {}
            parts = tuple((name, hints[name]) for name in names)
            terms = getattr(view, "terms", None)
            found.append(Get(_PART.sub(r"{\1}", path), declaration, terms, parts))
    return tuple(found)


def door(path: str) -> Door:
    """The door at the path; KeyError where there is none."""
    for each in doors():
        if each.path == path:
            return each
    raise KeyError(path)
