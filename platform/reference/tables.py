"""Schemas as table rows, for params and results."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jsonrpc.node_params import U64_MAX
from jsonrpc.schemas import Schema, Schemas

_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class TypePart:
    """A part of a type's text; `link` is the component that it refers to."""

    text: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A field: its name, nesting depth, type, whether it is required, and its description."""

    name: str
    depth: int
    words: tuple[TypePart, ...]
    required: bool
    text: str


@dataclass(frozen=True, slots=True)
class Type:
    """A component with its rows."""

    name: str
    text: str
    rows: tuple[Row, ...]


def param_rows(params: list[dict[str, Any]], schemas: Schemas) -> list[Row]:
    """Params in order, each followed by its fields."""
    rows: list[Row] = []
    for each in params:
        schema = each["schema"]
        text = each["description"]
        rows.append(Row(each["name"], 0, tuple(words(schema)), each["required"], text))
        rows += _below(schema, schemas, 1)
    return rows


def result_rows(schema: Schema, schemas: Schemas) -> list[Row]:
    """The fields of a result; none for a single value."""
    return list(_below(schema, schemas, 0))


def types(schemas: Schemas, *described: Any) -> list[Type]:
    """A table for each component that the descriptions refer to, also by others; by name."""
    return [
        Type(name, schema.get("description", ""), tuple(_fields(schema, schemas, 0, _DEEPEST)))
        for name, schema in sorted(_referred(schemas, described).items())
    ]


def _referred(schemas: Schemas, described: Any) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    waiting = [described]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if "$ref" in each:
                name = each["$ref"].rpartition("/")[2]
                if name not in found:
                    found[name] = schemas.components[name]
                    waiting.append(found[name])
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
    return found


def words(schema: Schema) -> Iterator[TypePart]:
    """The schema's type as readable text."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield TypePart(name, name)
    elif "anyOf" in schema:
        for place, member in enumerate(schema["anyOf"]):
            if place:
                yield TypePart(" or ")
            yield from words(member)
    elif "prefixItems" in schema:
        yield TypePart("[")
        for place, member in enumerate(schema["prefixItems"]):
            if place:
                yield TypePart(", ")
            yield from words(member)
        yield TypePart("]")
    elif "enum" in schema:
        yield TypePart(" | ".join(f'"{value}"' for value in schema["enum"]))
    elif schema.get("type") == "array":
        yield TypePart("array of ")
        several = "anyOf" in schema["items"]
        yield from ([TypePart("(")] if several else [])
        yield from words(schema["items"])
        yield from ([TypePart(")")] if several else [])
    elif schema.get("type") == "object" and "additionalProperties" in schema:
        yield TypePart("object of ")
        yield from words(schema["additionalProperties"])
    else:
        yield TypePart(_plain(schema))


def _plain(schema: Schema) -> str:
    if schema.get("title"):
        return str(schema["title"])
    if schema.get("maximum") == U64_MAX:
        least = schema["minimum"]
        return "u64" if least == 0 else f"u64, at least {least}"
    if "maximum" in schema:
        return f"integer, {schema['minimum']:,} to {schema['maximum']:,}"
    if schema.get("maxLength"):
        return f"string, {schema['minLength']} to {schema['maxLength']} characters"
    return str(schema.get("type", "any value"))


def _below(schema: Schema, schemas: Schemas, depth: int) -> Iterator[Row]:
    """The fields of the schema's object, if exactly one of its alternatives is an object."""
    inner = schema
    if "anyOf" in schema:
        objects = [each for each in schema["anyOf"] if "$ref" in each]
        inner = objects[0] if len(objects) == 1 else {}
    if "$ref" in inner:
        yield from _fields(schemas.resolve(inner), schemas, depth, depth + _DEEPEST)


def _fields(schema: Schema, schemas: Schemas, depth: int, deepest: int) -> Iterator[Row]:
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        text = field.get("description", "")
        yield Row(name, depth, tuple(words(field)), name in required, text)
        if depth + 1 < deepest:
            yield from _inner(field, schemas, depth + 1, deepest)


def _inner(field: Schema, schemas: Schemas, depth: int, deepest: int) -> Iterator[Row]:
    for each in [field, *field.get("anyOf", [])]:
        if "$ref" in each:
            yield from _fields(schemas.resolve(each), schemas, depth, deepest)
            return
