"""The catalogue's meaning and advice of an error, by its reason, for pages."""

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
    return {str(kind.reason): _first_paragraph(getdoc(kind) or "") for kind in RpcError.kinds()}


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].replace("`", "").split())
