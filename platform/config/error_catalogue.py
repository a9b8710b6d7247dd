"""Every reason that an answer may give, as a page made from the code."""

import inspect
from collections.abc import Iterator

from django.urls import get_resolver

from jsonrpc.errors import RpcError

_HEAD = """\
# Errors

Made from the code by `manage.py error_catalogue`. Every error is a JSON-RPC error object
`{code, message, data}`; `data.reason` is the stable word to act on, and the other members of `data`
say what was required and what was found. Numbers mean different things in different areas, as they
do on the standard node: prefer the reason.

| reason | code | HTTP | where | when |
|---|---|---|---|---|
"""


def page() -> str:
    """The page in Markdown."""
    get_resolver().url_patterns  # noqa: B018  (loads every area's errors)
    kinds = (kind for kind in _kinds() if "reason" in vars(kind) and "abstract" not in vars(kind))
    rows = {_row(kind) for kind in kinds}
    return _HEAD + "\n".join(sorted(rows)) + "\n"


def _kinds(kind: type[RpcError] = RpcError) -> Iterator[type[RpcError]]:
    for child in kind.__subclasses__():
        if not child.__module__.startswith("tests"):
            yield child
            yield from _kinds(child)


def _row(kind: type[RpcError]) -> str:
    status = getattr(kind, "status", 200)
    area = kind.__module__.partition(".")[0]
    text = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    code = kind.code or "the node's"
    return f"| `{kind.reason}` | {code} | {status} | {area} | {text} |"
