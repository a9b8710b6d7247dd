"""Checks values against our schemas: unknown and missing fields are faults."""

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_TYPES = {
    "string": str,
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}


class Conforming:
    """Checks values, and records which fields of each component occurred."""

    def __init__(self, components: dict[str, Schema]) -> None:
        self.components = components
        self.seen: dict[str, set[str]] = {}

    def faults(self, value: Any, schema: Schema, at: str = "$") -> list[str]:
        """The faults, each with its path."""
        return list(self._faults(value, schema, at))

    def never_seen(self) -> set[str]:
        """`Component.field` of fields that never occurred in their components."""
        return {
            f"{name}.{field}"
            for name, fields in self.seen.items()
            for field in self.components[name].get("properties", {})
            if field not in fields
        }

    def _faults(self, value: Any, schema: Schema, at: str) -> Iterator[str]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            found = self.faults(value, self.components[name], at)
            if not found and isinstance(value, dict):
                self.seen.setdefault(name, set()).update(value)
            yield from found
        elif "anyOf" in schema:
            tried = [self.faults(value, each, at) for each in schema["anyOf"]]
            if all(tried):
                yield min(tried, key=lambda faults: (len(faults), faults[0].count(".") * -1))[0]
        elif "enum" in schema:
            if value not in schema["enum"]:
                yield f"{at}: {value!r} is none of {schema['enum']}"
        elif "type" in schema:
            yield from self._typed(value, schema, at)

    def _typed(self, value: Any, schema: Schema, at: str) -> Iterator[str]:
        kind = schema["type"]
        if kind in ("integer", "number"):
            if isinstance(value, bool) or not isinstance(
                value, int if kind == "integer" else int | float
            ):
                yield f"{at}: {value!r} is no {kind}"
            elif not schema.get("minimum", value) <= value <= schema.get("maximum", value):
                yield f"{at}: {value!r} is out of range"
            return
        if not isinstance(value, _TYPES[kind]):
            yield f"{at}: {str(value)[:80]!r} is no {kind}"
        elif kind == "string":
            if "pattern" in schema and not re.search(schema["pattern"], value):
                yield f"{at}: {value!r} does not match {schema['pattern']}"
        elif kind == "array":
            yield from self._array(value, schema, at)
        elif kind == "object":
            yield from self._object(value, schema, at)

    def _array(self, value: list[Any], schema: Schema, at: str) -> Iterator[str]:
        places = schema.get("prefixItems")
        if places is not None:
            if len(places) != len(value):
                yield f"{at}: {len(value)} members, expected {len(places)}"
                return
            for number, (member, each) in enumerate(zip(value, places, strict=True)):
                yield from self._faults(member, each, f"{at}[{number}]")
            return
        for number, member in enumerate(value):
            yield from self._faults(member, schema.get("items", {}), f"{at}[{number}]")

    def _object(self, value: dict[str, Any], schema: Schema, at: str) -> Iterator[str]:
        properties = schema.get("properties")
        others = schema.get("additionalProperties", properties is None or False)
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at}.{name} is missing"
        for name, member in value.items():
            if properties is not None and name in properties:
                yield from self._faults(member, properties[name], f"{at}.{name}")
            elif isinstance(others, dict):
                yield from self._faults(member, others, f"{at}.{name}")
            elif not others:
                yield f"{at}.{name} is not in the reference"
