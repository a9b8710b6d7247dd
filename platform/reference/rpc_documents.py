"""OpenRPC documents of one path, and of all paths."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from jsonrpc import openrpc
from jsonrpc.methods import Method
from jsonrpc.schemas import Schemas
from priority.method_table import NODE_ERRORS
from priority.proxy.errors import NodeError
from reference.catalogue import common_errors
from reference.examples import pairing
from reference.paths import COMMON_METHODS, RpcPath, rpc_path, rpc_paths

VERSION = "1"
_TEXT = """\
Solana's JSON-RPC, and what this service adds to it. A call is a POST of
`{"jsonrpc": "2.0", "id": 1, "method": …, "params": […]}` to the path that `x-path` names, with the
API key in the header `Authorization`. Errors have a stable identifier in `error.data.reason`; those
that any call may get are listed in `x-common-errors`."""
_PASSED_ON = (
    "These methods of the standard Solana RPC are passed on to the followed node with their params"
    " unchanged, and its results and errors are returned unchanged. The Solana documentation"
    " describes them under these names."
)


def document_of(at: RpcPath, base: str) -> dict[str, Any]:
    """The result of rpc.discover at a path: all of its methods."""
    schemas = Schemas()
    methods = [_method(method, at, schemas) for method in at.methods]
    return _document(base, methods, schemas) | _passed_on([at])


def whole_document(base: str) -> dict[str, Any]:
    """Every method of every path, each name once: variants at other paths are in `x-also`."""
    schemas = Schemas()
    methods: dict[str, dict[str, Any]] = {}
    for each in rpc_paths():
        for method in each.methods:
            described = _method(method, each, schemas)
            first = methods.setdefault(method.name, described)
            if first is described:
                continue
            if _same(first, described):
                first["x-paths"] += described["x-paths"]
            else:
                first.setdefault("x-also", []).append(described)
    return _document(base, list(methods.values()), schemas) | _passed_on(rpc_paths())


def method_objects(at: RpcPath, schemas: Schemas) -> list[dict[str, Any]]:
    """The path's own methods; common methods are included for the first path only."""
    is_first = at.path == rpc_path("/").path
    return [
        _method(method, at, schemas)
        for method in at.methods
        if is_first or method.name not in COMMON_METHODS
    ]


def passed_on(paths: Sequence[RpcPath]) -> list[str]:
    """The standard node's methods that these paths pass on."""
    return [
        name
        for name in sorted(settings.PROXY_METHODS)
        if any(each.table.falls_back(name) for each in paths)
    ]


def _method(method: Method, at: RpcPath, schemas: Schemas) -> dict[str, Any]:
    described = openrpc.method_object(method, schemas)
    described["examples"] = pairing(at.path, method)
    described["x-path"] = at.path
    described["x-paths"] = [at.path, *at.aliases]
    described["x-scope"] = at.scope(method.name)
    described["x-key"] = "required" if at.policy.key_required else "optional"
    described["x-limit"] = at.policy.quotas.get(method.name, at.policy.quota)
    described["x-hosts"] = sorted(at.policy.hosts)
    return described


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    described = ("params", "result", "description", "errors")
    return all(one[name] == other[name] for name in described)


def _document(base: str, methods: list[dict[str, Any]], schemas: Schemas) -> dict[str, Any]:
    servers = [{"name": "this service", "url": base}]
    made = openrpc.document("Tidemark", _TEXT, VERSION, servers, methods, schemas)
    return made | {"x-common-errors": openrpc.error_objects(common_errors())}


def _passed_on(paths: Sequence[RpcPath]) -> dict[str, Any]:
    names = passed_on(paths)
    if not names:
        return {}
    problems = openrpc.error_objects((NodeError, *NODE_ERRORS))
    return {"x-passed-on": {"note": _PASSED_ON, "path": "/", "methods": names, "errors": problems}}
