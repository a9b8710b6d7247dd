"""What a plain GET takes and returns, as attributes of its view: the reference is made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonrpc.errors import RpcError


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query string; none is required. `default` is what counts without it."""

    name: str
    kind: Any
    meaning: str
    default: str = ""


class TypedGet:
    """A view whose `get(request, …)` returns a Response of `result`.

    The docstring of `get` says what it is for, its annotations what each part of the path is.
    `errors` are the view's own, beside those of every request; `also` are further statuses with the
    same result, and what they mean.
    """

    name: str = ""
    query: Sequence[Parameter] = ()
    result: Any = None
    errors: Sequence[type[RpcError]] = ()
    content_type: str = "application/json"
    also: Mapping[int, str] = {}
