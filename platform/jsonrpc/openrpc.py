"""OpenRPC documents of methods."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from jsonrpc.descriptions import Description, described
from jsonrpc.errors import RpcError
from jsonrpc.methods import Method
from jsonrpc.schemas import Schema, Schemas, with_text, without_null
from jsonrpc.wire import to_camel

VERSION = "1.3.2"


def method_object(method: Method, schemas: Schemas) -> dict[str, Any]:
    """A method as an OpenRPC object, without its path; its structs are added to the schemas."""
    docs = description_of(method)
    return {
        "name": method.name,
        "summary": docs.summary,
        "description": docs.text,
        "paramStructure": "by-position",
        "params": _params(method, docs, schemas),
        "result": {"name": "result", "schema": _result(method, docs, schemas)},
        "errors": error_objects(method.errors),
    }


def description_of(method: Method) -> Description:
    """The description in a method's docstring, with its params and, as `returns`, its result."""
    return described(method.function, [*method.params.names, "returns"])


def error_objects(errors: Iterable[type[RpcError]]) -> list[dict[str, Any]]:
    """One object per code, as OpenRPC requires, with the code's reasons in `data`."""
    by_code: dict[int, list[type[RpcError]]] = defaultdict(list)
    for error in errors:
        by_code[error.code].append(error)
    return [
        {
            "code": code,
            "message": "; ".join(meaning_of(error) for error in found),
            "data": {"reasons": [error.reason for error in found]},
        }
        for code, found in sorted(by_code.items())
    ]


def meaning_of(error: type[RpcError]) -> str:
    """The first paragraph of an error's docstring."""
    return described(error, ()).text.partition("\n\n")[0]


def document(
    title: str,
    description: str,
    version: str,
    servers: Sequence[dict[str, str]],
    methods: Sequence[dict[str, Any]],
    schemas: Schemas,
) -> dict[str, Any]:
    """The whole document."""
    return {
        "openrpc": VERSION,
        "info": {"title": title, "description": description, "version": version},
        "servers": list(servers),
        "methods": list(methods),
        "components": {"schemas": schemas.components},
    }


def _params(method: Method, docs: Description, schemas: Schemas) -> list[dict[str, Any]]:
    reader = method.params
    return [
        {
            "name": to_camel(name),
            "description": docs.parts.get(name, ""),
            "required": position < reader.required,
            "schema": schemas.of(kind if position < reader.required else without_null(kind)),
        }
        for position, (name, kind) in enumerate(zip(reader.names, reader.types, strict=True))
    ]


def _result(method: Method, docs: Description, schemas: Schemas) -> Schema:
    return with_text(schemas.of(method.result), docs.parts.get("returns", ""))
