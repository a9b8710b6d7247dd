"""What a call of the management API takes and returns, declared beside its handler."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rest_framework.decorators import action
from rest_framework.serializers import Serializer

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Shape:
    """`body` is what a request sends, `answer` what it gets (None: the resource itself), with the
    `status`. A `partial` body may have any of the fields. `many`: the answer is a page of them, by
    default of the action `list`. `query` reads the parameters. A `content_type` is that of an
    answer that is not JSON.
    """

    body: type[Serializer[Any]] | None = None
    answer: type[Serializer[Any]] | None = None
    status: int = 200
    partial: bool = False
    many: bool | None = None
    query: type[Serializer[Any]] | None = None
    content_type: str = ""


_DEFAULT = Shape()


def shape(**values: Any) -> Callable[[F], F]:
    """Declares the Shape of a handler."""

    def declare(handler: F) -> F:
        handler.shape = Shape(**values)  # type: ignore[attr-defined]
        return handler

    return declare


def order(path: str = "", **values: Any) -> Callable[[F], F]:
    """Declares a handler of a POST to one row, at `path` (the handler's name), and its Shape."""

    def declare(handler: F) -> F:
        # It marks the handler itself.
        action(detail=True, methods=["post"], url_path=path or handler.__name__)(handler)
        return shape(**values)(handler)

    return declare


def shape_of(view: Any) -> Shape:
    """The shape of the view's current action."""
    found: Shape = getattr(getattr(view, view.action, None), "shape", _DEFAULT)
    return found
