"""Types of an IDL, compiled to readers of Borsh. An IDL is untrusted text: what a reader returns
is bounded in values and depth, whatever the types say.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from struct import unpack
from typing import Any, TypeAlias

from chain.encodings import b64encode
from chain.parsed.cursor import Cursor, UnreadableError

# Of the data of one instruction or account.
_MOST_VALUES = 4_096
_DEEPEST = 32
# Of all types of an IDL, with each use of a generic one.
_MOST_COMPILED = 50_000
_LONGEST_NAME = 128
_JSON_SAFE_BITS = 53


class BadIdl(Exception):
    """Text that is not an IDL; the message says why."""


class Values(Cursor):
    """The data that a reader reads, and what it may still do."""

    __slots__ = ("depth", "left")

    def __init__(self, data: bytes, at: int = 0) -> None:
        super().__init__(data, at)
        self.left = _MOST_VALUES
        self.depth = 0


Reader: TypeAlias = Callable[[Values], Any]
# A type's generic parameters: a reader, or a length.
Generics: TypeAlias = Mapping[str, "Reader | int"]


@dataclass(slots=True)
class Types:
    """The named types of an IDL. `definitions` are as its JSON has them, by name."""

    definitions: Mapping[str, Any]
    _readers: dict[str, Reader] = field(default_factory=dict)
    _compiled: int = 0

    def named(self, name: str) -> Reader:
        """The reader of a type without parameters. Raises BadIdl."""
        if name not in self._readers:
            # First what a type that names itself finds.
            self._readers[name] = lambda values: self._readers[name](values)
            self._readers[name] = self._definition(name, [], {}, 0)
        return lambda values: self._readers[name](values)

    def reader(self, kind: Any, generics: Generics | None = None, depth: int = 0) -> Reader:
        """The reader of a type as JSON has it. Raises BadIdl."""
        generics = generics or {}
        self._compiled += 1
        if depth > _DEEPEST or self._compiled > _MOST_COMPILED:
            raise BadIdl("its types are nested too deep or too many")
        if isinstance(kind, str):
            if kind not in _PLAIN:
                raise BadIdl(f"unknown type `{kind[:64]}`")
            return _PLAIN[kind]
        match kind:
            case {"option": inner}:
                return _optional(self.reader(inner, generics, depth + 1), 1)
            case {"coption": inner}:
                return _optional(self.reader(inner, generics, depth + 1), 4)
            case {"vec": "u8"}:
                return _PLAIN["bytes"]
            case {"vec": inner}:
                return _several(self.reader(inner, generics, depth + 1), None)
            case {"hashMap": [key, value]} | {"bTreeMap": [key, value]}:
                pair = [self.reader(each, generics, depth + 1) for each in (key, value)]
                return _several(_in_order(pair), None)
            case {"hashSet": inner} | {"bTreeSet": inner}:
                return _several(self.reader(inner, generics, depth + 1), None)
            case {"array": [inner, length]}:
                count = _length(length, generics)
                if inner == "u8":
                    return lambda values: b64encode(values.take(count))
                return _several(self.reader(inner, generics, depth + 1), count)
            case {"tuple": [*inner]}:
                return _in_order([self.reader(each, generics, depth + 1) for each in inner])
            case {"struct": [*fields]}:
                return self.fields(fields, generics, depth + 1)
            case {"unreadable": _}:
                return _unreadable
            case {"generic": str(name)} if callable(known := generics.get(name)):
                return known
            case {"defined": str(name)}:
                return self.named(name)
            case {"defined": {"name": str(name), **more}}:
                given = more.get("generics") or []
                if not given:
                    return self.named(name)
                return self._definition(name, given, generics, depth + 1)
        raise BadIdl("unknown type")

    def arguments(self, fields: Any) -> list[tuple[str, Reader]]:
        """Names and readers of a list of fields, or of those of a type by its name; a type without
        any is one value. Raises BadIdl.
        """
        if isinstance(fields, str):
            definition = self.definitions.get(fields)
            match getattr(definition, "type", None):
                case {"kind": "struct", "fields": [{"name": _}, *_] as members} if _is_packed(
                    definition
                ):
                    fields = members
                case _:
                    return [("value", self.named(fields))]
        if not isinstance(fields, list):
            raise BadIdl("a list of fields is expected")
        return [(_name(each), self.reader(each.get("type"), None, 1)) for each in fields]

    def fields(self, fields: Any, generics: Generics | None = None, depth: int = 0) -> Reader:
        """The reader of a list of fields, named or not: an object, or a list. Raises BadIdl."""
        if not isinstance(fields, list):
            raise BadIdl("a list of fields is expected")
        if all(isinstance(each, dict) and "name" in each for each in fields):
            return _by_name(
                [
                    (_name(each), self.reader(each.get("type"), generics, depth + 1))
                    for each in fields
                ]
            )
        return _in_order([self.reader(each, generics, depth + 1) for each in fields])

    def _definition(self, name: str, given: Any, outer: Generics, depth: int) -> Reader:
        definition = self.definitions.get(name)
        if definition is None:
            raise BadIdl(f"type `{name[:64]}` is not defined")
        if not _is_packed(definition):
            return _unreadable
        generics = self._given(definition.generics or [], given, outer, depth)
        match definition.type:
            case {"kind": "struct", **more}:
                return self.fields(more.get("fields") or [], generics, depth)
            case {"kind": "enum", "variants": [*variants]}:
                return _one_of(
                    [
                        (_name(each), self.fields(each["fields"], generics, depth))
                        if isinstance(each, dict) and each.get("fields")
                        else (_name(each), None)
                        for each in variants
                    ]
                )
            case {"kind": "type" | "alias", **more}:
                return self.reader(more.get("alias", more.get("value")), generics, depth + 1)
        raise BadIdl(f"type `{name[:64]}` is neither a struct, an enum nor an alias")

    def _given(self, names: Any, given: Any, outer: Generics, depth: int) -> Generics:
        if not isinstance(names, list) or not isinstance(given, list) or len(names) != len(given):
            raise BadIdl("a generic type has other parameters than its definition")
        found: dict[str, Reader | int] = {}
        for each, value in zip(names, given, strict=True):
            match each, value:
                case {"name": str(name)}, {"kind": "type", "type": kind}:
                    found[name] = self.reader(kind, outer, depth + 1)
                case {"name": str(name)}, {"kind": "const", "value": str(number)}:
                    found[name] = _length(int(number) if number.isdecimal() else None, outer)
                case _:
                    raise BadIdl("unknown parameter of a generic type")
        return found


def _is_packed(definition: Any) -> bool:
    """Whether its values follow each other as Borsh has them. `bytemuck` is memory without padding,
    `bytemuckunsafe` only if the type is packed.
    """
    if definition.serialization == "bytemuckunsafe":
        return isinstance(definition.repr, dict) and definition.repr.get("packed") is True
    return definition.serialization in (None, "borsh", "bytemuck")


def _name(each: Any) -> str:
    match each:
        case {"name": str(name)} if 0 < len(name) <= _LONGEST_NAME:
            return name
    raise BadIdl(f"a name of up to {_LONGEST_NAME} characters is expected")


def _length(length: Any, generics: Generics) -> int:
    if isinstance(length, dict):
        length = generics.get(str(length.get("generic")))
    if not isinstance(length, int) or not 0 <= length <= 2**32:
        raise BadIdl("an array without a length")
    return length


def _nested(read: Reader) -> Reader:
    """One level deeper: data may nest by itself what names itself."""

    def nested(values: Values) -> Any:
        values.depth += 1
        values.left -= 1
        if values.depth > _DEEPEST or values.left < 0:
            raise UnreadableError
        found = read(values)
        values.depth -= 1
        return found

    return nested


def _optional(read: Reader, tag_size: int) -> Reader:
    def optional(values: Values) -> Any:
        tag = int.from_bytes(values.take(tag_size), "little")
        if tag > 1:
            raise UnreadableError
        if tag == 0:
            if tag_size > 1:  # a C option has room for its value
                read(values)
            return None
        return read(values)

    return _nested(optional)


def _several(read: Reader, count: int | None) -> Reader:
    def several(values: Values) -> list[Any]:
        found = values.u32() if count is None else count
        if found > values.left:
            raise UnreadableError
        values.left -= found
        return [read(values) for _ in range(found)]

    return _nested(several)


def _in_order(readers: list[Reader]) -> Reader:
    return _nested(lambda values: [read(values) for read in readers])


def _by_name(readers: list[tuple[str, Reader]]) -> Reader:
    return _nested(lambda values: {name: read(values) for name, read in readers})


def _one_of(variants: list[tuple[str, Reader | None]]) -> Reader:
    def one_of(values: Values) -> Any:
        at = values.u8()
        if at >= len(variants):
            raise UnreadableError
        name, read = variants[at]
        return name if read is None else {name: read(values)}

    return _nested(one_of)


def _unreadable(values: Values) -> Any:
    raise UnreadableError


def _number(bits: int, *, signed: bool) -> Reader:
    """As a number, or as decimal text if a float could not hold all of them."""

    def number(values: Values) -> Any:
        found = int.from_bytes(values.take(bits // 8), "little", signed=signed)
        return found if bits <= _JSON_SAFE_BITS else str(found)

    return number


def _float(form: str, size: int) -> Reader:
    def number(values: Values) -> float | None:
        found: float = unpack(form, values.take(size))[0]
        return found if isfinite(found) else None

    return number


_PLAIN: dict[str, Reader] = {
    "bool": Values.flag,
    "string": Values.borsh_text,
    "bytes": lambda values: b64encode(values.take(values.u32())),
    "pubkey": Values.pubkey,
    "publicKey": Values.pubkey,
    "f32": _float("<f", 4),
    "f64": _float("<d", 8),
    **{f"u{bits}": _number(bits, signed=False) for bits in (8, 16, 32, 64, 128, 256)},
    **{f"i{bits}": _number(bits, signed=True) for bits in (8, 16, 32, 64, 128, 256)},
}
