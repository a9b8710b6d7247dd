"""Params readers made from a method's annotations, with the standard node's error texts."""

import enum
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

import msgspec

from jsonrpc.errors import InvalidParams

U8 = Annotated[int, msgspec.Meta(ge=0, le=255)]
U64 = Annotated[int, msgspec.Meta(ge=0)]
U64_MAX = 2**64 - 1

_PLACE = re.compile(r"^(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.([A-Za-z0-9_]+)")
_LONG_NUMBER = re.compile(rb"[0-9]{20}")
_GOT = re.compile(r"^Expected `(?P<expected>[^`]+)`, got `(?P<got>[^`]+)`$")


class Config(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of every config object: camelCase on the wire; unknown fields are ignored, as by the
    standard node; null means absent.
    """


class _Missing(enum.Enum):
    MISSING = 0


def read_base58(kind: type, value: Any) -> Any:
    """A value of a type with `from_string` (Pubkey, Signature, Hash) from its base58 string."""
    if not isinstance(value, str):
        raise ValueError(f"Invalid params: invalid type: {describe(value)}, expected a string.")
    try:
        return kind.from_string(value)  # type: ignore[attr-defined]
    except Exception as error:
        problem = "WrongSize" if "size" in str(error).lower() else "Invalid"
        raise ValueError(f"Invalid param: {problem}") from None


class ParamsReader:
    """Reads the params array of one method: the parameters after the first, in order.

    An annotation that msgspec cannot read raises TypeError here, so at import.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.names = [parameter.name for parameter in parameters]
        self.types = [hints[name] for name in self.names]
        self.defaults = [parameter.default for parameter in parameters]
        self.required = sum(p.default is inspect.Parameter.empty for p in parameters)
        fields: list[Any] = [
            (name, kind) if position < self.required else (name, kind | None, None)
            for position, (name, kind) in enumerate(zip(self.names, self.types, strict=True))
        ]
        shape = msgspec.defstruct(
            f"{function.__name__}_params", fields, array_like=True, forbid_unknown_fields=True
        )
        self._decode = msgspec.json.Decoder(shape, dec_hook=read_base58).decode
        self._position_decoders = [
            msgspec.json.Decoder(field[1], dec_hook=read_base58) for field in fields
        ]

    def read(self, raw: bytes) -> list[Any]:
        """The arguments, defaults filled in; raises InvalidParams."""
        try:
            record = self._decode(raw)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise self._explain(raw, error) from None
        if _LONG_NUMBER.search(raw):
            _refuse_above_u64(msgspec.json.decode(raw))
        arguments = []
        for name, default in zip(self.names, self.defaults, strict=True):
            value = getattr(record, name)
            if value is None and default is not inspect.Parameter.empty:
                value = default
            arguments.append(value)
        return arguments

    def _explain(self, raw: bytes, error: Exception) -> InvalidParams:
        try:
            values = msgspec.json.decode(raw)
            pieces = msgspec.json.decode(raw, type=list[msgspec.Raw])
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return InvalidParams("Invalid params: expected an array")
        if len(values) < self.required:
            return InvalidParams(
                f"`params` should have at least {self.required} argument(s)",
                required=self.required,
                found=len(values),
            )
        if len(values) > len(self.names):
            if not self.names:
                return InvalidParams(
                    "Invalid parameters: No parameters were expected",
                    maximum=0,
                    found=len(values),
                )
            return InvalidParams(
                f"Invalid parameters: Expected from {self.required} to {len(self.names)}"
                " parameters.",
                maximum=len(self.names),
                found=len(values),
            )
        for position, piece in enumerate(pieces):
            try:
                self._position_decoders[position].decode(piece)
            except (msgspec.MsgspecError, RecursionError, ValueError) as problem:
                return _as_the_node(str(problem), values[position], self.types[position], position)
        return InvalidParams(f"Invalid params: {error}")


def _as_the_node(text: str, value: Any, kind: Any, position: int) -> InvalidParams:
    """msgspec's error for the value as the standard node's error, which ends with a full stop, with
    its path in `at`.
    """
    match = _PLACE.match(text)
    assert match is not None
    text, path = match["text"], match["path"] or ""
    place: Any = value
    where = f"[{position}]"
    for index, name in _STEP.findall(path):
        kind = _step_into(kind, name, index)
        if index == "...":
            name = _unread_member(place, kind)
        where += f".{name[:64]}" if name else f"[{index}]"
        if place is not _Missing.MISSING:
            try:
                place = place[name] if name else place[int(index)]
            except (KeyError, IndexError, TypeError, ValueError):
                place = _Missing.MISSING
    return InvalidParams(_node_text(text, place, kind), at=where)


def _unread_member(place: Any, kind: Any) -> str:
    """The name of the map's first member that is not of the kind: msgspec does not report it."""
    members: dict[str, Any] = place if isinstance(place, dict) else {}
    for name, member in members.items():
        try:
            msgspec.convert(member, kind, dec_hook=read_base58)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return name
    return ""


def _node_text(text: str, place: Any, kind: Any) -> str:
    if text.startswith(("Invalid param: ", "Invalid params: ")):
        return text
    if text.startswith("Object contains unknown field "):
        field = text.removeprefix("Object contains unknown field ")
        return f"Invalid params: unknown field {field}."
    if text.startswith("Object missing required field "):
        field = text.removeprefix("Object missing required field ")
        return f"Invalid params: missing field {field}."
    if text.startswith("Invalid enum value"):
        variants = [f"`{variant}`" for variant in _variants_of(kind)]
        return f"Invalid params: unknown variant `{place}`, expected one of {', '.join(variants)}."
    if text.startswith("Expected `int`") and type(place) is int:
        return f"Invalid params: invalid value: integer `{place}`, expected {_int_word(text)}."
    if match := _GOT.match(text):
        found = match["got"] if place is _Missing.MISSING else describe(place)
        return f"Invalid params: invalid type: {found}, expected {_expected(match['expected'])}."
    return f"Invalid params: {text}."


def _int_word(text: str) -> str:
    most = text.partition("<= ")[2]
    return {"": "u64", "255": "u8"}.get(most, f"at most {most}")


def _refuse_above_u64(value: Any) -> None:
    """Refuses integers above u64: msgspec reads any size, the standard node reads floats."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > U64_MAX:
        raise InvalidParams(
            f"Invalid params: invalid type: floating point `{float(value)}`, expected u64."
            if value.bit_length() < 1000
            else "Invalid params: number out of range."
        )
    members = value.values() if isinstance(value, dict) else value
    if isinstance(members, str | int | float | None):
        return
    for member in members:
        _refuse_above_u64(member)


def _expected(kinds: str) -> str:
    names_of = {
        "int": "u64", "str": "a string", "bool": "a boolean", "object": "an object",
        "array": "a sequence", "float": "f64",
    }  # fmt: skip
    names = [names_of.get(part.strip(), part.strip()) for part in kinds.split("|")]
    return " or ".join(name for name in names if name != "null") or "null"


def describe(value: Any) -> str:
    """A JSON value as the standard node's errors describe it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f'string "{value[:64]}"'
    return "sequence" if isinstance(value, list) else "map"


def _members(kind: Any) -> list[Any]:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, types.UnionType) or get_origin(kind) is typing.Union:
        return [member for part in get_args(kind) for member in _members(part)]
    return [kind]


def _step_into(kind: Any, name: str, index: str) -> Any:
    for member in _members(kind):
        if name and isinstance(member, type) and issubclass(member, msgspec.Struct):
            for field in msgspec.structs.fields(member):
                if field.encode_name == name:
                    return field.type
        if index and get_args(member):
            return get_args(member)[-1]
    return Any


def _variants_of(kind: Any) -> list[Any]:
    for member in _members(kind):
        if isinstance(member, type) and issubclass(member, enum.Enum):
            return [variant.value for variant in member]
        if get_origin(member) is typing.Literal:
            return list(get_args(member))
    return []
