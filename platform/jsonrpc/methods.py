"""MethodTable: the methods of one path, each with its reader compiled at import."""

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
    """One RPC method: its wire name, its function (call first, then the params) and its reader.
    `result` is the annotation that the reference shows, `errors` what it can give beside what any
    call can. One that `is_dear` reads or computes much: few run at once, and a batch pays more for
    it. One that `asks_node` waits for the node that is followed, which may hang. One that
    `takes_large` may come in a body above the maximum, alone. One that `is_quick` runs on the
    event loop: it makes a small answer and waits for single statements (that read) and scripts.
    """

    name: str
    function: Callable[..., Any]
    params: ParamsReader
    result: Any
    errors: tuple[type[RpcError], ...] = ()
    is_dear: bool = False
    asks_node: bool = False
    takes_large: bool = False
    is_quick: bool = False


class Elsewhere(Protocol):
    """Someone else who answers the methods that a table does not have."""

    def serves(self, name: str) -> bool: ...

    def answer(self, call: Any, calls: Sequence[tuple[str, bytes]]) -> list[Encoded | RpcError]:
        """The answers to calls of (method, params as they came), in order."""

    async def ask(self, call: Any, method: str, params: bytes) -> "Encoded | Pieces":
        """The result of one call, on an event loop; raises RpcError."""


class Pieces(Protocol):
    """A long result as JSON that comes piece by piece."""

    async def next(self) -> bytes:
        """The next bytes, b"" behind the last. Raises RpcError: the result is not whole then."""

    def close(self) -> None:
        """Nothing more of it is wanted. May be called twice."""


class MethodTable:
    """`@methods.add("getSlot")` puts a function under its wire name; what is under none goes
    `elsewhere`, if that serves it.
    """

    def __init__(self, elsewhere: Elsewhere | None = None) -> None:
        self._methods: dict[str, Method] = {}
        self.elsewhere = elsewhere
        # The paths where a method of a name is answered, for who asks for it at the wrong one.
        self.served_at: Callable[[str], list[str]] = lambda name: []

    def add(
        self,
        name: str,
        *,
        result: Any = None,
        errors: Sequence[type[RpcError]] = (),
        dear: bool = False,
        asks_node: bool = False,
        takes_large: bool = False,
        quick: bool = False,
    ) -> Callable[[F], F]:
        """`result` where the function's own annotation says less than its answer has."""

        def register(function: F) -> F:
            assert name not in self._methods, f"{name} is there already"
            told = typing.get_type_hints(function, include_extras=True).get("return", Any)
            shown = told if result is None else result
            reader = ParamsReader(function)
            kinds = (dear, asks_node, takes_large, quick)
            self._methods[name] = Method(name, function, reader, shown, tuple(errors), *kinds)
            return function

        return register

    def include(self, other: "MethodTable") -> None:
        """Takes in the methods of another table, but for names that are here already."""
        self._methods = {**other._methods, **self._methods}

    def get(self, name: str) -> Method | None:
        return self._methods.get(name)

    def goes_elsewhere(self, name: str) -> bool:
        return (
            self.elsewhere is not None and name not in self._methods and self.elsewhere.serves(name)
        )

    def knows(self, name: str) -> bool:
        """Whether a call of the name is answered at all, here or elsewhere."""
        return name in self._methods or self.goes_elsewhere(name)

    def __iter__(self) -> Iterator[Method]:
        return iter(self._methods.values())
