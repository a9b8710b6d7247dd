"""A method's example with Tidemark's own clients."""

import json
import re
from functools import cache
from typing import Any

from jsonrpc.schemas import Schema
from reference.languages import PYTHON_WORDS, TYPESCRIPT_WORDS, Group, Node, literal, written
from reference.rpc_documents import whole_document

# Where the clients have a path's methods.
_AREAS = {
    "/": "node",
    "/priority": "priority",
    "/bundle": "bundle",
    "/historical": "historical",
    "/rewind": "rewind",
}
# The Python client always sends it.
_IMPLIED = "skipPreflight"


def have(path: str, name: str) -> bool:
    """Whether the clients have the method of this path."""
    return (path, name) in _methods()


def texts(path: str, name: str, params: list[Any], base: str) -> dict[str, str]:
    """By language, `python` and `ts`."""
    method = _methods()[path, name]
    return {"python": _python(method, params, base), "ts": _typescript(method, params, base)}


@cache
def _document() -> dict[str, Any]:
    return whole_document("")


@cache
def _methods() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (each["x-path"], each["name"]): each
        for each in _document()["methods"]
        if each["name"] != "rpc.discover"
    }


def _python(method: dict[str, Any], params: list[Any], base: str) -> str:
    types: set[str] = set()
    arguments: list[tuple[str, Node]] = []
    for param, value in zip(method["params"], params, strict=False):
        record = _record(param["schema"])
        if isinstance(value, dict) and record is not None:
            arguments += [
                (f"{_snake(name)}=", _in_python(each, record[1][name], types))
                for name, each in value.items()
                if name != _IMPLIED
            ]
        else:
            before = "" if param.get("required") else f"{_snake(param['name'])}="
            arguments.append((before, _in_python(value, param["schema"], types)))
    head = "    answer = "
    called = f"tidemark.{_AREAS[method['x-path']]}.{_snake(method['name'])}("
    call = written(Group(called, ")", arguments), PYTHON_WORDS, len(head), "    ")
    lines = ["import os", "", "from tidemark import Tidemark"]
    lines += [f"from tidemark.types import {', '.join(sorted(types))}"] if types else []
    lines += ["", f'with Tidemark({json.dumps(base)}, os.environ["KEY"]) as tidemark:']
    return "\n".join([*lines, head + call, "    print(answer)"]) + "\n"


def _in_python(value: Any, schema: Schema, types: set[str]) -> Node:
    record = _record(schema)
    if isinstance(value, dict) and record is not None:
        name, members = record
        types.add(name)
        parts = [
            (f"{_snake(key)}=", _in_python(each, members[key], types))
            for key, each in value.items()
        ]
        return Group(f"{name}(", ")", parts)
    if isinstance(value, list):
        items = schema.get("items", {})
        return Group("[", "]", [("", _in_python(each, items, types)) for each in value])
    return literal(value, PYTHON_WORDS)


def _typescript(method: dict[str, Any], params: list[Any], base: str) -> str:
    arguments = [
        ("", _in_typescript(value, param["schema"]))
        for param, value in zip(method["params"], params, strict=False)
    ]
    head = "const answer = await "
    called = f"tidemark.{_AREAS[method['x-path']]}.{method['name']}("
    call = written(Group(called, ").send();", arguments), TYPESCRIPT_WORDS, len(head))
    return "\n".join(
        [
            *(['import { address } from "@solana/kit";'] if "address(" in call else []),
            'import { Tidemark } from "tidemark";',
            "",
            f"const tidemark = new Tidemark({json.dumps(base)}, process.env.KEY);",
            head + call,
            "console.log(answer);",
            "",
        ]
    )


def _in_typescript(value: Any, schema: Schema) -> Node:
    """Addresses have a type of their own in kit."""
    if schema.get("title") == "Pubkey" and isinstance(value, str):
        return f"address({json.dumps(value)})"
    if isinstance(value, list) and "items" in schema:
        return Group("[", "]", [("", _in_typescript(each, schema["items"])) for each in value])
    return literal(value, TYPESCRIPT_WORDS)


def _record(schema: Schema) -> tuple[str, dict[str, Schema]] | None:
    """The name and members of the object that a schema names, alone or among others."""
    for each in [schema, *schema.get("anyOf", [])]:
        if "$ref" in each:
            name = each["$ref"].rpartition("/")[2]
            found = _document()["components"]["schemas"][name]
            if found.get("type") == "object":
                return name, found["properties"]
    return None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
