"""MethodTable: the methods of one path, each with its reader compiled at import."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from jsonrpc.params import ParamsReader

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC method: its wire name, its function (call first, then the params) and its reader."""

    name: str
    function: Callable[..., Any]
    params: ParamsReader


class MethodTable:
    """`@methods.add("getSlot")` puts a function under its wire name."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}

    def add(self, name: str) -> Callable[[F], F]:
        def register(function: F) -> F:
            assert name not in self._methods, f"{name} is there already"
            self._methods[name] = Method(name, function, ParamsReader(function))
            return function

        return register

    def get(self, name: str) -> Method | None:
        return self._methods.get(name)

    def __iter__(self) -> Iterator[Method]:
        return iter(self._methods.values())
