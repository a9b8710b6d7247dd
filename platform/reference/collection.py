"""A Postman collection of every method, plain GET and call of the management API."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from jsonrpc.schemas import Schema, Schemas
from reference import openapi
from reference.examples import GET_EXAMPLES, NODE_EXAMPLES, request_of
from reference.paths import RpcPath, gets, rpc_paths
from reference.rpc_documents import method_objects, passed_on

# Of the collection's format, which Postman, newman, Bruno, Insomnia and Hoppscotch import.
SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_TEXT = """\
Every JSON-RPC method, plain GET and call of the management API of this service. Set `apiKey` to an
API key, and `managementToken` to a root key or to a token of the portal. Requests with a signed
transaction, a fate or a bundle have a variable for it, such as `signed`."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_MANAGEMENT = "/manage/"
_JSON = "application/json"
_PLAIN: dict[str, Any] = {"string": "", "integer": 1, "number": 1, "boolean": True}


def collection(base: str, values: dict[str, Any]) -> dict[str, Any]:
    """In format 2.1, with this base URL, and with values of the chain in the examples."""
    folders = [
        *(_folder(at.path, _methods(at, values)) for at in rpc_paths()),
        _folder("Node", _node_methods(values), "Passed on to the followed node."),
        _folder("GET", _gets(values)),
        _folder("Management", _managed(), auth=_bearer("managementToken")),
    ]
    names = sorted(set(re.findall(r"\{\{(\w+)\}\}", json.dumps(folders))))
    known = {"baseUrl": base}
    return {
        "info": {"name": "Tidemark", "description": _TEXT, "schema": SCHEMA},
        "auth": _header_key("apiKey"),
        "item": folders,
        "variable": [{"key": name, "value": known.get(name, "")} for name in [*names, "apiKey"]],
    }


def _folder(
    name: str, items: Iterator[dict[str, Any]], text: str = "", auth: Any = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "item": list(items), "description": text}
    return found if auth is None else {**found, "auth": auth}


def _methods(at: RpcPath, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in method_objects(at, Schemas()):
        name = each["name"]
        yield _call(at.path, name, request_of(at.path, name, values), _text_of(each))


def _node_methods(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in passed_on(rpc_paths()):
        params = request_of("/", name, values) if name in NODE_EXAMPLES else []
        yield _call("/", name, params, "")


def _call(path: str, name: str, params: list[Any], text: str) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": name, "params": _with_variables(params)}
    return _request(name, "POST", path, text, body=body)


def _gets(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    described = openapi.described_gets()["paths"]
    for each in gets():
        path, _, query = _as_variables(GET_EXAMPLES[each.path], values).partition("?")
        operation = described[each.path]["get"]
        pairs = [pair.split("=", 1) for pair in query.split("&") if pair]
        made = _request(each.path, "GET", path, _text_of(operation), query=pairs)
        if operation.get("security") == [{"metrics": []}]:
            made["request"]["auth"] = _bearer("metricsToken")
        yield made


def _managed() -> Iterator[dict[str, Any]]:
    document = openapi.described_gets()
    for path, operations in document["paths"].items():
        if not path.startswith(_MANAGEMENT):
            continue
        for verb, operation in operations.items():
            name = f"{verb.upper()} {path.removeprefix(_MANAGEMENT + 'v1')}"
            content = operation.get("requestBody", {}).get("content", {})
            text, body = _text_of(operation), None
            if _JSON in content:
                schema = _resolved(content[_JSON]["schema"], document)
                body = _example(schema, document)
                text += f"\n\nMembers of the body:\n\n{_members(schema)}"
            yield _request(
                name,
                verb.upper(),
                _PLACEHOLDER.sub(r":\1", path),
                text,
                body=body,
                parameters=operation.get("parameters", ()),
            )


def _request(
    name: str,
    verb: str,
    path: str,
    text: str,
    *,
    body: Any = None,
    query: Sequence[Sequence[str]] = (),
    parameters: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """`parameters` are those of OpenAPI: optional ones are there, and switched off."""
    asked = [{"key": key, "value": value} for key, value in query]
    asked += [_parameter(each) for each in parameters if each["in"] == "query"]
    headers = [_parameter(each) for each in parameters if each["in"] == "header"]
    places = [
        {"key": each["name"], "value": "1", "description": each.get("description", "")}
        for each in parameters
        if each["in"] == "path"
    ]
    on = "&".join(f"{each['key']}={each['value']}" for each in asked if not each.get("disabled"))
    request: dict[str, Any] = {
        "method": verb,
        "header": headers,
        "url": {
            "raw": "{{baseUrl}}" + path + (f"?{on}" if on else ""),
            "host": ["{{baseUrl}}"],
            "path": path.split("/")[1:],
            "query": asked,
            "variable": places,
        },
        "description": text,
    }
    if body is not None:
        request["body"] = {
            "mode": "raw",
            "raw": json.dumps(body, indent=2, ensure_ascii=False),
            "options": {"raw": {"language": "json"}},
        }
        headers.insert(0, {"key": "Content-Type", "value": _JSON})
    return {"name": name, "request": request, "response": []}


def _parameter(each: dict[str, Any]) -> dict[str, Any]:
    return {
        "key": each["name"],
        "value": "",
        "description": each.get("description", ""),
        "disabled": not each.get("required", False),
    }


def _text_of(described: dict[str, Any]) -> str:
    """The description, which begins with the summary, or the summary alone."""
    return str(described.get("description") or described.get("summary", ""))


def _with_variables(value: Any) -> Any:
    """Placeholders without a value as variables: {signed} is {{signed}}."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(r"{{\1}}", value) if _PLACEHOLDER.fullmatch(value) else value
    if isinstance(value, list):
        return [_with_variables(each) for each in value]
    if isinstance(value, dict):
        return {name: _with_variables(each) for name, each in value.items()}
    return value


def _as_variables(path: str, values: dict[str, Any]) -> str:
    def value(found: re.Match[str]) -> str:
        return str(values.get(found[1], "{{" + found[1] + "}}"))

    return _PLACEHOLDER.sub(value, path)


def _resolved(schema: Schema, document: dict[str, Any]) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _members(schema: Schema) -> str:
    """A line of Markdown for each."""
    required = schema.get("required", ())
    lines = []
    for name, each in schema.get("properties", {}).items():
        kinds = each.get("type", "object")
        kind = " or ".join(kinds) if isinstance(kinds, list) else kinds
        about = [kind, each.get("description"), "required" if name in required else ""]
        lines.append(f"- `{name}`: {'; '.join(filter(None, about))}")
    return "\n".join(lines)


def _example(schema: Schema, document: dict[str, Any]) -> Any:
    """The least value of the schema: its required members alone."""
    schema = _resolved(schema, document)
    for word in ("default", "const"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    for word in ("allOf", "anyOf", "oneOf"):
        if schema.get(word):
            return _example(schema[word][0], document)
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return []
    if kind != "object":
        return schema.get("minimum", _PLAIN.get(kind))
    members = schema.get("properties", {})
    return {name: _example(members[name], document) for name in schema.get("required", ())}


def _header_key(variable: str) -> dict[str, Any]:
    return _auth("apikey", key="Authorization", value="{{" + variable + "}}", **{"in": "header"})


def _bearer(variable: str) -> dict[str, Any]:
    return _auth("bearer", token="{{" + variable + "}}")


def _auth(kind: str, **values: str) -> dict[str, Any]:
    pairs = [{"key": key, "value": value, "type": "string"} for key, value in values.items()]
    return {"type": kind, kind: pairs}
