"""JSON Schema of annotations, for params and results."""

import dataclasses
import types
import typing
from enum import Enum
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import msgspec

from jsonrpc.descriptions import described_fields
from jsonrpc.node_params import U64_MAX
from jsonrpc.params import Config
from jsonrpc.wire import As

Schema = dict[str, Any]

_BASE58 = "[1-9A-HJ-NP-Za-km-z]"
# Types that are base58 strings on the wire: minimum and maximum length, and the description.
_BASE58_TYPES = {
    "Pubkey": (32, 44, "a public key: 32 bytes in base58"),
    "Hash": (32, 44, "a hash: 32 bytes in base58"),
    "Signature": (64, 88, "a transaction's signature: 64 bytes in base58"),
}
_PLAIN: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    dict: {"type": "object"},
}
_PLACE = "#/components/schemas/"


class Schemas:
    """Schemas of annotations; types with fields become named components."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._names: dict[type, str] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of an annotation; TypeError for types without a JSON form."""
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if kind in (Any, object, msgspec.Raw):
            return {}
        if get_origin(kind) is Annotated:
            return self._annotated(kind)
        if get_origin(kind) is Literal:
            return {"type": "string", "enum": list(get_args(kind))}
        if isinstance(kind, types.UnionType) or get_origin(kind) is typing.Union:
            return self._union(kind)
        if get_origin(kind) in (list, tuple, dict):
            return self._collection(kind)
        if hasattr(kind, "__supertype__"):
            return self.of(kind.__supertype__)
        if isinstance(kind, type):
            return self._class(kind)
        raise TypeError(f"no schema for {kind!r}")

    def resolve(self, schema: Schema) -> Schema:
        """The component that a schema refers to, or itself."""
        name = str(schema.get("$ref", "")).removeprefix(_PLACE)
        return self.components[name] if name else schema

    def _annotated(self, kind: Any) -> Schema:
        base, *metadata = get_args(kind)
        shown = [each.kind for each in metadata if isinstance(each, As)]
        schema = self.of(shown[0] if shown else base)
        for meta in metadata:
            if isinstance(meta, msgspec.Meta):
                limits = {
                    "minimum": meta.ge,
                    "maximum": meta.le,
                    "minLength": meta.min_length,
                    "maxLength": meta.max_length,
                    "pattern": meta.pattern,
                }
                schema |= {name: value for name, value in limits.items() if value is not None}
                schema |= meta.extra_json_schema or {}
        # An unsigned integer without a maximum is a u64: the reader refuses larger ones.
        if schema.get("type") == "integer" and schema.get("minimum", -1) >= 0:
            schema.setdefault("maximum", U64_MAX)
        return schema

    def _union(self, kind: Any) -> Schema:
        members: list[Schema] = []
        for part in get_args(kind):
            if part is not msgspec.UnsetType:
                schema = self.of(part)
                members += schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
        members.sort(key=lambda member: member == {"type": "null"})
        return members[0] if len(members) == 1 else {"anyOf": members}

    def _collection(self, kind: Any) -> Schema:
        parts = get_args(kind)
        if get_origin(kind) is dict:
            return {"type": "object", "additionalProperties": self.of(parts[1])}
        if get_origin(kind) is list or parts[-1] is Ellipsis:
            return {"type": "array", "items": self.of(parts[0])}
        schemas = [self.of(part) for part in parts]
        count = len(schemas)
        return {"type": "array", "prefixItems": schemas, "minItems": count, "maxItems": count}

    def _class(self, kind: type) -> Schema:
        if kind.__name__ in _BASE58_TYPES and hasattr(kind, "from_string"):
            least, most, meaning = _BASE58_TYPES[kind.__name__]
            pattern = f"^{_BASE58}{{{least},{most}}}$"
            return {
                "type": "string",
                "pattern": pattern,
                "minLength": least,
                "maxLength": most,
                "title": kind.__name__,
                "description": meaning,
            }
        if issubclass(kind, Enum):
            return {"type": "string", "enum": [member.value for member in kind]}
        if not (issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind)):
            raise TypeError(f"no schema for {kind!r}")
        if kind not in self._names:
            self._names[kind] = self._free_name(kind)
            self.components[self._names[kind]] = {}  # reserved, in case it refers to itself
            self.components[self._names[kind]] = self._object(kind)
        return {"$ref": _PLACE + self._names[kind]}

    def _free_name(self, kind: type) -> str:
        if kind.__name__ not in self.components:
            return kind.__name__
        return kind.__module__.partition(".")[0].capitalize() + kind.__name__

    def _object(self, kind: type) -> Schema:
        is_read = issubclass(kind, Config)
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = _fields(kind)
        description = described_fields(kind, fields)
        properties: dict[str, Schema] = {}
        required: list[str] = []
        for name, (wire_name, has_default) in fields.items():
            # null means absent in params, so it is left out of their schemas.
            hint = without_null(hints[name]) if is_read and has_default else hints[name]
            properties[wire_name] = with_text(self.of(hint), description.parts.get(name, ""))
            if not (has_default if is_read else msgspec.UnsetType in get_args(hints[name])):
                required.append(wire_name)
        schema: Schema = {"type": "object", "title": kind.__name__, "properties": properties}
        if description.text:
            schema["description"] = description.text
        if required:
            schema["required"] = required
        if getattr(getattr(kind, "__struct_config__", None), "forbid_unknown_fields", False):
            schema["additionalProperties"] = False
        elif getattr(kind, "has_more_members", False):
            schema["additionalProperties"] = True
        return schema


def with_text(schema: Schema, text: str) -> Schema:
    """The schema with a description; a reference keeps its `$ref` next to it."""
    return {**schema, "description": text} if text else schema


def _fields(kind: type) -> dict[str, tuple[str, bool]]:
    """Each field's name on the wire, and whether it may be left out."""
    if issubclass(kind, msgspec.Struct):
        return {
            field.name: (field.encode_name, not field.required)
            for field in msgspec.structs.fields(kind)
        }
    return {
        field.name: (field.name, field.default is not dataclasses.MISSING)
        for field in dataclasses.fields(cast(Any, kind))
    }


def without_null(hint: Any) -> Any:
    """The annotation without None."""
    if not (isinstance(hint, types.UnionType) or get_origin(hint) is typing.Union):
        return hint
    kept = [part for part in get_args(hint) if part is not type(None)]
    return typing.Union[tuple(kept)] if kept else hint  # noqa: UP007  (made of a list)
