"""The catalogue's meaning and advice of an error, by its reason, for pages."""

from collections.abc import Iterator
from functools import cache
from inspect import getdoc

from access import error_advice
from jsonrpc.errors import RpcError

_IN_GENERAL = "See the reference for the reason; error.data has what was required and found."


def advice(reason: str) -> str:
    """As docs/errors.md has it."""
    return error_advice.of_reason(reason).replace("`", "") or _IN_GENERAL


def meaning(reason: str) -> str:
    """When it occurs, from the docstring of the error; empty for other reasons."""
    return _meanings().get(reason, "")


@cache
def _meanings() -> dict[str, str]:
    return {
        str(kind.reason): _first_paragraph(getdoc(kind) or "")
        for kind in _kinds(RpcError)
        if "reason" in vars(kind) and "abstract" not in vars(kind)
    }


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].replace("`", "").split())


def _kinds(kind: type[RpcError]) -> Iterator[type[RpcError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _kinds(child)
