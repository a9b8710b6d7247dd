"""OpenAPI 3.1: the plain GETs."""

from collections import defaultdict
from typing import Any

from gateway.refusals import KeyRequired, NotAllowed, PathNotServed
from jsonrpc.descriptions import Description, described
from jsonrpc.errors import InternalError, RpcError
from jsonrpc.openrpc import meaning_of
from jsonrpc.schemas import Schema, Schemas, with_text
from reference.catalogue import common_errors, http_status
from reference.doors import Get, gets

VERSION = "1"
_TEXT = "What answers plain GET, beside JSON-RPC (`/openrpc.json`). Answers are JSON."
_ERROR: Schema = {
    "type": "object",
    "title": "Error",
    "description": "Why there is no answer. Further members say what was required and found.",
    "properties": {
        "error": {"type": "string", "description": "the reason, a stable word to act on"},
        "message": {"type": "string", "description": "the same in a sentence"},
    },
    "required": ["error"],
}
_SCHEMES = {
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "the API key as it is, or `Bearer` and the key",
    },
    "query": {
        "type": "apiKey",
        "in": "query",
        "name": "api_key",
        "description": "the API key, where a client can send no headers",
    },
}
# Of a call's body and method, which a GET has none of.
_OF_CALLS = {
    "parse_error",
    "invalid_request",
    "method_not_found",
    "invalid_params",
    "body_too_large",
    "body_unreadable",
    "content_type_unsupported",
    "batch_above_limit",
}


def get_document(base: str) -> dict[str, Any]:
    """The whole document."""
    schemas = Schemas()
    paths: dict[str, Any] = {}
    for each in gets():
        paths.setdefault(each.path, {})["get"] = operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tidemark", "description": _TEXT, "version": VERSION},
        "servers": [{"url": base, "description": "this service"}],
        "paths": paths,
        "components": {
            "schemas": {**schemas.components, "Error": _ERROR},
            "securitySchemes": _SCHEMES,
        },
    }


def operation(get: Get, schemas: Schemas) -> dict[str, Any]:
    """One GET as OpenAPI has it."""
    told = described(get.declaration.function, [name for name, _ in get.parts])
    made: dict[str, Any] = {
        "operationId": get.declaration.name,
        "summary": told.summary,
        "description": told.text,
        "parameters": [*_parts(get, told, schemas), *_query(get, schemas)],
        "responses": _responses(get, schemas),
    }
    if get.terms is not None:
        security: list[dict[str, list[str]]] = [{"key": []}, {"query": []}]
        made["security"] = security if get.terms.key_required else [*security, {}]
        made["x-scope"] = get.terms.scope
        made["x-hosts"] = sorted(get.terms.hosts)
    return made


def errors_of(get: Get) -> list[type[RpcError]]:
    """All that the GET may answer in place of a result."""
    if get.terms is None:
        return [NotAllowed]
    if get.declaration.name == "ping":
        return [NotAllowed, PathNotServed]
    common = [
        kind
        for kind in common_errors()
        if kind.reason not in _OF_CALLS
        and (kind is not KeyRequired or get.terms.key_required)
        and (http_status(kind) != 200 or kind is InternalError)
    ]
    return [*get.declaration.errors, *(each for each in common if each not in own(get))]


def own(get: Get) -> tuple[type[RpcError], ...]:
    """What is refused by the operation itself, not on the way to it."""
    return get.declaration.errors


def status_of_get(kind: type[RpcError]) -> int:
    """The HTTP status of a GET that is refused so."""
    return 500 if kind is InternalError else http_status(kind)


def _parts(get: Get, told: Description, schemas: Schemas) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": told.parts.get(name, ""),
            "schema": schemas.of(kind),
        }
        for name, kind in get.parts
    ]


def _query(get: Get, schemas: Schemas) -> list[dict[str, Any]]:
    made = []
    for each in get.declaration.query:
        text = f"{each.meaning} (default: {each.default})" if each.default else each.meaning
        schema = schemas.of(each.kind)
        told = {"name": each.name, "in": "query", "description": text, "schema": schema}
        made.append({**told, "required": False})
    return made


def _responses(get: Get, schemas: Schemas) -> dict[str, Any]:
    schema = schemas.of(get.declaration.result)
    content = {get.declaration.content_type: {"schema": schema}}
    text = schemas.resolve(schema).get("description", "the answer")
    responses: dict[str, Any] = {"200": {"description": text, "content": content}}
    by_status: dict[int, list[type[RpcError]]] = defaultdict(list)
    for kind in errors_of(get):
        by_status[status_of_get(kind)].append(kind)
    for status, kinds in sorted(by_status.items()):
        meanings = "; ".join(f"`{kind.reason}`: {meaning_of(kind)}" for kind in kinds)
        reference = {"$ref": "#/components/schemas/Error"}
        responses[str(status)] = {
            "description": meanings,
            "content": {"application/json": {"schema": with_text(reference, "")}},
        }
    if get.declaration.name == "readyz":
        responses["503"] = {**responses["200"], "description": "a check does not pass"}
    return responses
