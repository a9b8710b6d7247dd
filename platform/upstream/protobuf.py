"""Protobuf message classes, built when imported from field tables instead of generated code."""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "fixed32": _Field.TYPE_FIXED32,
    "fixed64": _Field.TYPE_FIXED64,
    "float": _Field.TYPE_FLOAT,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "sfixed32": _Field.TYPE_SFIXED32,
    "sfixed64": _Field.TYPE_SFIXED64,
    "sint32": _Field.TYPE_SINT32,
    "sint64": _Field.TYPE_SINT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
}
_ENTRY = re.compile(
    r"(?P<number>\d+) (?P<name>\w+): (?:(?P<mark>optional|repeated) )?"
    r"(?:map<(?P<key>\w+), ?(?P<value>[\w.]+)>|(?P<type>[\w.]+))"
    r"(?: \[oneof (?P<oneof>\w+)\])?"
)
# A pool of our own: another library may bring the same packages under the same names. All our
# tables share it, so that a message of one package can stand in a message of another.
_POOL = descriptor_pool.DescriptorPool()
_FILES: dict[str, Any] = {}


class BadTable(ValueError):
    """A field table that says what no .proto file could say."""


def define(package: str, table: str, *, imports: Sequence[str] = ()) -> dict[str, Any]:
    """The package's message classes and enums (as IntEnum) by name.

    A line of the table is a message, `Name: number field: type; …`, or an enum,
    `enum Name: FIRST=0, …`; an indented line goes on with the one above. A type may be `optional`,
    `repeated` or `map<key, value>`, and end in `[oneof name]`; `Outer.Inner` is a nested message.
    Types of other packages are named in full, and their packages in `imports`.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto3"
    )
    file.dependency.extend(_FILES[each].name for each in imports)
    kinds = {name: kind for each in (package, *imports) for name, kind in _known(each).items()}
    declared: dict[str, Any] = {}
    bodies: list[tuple[str, str]] = []
    for line in re.sub(r"\n\s+", " ", table.strip()).splitlines():
        name, _, body = line.partition(":")
        if name.startswith("enum "):
            name = name.removeprefix("enum ")
            _add_enum(file, name, body)
            kinds[f"{package}.{name}"] = _Field.TYPE_ENUM
        else:
            outer, _, inner = name.rpartition(".")
            scope = declared[outer].nested_type if outer else file.message_type
            declared[name] = scope.add(name=inner)
            bodies.append((name, body.strip()))
            kinds[f"{package}.{name}"] = _Field.TYPE_MESSAGE
    for name, body in bodies:
        for entry in filter(None, body.split("; ")):
            _add_field(declared[name], f"{package}.{name}", entry, package, kinds)
    _POOL.Add(file)
    _FILES[package] = file
    classes: dict[str, Any] = {
        name: message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{package}.{name}"))
        for name in declared
    }
    for enum in file.enum_type:
        classes[enum.name] = IntEnum(enum.name, {each.name: each.number for each in enum.value})
    return classes


def _known(package: str) -> dict[str, int]:
    """The full names of a defined package's types, and whether each is a message or an enum."""
    if package not in _FILES:
        return {}
    found = {f"{package}.{enum.name}": _Field.TYPE_ENUM for enum in _FILES[package].enum_type}
    waiting = [(package, message) for message in _FILES[package].message_type]
    while waiting:
        scope, message = waiting.pop()
        found[f"{scope}.{message.name}"] = _Field.TYPE_MESSAGE
        waiting += [(f"{scope}.{message.name}", inner) for inner in message.nested_type]
    return found


def _add_enum(file: Any, name: str, body: str) -> None:
    enum = file.enum_type.add(name=name)
    for entry in body.split(","):
        value, _, number = entry.strip().partition("=")
        enum.value.add(name=value, number=int(number))


def _add_field(
    message: Any, full_name: str, entry: str, package: str, kinds: dict[str, int]
) -> None:
    match = _ENTRY.fullmatch(entry.strip())
    if match is None:
        raise BadTable(f"{full_name}: {entry!r} is not `number name: type`")
    field = message.field.add(name=match["name"], number=int(match["number"]))
    field.label = _Field.LABEL_REPEATED if match["mark"] == "repeated" else _Field.LABEL_OPTIONAL
    if match["key"]:
        words = "".join(word.title() for word in match["name"].split("_"))
        pair = message.nested_type.add(name=f"{words}Entry")
        pair.options.map_entry = True
        for number, part in enumerate(("key", "value"), 1):
            inside = pair.field.add(name=part, number=number, label=_Field.LABEL_OPTIONAL)
            _set_type(inside, match[part], full_name, package, kinds)
        field.label = _Field.LABEL_REPEATED
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".{full_name}.{pair.name}"
        return
    _set_type(field, match["type"], full_name, package, kinds)
    if match["oneof"]:
        _put_into_oneof(message, field, match["oneof"])
    elif match["mark"] == "optional" and field.type != _Field.TYPE_MESSAGE:
        # proto3 keeps the presence of a scalar in a oneof of its own.
        field.proto3_optional = True
        _put_into_oneof(message, field, f"_{match['name']}")


def _put_into_oneof(message: Any, field: Any, name: str) -> None:
    names = [each.name for each in message.oneof_decl]
    if name not in names:
        message.oneof_decl.add(name=name)
        names.append(name)
    field.oneof_index = names.index(name)


def _set_type(field: Any, name: str, scope: str, package: str, kinds: dict[str, int]) -> None:
    if name in _SCALARS:
        field.type = _SCALARS[name]
        return
    for full_name in (f"{package}.{name}", name):
        if full_name in kinds:
            field.type = kinds[full_name]
            field.type_name = f".{full_name}"
            return
    raise BadTable(f"{scope}: no type {name}; is its package imported?")
