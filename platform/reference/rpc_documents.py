"""OpenRPC documents: of one door, and of all of them."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from jsonrpc import openrpc
from jsonrpc.methods import Method
from jsonrpc.schemas import Schemas
from priority.errors import NodeError
from priority.methods.table import NODE_ERRORS
from reference.catalogue import common_errors
from reference.doors import EVERYWHERE, Door, door, doors
from reference.examples import pairing

VERSION = "1"
_TEXT = """\
Solana's JSON-RPC, and what this service adds to it. A call is a POST of
`{"jsonrpc": "2.0", "id": 1, "method": …, "params": […]}` to the path that `x-path` names, with the
API key in the header `Authorization`. Errors carry a stable word in `error.data.reason`; those that
any call may get are listed in `x-common-errors`."""
_PASSED_ON = (
    "These methods of the standard Solana RPC are passed on to the node that is followed, with"
    " their params as they come; its results and errors come back as they are. The Solana"
    " documentation describes them under these names."
)


def document_of(at: Door, base: str) -> dict[str, Any]:
    """What rpc.discover answers at a door: all of its methods."""
    schemas = Schemas()
    methods = [_told(method, at, schemas) for method in at.methods]
    return _document(base, methods, schemas) | _passed_on([at])


def whole_document(base: str) -> dict[str, Any]:
    """Every method of every door, each name once: where another door answers it otherwise, that
    stands in `x-also`.
    """
    schemas = Schemas()
    methods: dict[str, dict[str, Any]] = {}
    for each in doors():
        for method in each.methods:
            told = _told(method, each, schemas)
            first = methods.setdefault(method.name, told)
            if first is told:
                continue
            if _same(first, told):
                first["x-paths"] += told["x-paths"]
            else:
                first.setdefault("x-also", []).append(told)
    return _document(base, list(methods.values()), schemas) | _passed_on(doors())


def method_objects(at: Door, schemas: Schemas) -> list[dict[str, Any]]:
    """The door's own methods; what is served everywhere is told of at the first door alone."""
    is_first = at.path == door("/").path
    return [
        _told(method, at, schemas)
        for method in at.methods
        if is_first or method.name not in EVERYWHERE
    ]


def passed_on(doors_: Sequence[Door]) -> list[str]:
    """The standard node's methods that these doors pass on."""
    return [
        name
        for name in sorted(settings.PROXY_METHODS)
        if any(each.table.falls_back(name) for each in doors_)
    ]


def _told(method: Method, at: Door, schemas: Schemas) -> dict[str, Any]:
    told = openrpc.method_object(method, schemas)
    told["examples"] = pairing(at.path, method)
    told["x-path"] = at.path
    told["x-paths"] = [at.path, *at.aliases]
    told["x-scope"] = at.scope(method.name)
    told["x-key"] = "required" if at.terms.key_required else "optional"
    told["x-limit"] = at.terms.quotas.get(method.name, at.terms.quota)
    told["x-hosts"] = sorted(at.terms.hosts)
    return told


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    told = ("params", "result", "description", "errors")
    return all(one[name] == other[name] for name in told)


def _document(base: str, methods: list[dict[str, Any]], schemas: Schemas) -> dict[str, Any]:
    servers = [{"name": "this service", "url": base}]
    made = openrpc.document("Tidemark", _TEXT, VERSION, servers, methods, schemas)
    return made | {"x-common-errors": openrpc.error_objects(common_errors())}


def _passed_on(doors_: Sequence[Door]) -> dict[str, Any]:
    names = passed_on(doors_)
    if not names:
        return {}
    problems = openrpc.error_objects((NodeError, *NODE_ERRORS))
    return {"x-passed-on": {"note": _PASSED_ON, "path": "/", "methods": names, "errors": problems}}
