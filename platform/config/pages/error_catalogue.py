"""Every reason that an answer may give, as a page made from the code."""

from access.error_advice import advice
from jsonrpc.errors import RpcError
from jsonrpc.openrpc import meaning_of
from reference.catalogue import errors, http_status

_HEAD = """\
# Errors

`manage.py error_catalogue` generates this page from the code. Every error is a JSON-RPC error
object `{code, message, data}`. Act on `data.reason`, which is stable; the other fields of `data`
have the required and the found value. Codes mean different things in different areas, as on the
standard node, so prefer the reason. Plain GETs and the [management API](management.md)
respond with `{error, message, …}` and the HTTP status instead: `error` is the reason, and the
members of `data` are beside it.

| reason | code | HTTP | where | when | what to do |
|---|---|---|---|---|---|
"""


def page() -> str:
    """The page in Markdown."""
    return _HEAD + "\n".join(sorted({_row(kind) for kind in errors()})) + "\n"


def _row(kind: type[RpcError]) -> str:
    area = kind.__module__.partition(".")[0]
    code = kind.code or "the node's"
    cells = (f"`{kind.reason}`", code, http_status(kind), area, meaning_of(kind), advice(kind))
    return f"| {' | '.join(map(str, cells))} |"
