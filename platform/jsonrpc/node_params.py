"""Values as the standard node's deserializer (serde, on serde_json's values) understands them: what
it accepts beside the usual form, and its words for what it refuses.

It runs only on params that the compiled readers refuse. The names and forms of the node's types
stand in the annotations: `NodeWord` and the class members of NodeStruct.
"""

import enum
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import msgspec

U64_MAX = 2**64 - 1
_I64_MIN = -(2**63)
_ABSENT = (type(None), msgspec.UnsetType)


@dataclass(frozen=True, slots=True)
class NodeWord:
    """In an annotation: the node's name of the type, such as `usize`, or of an untagged enum."""

    word: str


class NodeStruct(msgspec.Struct, frozen=True, kw_only=True):
    """What a Config says of the node's own type, if the node has it.

    `node_struct` is its name there; `node_sequence`: it may be written as the sequence of its
    fields; `node_enum`: it is an enum there, and a caller names one value; `node_drops`: members
    that the node takes for absent where it cannot read them; `node_insists`: such members that are
    refused here all the same.
    """

    node_struct: ClassVar[str] = ""
    node_sequence: ClassVar[bool] = False
    node_enum: ClassVar[bool] = False
    node_drops: ClassVar[frozenset[str]] = frozenset()
    node_insists: ClassVar[frozenset[str]] = frozenset()


class Refused(Exception):
    """The node refuses the value; `at` is its path from the params on, and `reason` says what the
    node's text does not.
    """

    def __init__(self, text: str, at: str, reason: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.at = at
        self.reason = reason


class Insisted(Refused):
    """As Refused, where the node itself would take the member for absent."""


class Unknown(Exception):
    """A type that the node's params do not have: what it would say is not known."""


def understood(value: Any, kind: Any, at: str) -> Any:
    """The value of the annotation in its usual form; Refused, Unknown. Keys stay strings."""
    word = ""
    while get_origin(kind) is Annotated:
        word = next((each.word for each in kind.__metadata__ if isinstance(each, NodeWord)), word)
        limits = [each for each in kind.__metadata__ if isinstance(each, msgspec.Meta)]
        kind = get_args(kind)[0]
        if kind is int:
            return _integer(value, limits, word, at)
    if isinstance(kind, types.UnionType) or get_origin(kind) is typing.Union:
        return _one_of(value, get_args(kind), word, at)
    if get_origin(kind) is list:
        if not isinstance(value, list):
            raise _wrong(value, "a sequence", at)
        (inner,) = get_args(kind)
        return [understood(each, inner, f"{at}[{index}]") for index, each in enumerate(value)]
    if get_origin(kind) is Literal:
        return _variant(value, dict.fromkeys(get_args(kind)), at)
    if not isinstance(kind, type):
        raise Unknown
    if issubclass(kind, enum.Enum):
        return _variant(value, {each.value: None for each in kind}, at)
    if issubclass(kind, NodeStruct):
        return _variant(value, _members(kind), at) if kind.node_enum else _struct(value, kind, at)
    if kind is bool:
        return _plain(value, bool, "a boolean", at)
    if kind is str or hasattr(kind, "from_string"):
        return _plain(value, str, "a string", at)
    raise Unknown


def describe(value: Any) -> str:
    """A JSON value as the standard node's errors describe it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        if _I64_MIN <= value <= U64_MAX:
            return f"integer `{value}`"
        value = float(value) if value.bit_length() < 1_000 else float("inf")
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f'string "{value[:64]}"'
    return "sequence" if isinstance(value, list) else "map"


def a_tuple(values: Any, kinds: Sequence[Any]) -> list[Any]:
    """The params of a method that has no optional ones; Refused, Unknown."""
    expected = f"a tuple of size {len(kinds)}"
    if not isinstance(values, list):
        raise _wrong(values, expected, "")
    found = [
        understood(value, kind, f"[{position}]")
        for position, (value, kind) in enumerate(zip(values, kinds, strict=False))
    ]
    if len(values) < len(kinds):
        raise Refused(f"invalid length {len(values)}, expected {expected}", "")
    if len(values) > len(kinds):
        raise Refused(f"invalid length {len(values)}, expected fewer elements in array", "")
    return found


def _wrong(value: Any, expected: str, at: str) -> Refused:
    return Refused(f"invalid type: {describe(value)}, expected {expected}", at)


def _plain(value: Any, kind: type, expected: str, at: str) -> Any:
    if not isinstance(value, kind):
        raise _wrong(value, expected, at)
    return value


def _integer(value: Any, limits: Sequence[msgspec.Meta], word: str, at: str) -> int:
    most = next((each.le for each in limits if each.le is not None), U64_MAX)
    if any(each.ge not in (None, 0) for each in limits) or most not in (255, U64_MAX):
        raise Unknown
    word = word or ("u8" if most == 255 else "u64")
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(value, word, at)
    if not _I64_MIN <= value <= U64_MAX:
        raise _wrong(value, word, at)
    if not 0 <= value <= most:
        raise Refused(f"invalid value: integer `{value}`, expected {word}", at)
    return value


def _one_of(value: Any, kinds: Sequence[Any], word: str, at: str) -> Any:
    some = [kind for kind in kinds if kind not in _ABSENT]
    if value is None and type(None) in kinds:
        return None
    if word:
        refusals = []
        for kind in some:
            try:
                return understood(value, kind, at)
            except Insisted:
                raise
            except Refused as refused:
                refusals.append(refused)
        deepest = max(refusals, key=lambda each: len(each.at))
        text = f"data did not match any variant of untagged enum {word}"
        raise Refused(text, deepest.at, deepest.text)
    if len(some) == 1:
        return understood(value, some[0], at)
    # One enum of the node, whose variants with content are a struct's members here.
    variants: dict[str, Any] = {}
    for kind in some:
        if get_origin(kind) is Literal:
            variants |= dict.fromkeys(get_args(kind))
        elif isinstance(kind, type) and issubclass(kind, NodeStruct) and kind.node_enum:
            variants |= _members(kind)
        else:
            raise Unknown
    return _variant(value, variants, at)


def _members(kind: type[NodeStruct]) -> dict[str, Any]:
    """Each member's type without null."""
    return {field.encode_name: _without_null(field.type) for field in msgspec.structs.fields(kind)}


def _variant(value: Any, variants: dict[str, Any], at: str) -> Any:
    """A variant: its name, or a map of the name and its content (None: it has none)."""
    if isinstance(value, str):
        kind = _content(value, variants, at)
        if kind is not None:
            raise Refused("invalid type: unit variant, expected newtype variant", at)
        return value
    if not isinstance(value, dict):
        raise _wrong(value, "string or map", at)
    if len(value) != 1:
        raise Refused("invalid value: map, expected map with a single key", at)
    ((name, content),) = value.items()
    kind = _content(name, variants, at)
    if kind is None:
        if content is not None:
            raise _wrong(content, "unit", f"{at}.{name}")
        return name
    return {name: understood(content, kind, f"{at}.{name}")}


def _content(name: str, variants: dict[str, Any], at: str) -> Any:
    if name in variants:
        return variants[name]
    names = [f"`{each}`" for each in variants]
    expected = f"one of {', '.join(names)}" if len(names) > 2 else " or ".join(names)
    raise Refused(f"unknown variant `{name[:64]}`, expected {expected}", at)


def _struct(value: Any, kind: type[NodeStruct], at: str) -> Any:
    name = kind.node_struct
    fields = msgspec.structs.fields(kind)
    expected = f"struct {name}" if name else "an object"
    if isinstance(value, list) and kind.node_sequence:
        return _sequence(value, fields, expected, at)
    if not isinstance(value, dict):
        raise _wrong(value, expected, at)
    drops, insists = kind.node_drops, kind.node_insists
    types_of = {field.encode_name: field.type for field in fields}
    found: dict[str, Any] = {}
    for member, content in value.items():
        if member not in types_of:
            found[member] = content  # ignored, or refused by a type that is not the node's
            continue
        try:
            found[member] = understood(content, types_of[member], f"{at}.{member}")
        except Refused as refused:
            if member in insists:
                raise Insisted(refused.text, refused.at) from None
            if member not in drops:
                raise
    for field in fields:
        if field.required and field.encode_name not in found:
            raise Refused(f"missing field `{field.encode_name}`", at)
    return found


def _sequence(
    values: list[Any], fields: Sequence[msgspec.structs.FieldInfo], expected: str, at: str
) -> dict[str, Any]:
    """A struct as the sequence of its fields; only booleans may be left out."""
    found: dict[str, Any] = {}
    plural = "element" if len(fields) == 1 else "elements"
    for index, field in enumerate(fields):
        if index < len(values):
            found[field.encode_name] = understood(values[index], field.type, f"{at}[{index}]")
        elif field.type is not bool or field.required:
            text = f"invalid length {index}, expected {expected} with {len(fields)} {plural}"
            raise Refused(text, at)
    if len(values) > len(fields):
        raise Refused(f"invalid length {len(values)}, expected fewer elements in array", at)
    return found


def _without_null(kind: Any) -> Any:
    if isinstance(kind, types.UnionType) or get_origin(kind) is typing.Union:
        some = tuple(part for part in get_args(kind) if part not in _ABSENT)
        return typing.Union[some]  # noqa: UP007  (made of a tuple)
    return kind
