"""What a plain GET takes and answers, said beside its path: the reference is made of it."""

import typing
from collections.abc import Callable, Sequence
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


@dataclass(frozen=True, slots=True)
class Declaration:
    """One GET: its function's docstring tells what it is for, and of each part of its path."""

    name: str
    function: Callable[..., Any]
    result: Any
    query: tuple[Parameter, ...] = ()
    errors: tuple[type[RpcError], ...] = ()
    content_type: str = "application/json"


def declare(
    view: Any,
    name: str,
    *,
    function: Callable[..., Any] | None = None,
    result: Any = None,
    query: Sequence[Parameter] = (),
    errors: Sequence[type[RpcError]] = (),
    content_type: str = "application/json",
) -> None:
    """Puts the declaration on a view, where the reference finds it. Without a `result` it is what
    the function's annotation says.
    """
    told = view if function is None else function
    if result is None:
        result = typing.get_type_hints(told, include_extras=True).get("return", Any)
    view.declaration = Declaration(name, told, result, tuple(query), tuple(errors), content_type)
