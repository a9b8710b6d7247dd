"""MethodTable: the methods of one path, each with its params reader compiled at import."""

import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from jsonrpc.errors import RpcError
from jsonrpc.params import ParamsReader
from jsonrpc.wire import Encoded

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC method: its wire name, its function (call first, then the params) and its params
    reader. `result` is the annotation that the reference shows, `errors` are its errors in addition
    to the common ones. `is_expensive`: it reads or computes a lot; few run at once, and it costs
    more in a batch. `asks_node`: it waits for the followed node, which may hang. `takes_large`: a
    single call may exceed the maximum body size. `is_async`: the function is an `async def`, which
    runs on the web server's loop: its own work takes less than 100 µs, and what else it does it
    awaits. Plain functions run in a thread. `known` takes a plain function's arguments and returns
    its result if this process has it in memory, else None: then no thread is needed.
    """

    name: str
    function: Callable[..., Any]
    params: ParamsReader
    result: Any
    errors: tuple[type[RpcError], ...] = ()
    is_expensive: bool = False
    asks_node: bool = False
    takes_large: bool = False
    is_async: bool = False
    known: Callable[..., Encoded | None] | None = None


class Fallback(Protocol):
    """Answers methods that are not in a table, such as an upstream node."""

    def names(self) -> frozenset[str]:
        """The methods that it serves."""

    def answer(self, call: Any, calls: Sequence[tuple[str, bytes]]) -> list[Encoded | RpcError]:
        """The results of calls of (method, params as received), in order."""

    async def ask(self, call: Any, method: str, params: bytes) -> "Encoded | Pieces":
        """The result of one call, on an event loop; raises RpcError."""


class Pieces(Protocol):
    """A long JSON result that arrives in pieces."""

    async def next(self) -> bytes:
        """The next bytes, b"" at the end. Raises RpcError if the result is incomplete."""

    def close(self) -> None:
        """Stops the transfer. May be called twice."""


class MethodTable:
    """`@methods.add("getSlot")` registers a function under its wire name. Other names go to the
    `fallback`, if it serves them. `as_node`: params are read, and refused, as by the standard node.
    A plain function may return a coroutine: what is left to wait for, on the loop and in no thread.
    """

    def __init__(self, fallback: Fallback | None = None, *, as_node: bool = False) -> None:
        self._as_node = as_node
        self._methods: dict[str, Method] = {}
        self.fallback = fallback
        # The paths that serve a method, for the error of a call at the wrong path.
        self.served_at: Callable[[str], list[str]] = lambda name: []

    def add(
        self,
        name: str,
        *,
        result: Any = None,
        errors: Sequence[type[RpcError]] = (),
        expensive: bool = False,
        asks_node: bool = False,
        takes_large: bool = False,
        known: Callable[..., Encoded | None] | None = None,
    ) -> Callable[[F], F]:
        """`result` overrides the function's return annotation if that is less specific."""

        def register(function: F) -> F:
            assert name not in self._methods, f"{name} is there already"
            returned = typing.get_type_hints(function, include_extras=True).get("return", Any)
            shown = returned if result is None else result
            reader = ParamsReader(function, as_node=self._as_node)
            kinds = (expensive, asks_node, takes_large, inspect.iscoroutinefunction(function))
            self._methods[name] = Method(
                name, function, reader, shown, tuple(errors), *kinds, known
            )
            return function

        return register

    def include(self, other: "MethodTable") -> None:
        """Adds the methods of another table, except names that are already registered."""
        self._methods = {**other._methods, **self._methods}

    def get(self, name: str) -> Method | None:
        return self._methods.get(name)

    def falls_back(self, name: str) -> bool:
        """Whether the fallback serves the method."""
        return (
            self.fallback is not None
            and name not in self._methods
            and name in self.fallback.names()
        )

    def knows(self, name: str) -> bool:
        """Whether the method is served, by this table or the fallback."""
        return name in self._methods or self.falls_back(name)

    def names(self) -> set[str]:
        """Every method that is served, by this table or the fallback."""
        return {*self._methods, *(() if self.fallback is None else self.fallback.names())}

    def __iter__(self) -> Iterator[Method]:
        return iter(self._methods.values())
