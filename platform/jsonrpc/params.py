"""Params readers made from a method's annotations, with the standard node's error texts."""

import enum
import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

import msgspec
from solders.hash import Hash

from jsonrpc import node_params
from jsonrpc.errors import InvalidParams
from jsonrpc.node_params import U64_MAX, NodeStruct, NodeWord, describe

U8 = Annotated[int, msgspec.Meta(ge=0, le=255)]
U64 = Annotated[int, msgspec.Meta(ge=0)]
# The node counts bytes and entries with these.
USIZE = Annotated[int, msgspec.Meta(ge=0), NodeWord("usize")]

_PLACE = re.compile(r"^(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|\.([A-Za-z0-9_]+)")
# Outside of strings: addresses such as the system program's are digits too.
_LONG_NUMBER = re.compile(rb"[\[:,\s-][0-9]{20}")
_GOT = re.compile(r"^Expected `(?P<expected>[^`]+)`, got `(?P<got>[^`]+)`$")
_LENGTH = re.compile(r"^Expected `(?P<kind>\w+)` of length (?P<bound>[<>]=)? ?(?P<length>\d+)")
_BOUNDS = {None: "", "<=": "at most ", ">=": "at least "}
_UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)


class Config(NodeStruct, frozen=True, kw_only=True, rename="camel"):
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
        # Of a hash the node says no more than this.
        raise ValueError(problem if kind is Hash else f"Invalid param: {problem}") from None


class ParamsReader:
    """Reads the params array of one method: the parameters after the first, in order.

    An annotation that msgspec cannot read, or an integer that may be negative, raises TypeError
    here, so at import. `as_node`: the method is the standard node's, whose forms and words it
    follows.
    """

    def __init__(self, function: Callable[..., Any], *, as_node: bool = False) -> None:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.names = [parameter.name for parameter in parameters]
        self.types = [hints[name] for name in self.names]
        for name, kind in zip(self.names, self.types, strict=True):
            if _may_be_negative(kind):
                raise TypeError(f"{function.__name__}: `{name}` may be negative: U64 is a slot")
        self.defaults = [parameter.default for parameter in parameters]
        self.required = sum(p.default is inspect.Parameter.empty for p in parameters)
        self._as_node = as_node
        # A node's method without optional params does not take null for an empty array.
        self._may_be_null = not as_node or not self.names or self.required < len(self.names)
        fields: list[Any] = [
            (name, kind) if position < self.required else (name, kind | None, None)
            for position, (name, kind) in enumerate(zip(self.names, self.types, strict=True))
        ]
        shape = msgspec.defstruct(
            f"{function.__name__}_params", fields, array_like=True, forbid_unknown_fields=True
        )
        self._decode = msgspec.json.Decoder(shape, dec_hook=read_base58).decode
        self._shape = shape
        self._read_types = [field[1] for field in fields]

    def read(self, raw: bytes) -> list[Any]:
        """The arguments, defaults filled in; raises InvalidParams."""
        record: Any
        try:
            record = self._decode(b"[]" if raw == b"null" and self._may_be_null else raw)
        except _UNREADABLE as error:
            record = self._read_as_node(raw) if self._as_node else None
            if record is None:
                raise self._explain(raw, error) from None
        else:
            if _LONG_NUMBER.search(raw) and not (self._as_node and self._read_as_node(raw)):
                _refuse_above_u64(msgspec.json.decode(raw))
        arguments = []
        for name, default in zip(self.names, self.defaults, strict=True):
            value = getattr(record, name)
            if value is None and default is not inspect.Parameter.empty:
                value = default
            arguments.append(value)
        return arguments

    def _read_as_node(self, raw: bytes) -> Any:
        """What the node makes of params in an unusual form; None where the usual words will do.
        Raises InvalidParams.
        """
        try:
            values = msgspec.json.decode(raw)
            found = self._understood(values)
        except node_params.Refused as refused:
            members = {"at": refused.at, "found": refused.reason}
            data = {name: text for name, text in members.items() if text}
            raise InvalidParams(f"Invalid params: {refused.text}.", **data) from None
        except (node_params.Unknown, *_UNREADABLE):
            return None
        for position, (value, kind) in enumerate(zip(found, self._read_types, strict=False)):
            # In their order, for what the types alone do not say: keys, and our own limits.
            try:
                msgspec.convert(value, kind, dec_hook=read_base58)
            except _UNREADABLE as problem:
                raise _as_the_node(str(problem), value, self.types[position], position) from None
        return msgspec.convert(found, self._shape, dec_hook=read_base58)

    def _understood(self, values: Any) -> list[Any]:
        """Raises InvalidParams, Refused, Unknown."""
        if not isinstance(values, list | dict | None):
            raise node_params.Unknown
        count, most = len(values or ()), len(self.names)
        if not most:
            raise InvalidParams("Invalid parameters: No parameters were expected", maximum=0)
        if self.required == most:
            return node_params.a_tuple(values, self.types)
        if not isinstance(values, list | None):
            raise InvalidParams("`params` should be an array")
        if self.required <= count <= most:
            return [
                node_params.understood(value, kind, f"[{position}]")
                for position, (value, kind) in enumerate(
                    zip(values or (), self._read_types, strict=False)
                )
            ]
        raise node_params.Unknown

    def _explain(self, raw: bytes, error: Exception) -> InvalidParams:
        try:
            values = msgspec.json.decode(raw) or []
            pieces = msgspec.json.decode(raw, type=list[msgspec.Raw] | None) or []
        except _UNREADABLE:
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
                msgspec.json.decode(piece, type=self._read_types[position], dec_hook=read_base58)
            except _UNREADABLE as problem:
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
        except _UNREADABLE:
            return name
    return ""


def _node_text(text: str, place: Any, kind: Any) -> str:
    if text.startswith(("Invalid param: ", "Invalid params: ")) or text in ("Invalid", "WrongSize"):
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
    if (match := _LENGTH.match(text)) and isinstance(place, str | list | dict):
        expected = f"{_expected(match['kind'])} of {_BOUNDS[match['bound']]}{match['length']}"
        return f"Invalid params: invalid length {len(place)}, expected {expected}."
    if match := _GOT.match(text):
        found = match["got"] if place is _Missing.MISSING else describe(place)
        return f"Invalid params: invalid type: {found}, expected {_expected(match['expected'])}."
    return f"Invalid params: {text}."


def _int_word(text: str) -> str:
    _, is_above, most = text.partition("<= ")
    least = text.partition(">= ")[2]
    if is_above:
        return "u8" if most == "255" else f"at most {most}"
    return f"at least {least}" if least not in ("", "0") else "u64"


def _may_be_negative(kind: Any) -> bool:
    """Only int itself is looked at: msgspec would read all fields of another class."""
    if isinstance(kind, type) and kind is not int:
        return False
    info = msgspec.inspect.type_info(kind)
    return isinstance(info, msgspec.inspect.IntType) and info.ge is None


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
