"""The parameters and results of plain GETs as attributes of their views, for the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonrpc.errors import RpcError


@dataclass(frozen=True, slots=True)
class Parameter:
    """An optional parameter of the query string, with its `default`."""

    name: str
    kind: Any
    meaning: str
    default: str = ""


class TypedGet:
    """A view whose `get(request, …)` returns a Response of `result`.

    The docstring of `get` is the description, its annotations are the types of the path's parts.
    `errors` are the view's own, besides those of every request; `also` are further statuses with
    the same result, and their meaning.
    """

    name: str = ""
    query: Sequence[Parameter] = ()
    result: Any = None
    errors: Sequence[type[RpcError]] = ()
    content_type: str = "application/json"
    also: Mapping[int, str] = {}
