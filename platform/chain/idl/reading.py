"""read_idl: an IDL of Anchor's, of today's form (0.30 and newer) or an older one, or of Shank's or
Codama's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct
from solders.pubkey import Pubkey

from chain.idl.codama import as_anchor, is_codama
from chain.idl.types import BadIdl, Reader, Types, Values
from chain.parsed.cursor import UnreadableError

# The largest ones of mainnet's programs have half of it.
MOST_BYTES = 1_048_576
_MESSAGE = 500
# In front of an event that a program logs by calling itself.
_EVENT_TAG = bytes.fromhex("e445a52e51cb9a1d")

# A text column cannot hold a NUL.
_Name = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"\A[^\0]*\Z")]
_Discriminator = Annotated[list[Annotated[int, Meta(ge=0, le=255)]], Meta(max_length=32)]
_SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


class _Account(Struct):
    name: _Name
    accounts: list["_Account"] | None = None


class _Field(Struct):
    name: _Name
    type: Any


class _Discriminant(Struct):
    type: str
    value: Annotated[int, Meta(ge=0)]


class _Instruction(Struct):
    name: _Name
    args: list[_Field] = []
    accounts: list[_Account] = []
    discriminator: _Discriminator | None = None
    discriminant: _Discriminant | None = None


class _Definition(Struct):
    name: _Name
    type: Any = None
    generics: Any = None
    serialization: Any = None
    repr: Any = None
    discriminator: _Discriminator | None = None


class _Event(Struct):
    name: _Name
    fields: Any = None
    discriminator: _Discriminator | None = None


class _Error(Struct):
    code: Annotated[int, Meta(ge=0, le=2**32 - 1)]
    name: _Name
    msg: str | None = None


class _Metadata(Struct):
    name: _Name | None = None
    version: _Name | None = None
    address: str | None = None


class _Idl(Struct):
    instructions: list[_Instruction]
    name: _Name | None = None
    version: _Name | None = None
    address: str | None = None
    metadata: _Metadata | None = None
    types: list[_Definition] | None = None
    accounts: list[_Definition] | None = None
    events: list[_Event] | None = None
    errors: list[_Error] | None = None


class IdlError(NamedTuple):
    """A program's error, as its IDL calls it; the message may be empty."""

    name: str
    message: str


class IdlCall(NamedTuple):
    """An instruction or an event, its arguments by name, and the names of its accounts in order.
    Arguments that the data ends before are left out; of unreadable data there are none, and
    `is_whole` is False.
    """

    name: str
    arguments: dict[str, Any]
    accounts: tuple[str, ...]
    is_whole: bool
    is_event: bool = False


class IdlAccount(NamedTuple):
    """An account's type and its members by name. Members that the data ends before are left out;
    of unreadable data there are none, and `is_whole` is False.
    """

    name: str
    members: dict[str, Any]
    is_whole: bool


class _Known(NamedTuple):
    name: str
    arguments: list[tuple[str, Reader]]
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Idl:
    """An IDL that was read. `address` is the program that it says it is of, where it does."""

    name: str
    version: str
    address: Pubkey | None
    errors: Mapping[int, IdlError]
    _instructions: Mapping[bytes, _Known]
    _events: Mapping[bytes, _Known]
    _accounts: Mapping[bytes, _Known]

    def call(self, data: bytes) -> IdlCall | None:
        """What an instruction's data says; None for one that the IDL does not have."""
        is_event = data.startswith(_EVENT_TAG)
        begin = len(_EVENT_TAG) if is_event else 0
        found = _read(self._events if is_event else self._instructions, data, begin)
        if found is None:
            return None
        known, arguments, is_whole = found
        return IdlCall(known.name, arguments, known.accounts, is_whole, is_event)

    def account(self, data: bytes) -> IdlAccount | None:
        """What the data of one of the program's accounts says; None for one that the IDL does not
        have.
        """
        found = _read(self._accounts, data, 0)
        return None if found is None else IdlAccount(found[0].name, found[1], found[2])


def _read(
    among: Mapping[bytes, _Known], data: bytes, begin: int
) -> tuple[_Known, dict[str, Any], bool] | None:
    """What the data from `begin` on is, its members, and whether they could be read."""
    keys = (key for key in among if data.startswith(key, begin))
    key = max(keys, key=len, default=None)
    if key is None:
        return None
    known = among[key]
    values, found = Values(data, begin + len(key)), {}
    try:
        for name, read in known.arguments:
            if values.at == len(data):
                break  # newer versions of a program append members
            found[name] = read(values)
    except UnreadableError:
        return known, {}, False
    return known, found, True


def read_idl(text: bytes) -> Idl:
    """Raises BadIdl for anything else, and for types that it does not define."""
    if len(text) > MOST_BYTES:
        raise BadIdl(f"it has more than {MOST_BYTES:,} bytes")
    try:
        document = msgspec.json.decode(text)
        if is_codama(document):
            document = as_anchor(document)
        found = msgspec.convert(document, _Idl)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadIdl(str(error)) from None
    types = Types(
        {each.name: each for each in (*(found.accounts or ()), *(found.types or ())) if each.type}
    )
    try:
        return _idl(found, types)
    except RecursionError:
        raise BadIdl("its types are nested too deep") from None


def _idl(found: _Idl, types: Types) -> Idl:
    metadata = found.metadata or _Metadata()
    address = found.address or metadata.address
    for name, definition in types.definitions.items():
        if not definition.generics:
            types.named(name)
    instructions: dict[bytes, _Known] = {}
    for each in found.instructions:
        arguments = [(one.name, types.reader(one.type)) for one in each.args]
        known = _Known(each.name, arguments, tuple(_names(each.accounts, "", 0)))
        instructions.setdefault(_discriminator(each), known)
    events = {
        bytes(each.discriminator or _hash("event", each.name)): _Known(
            each.name, types.arguments(each.name if each.fields is None else each.fields)
        )
        for each in found.events or ()
    }
    accounts = {
        bytes(each.discriminator or _hash("account", each.name)): _Known(
            each.name, types.arguments(each.name)
        )
        for each in found.accounts or ()
        if each.name in types.definitions
    }
    if b"" in instructions or b"" in events:
        raise BadIdl("an instruction or an event has an empty discriminator")
    return Idl(
        name=metadata.name or found.name or "",
        version=metadata.version or found.version or "",
        address=_pubkey(address),
        errors={
            each.code: IdlError(each.name, (each.msg or "")[:_MESSAGE])
            for each in found.errors or ()
        },
        _instructions=instructions,
        _events=events,
        _accounts=accounts,
    )


def _names(accounts: list[_Account], before: str, depth: int) -> list[str]:
    """Of the accounts in order; those of a group follow its name and a point."""
    if depth > 8:
        raise BadIdl("its groups of accounts are nested too deep")
    found = []
    for each in accounts:
        if each.accounts is None:
            found.append(f"{before}{each.name}")
        else:
            found += _names(each.accounts, f"{before}{each.name}.", depth + 1)
    return found


def _discriminator(instruction: _Instruction) -> bytes:
    if instruction.discriminator is not None:
        return bytes(instruction.discriminator)
    shank = instruction.discriminant
    if shank is None:
        return _hash("global", _snake_case(instruction.name))
    try:
        return shank.value.to_bytes(_SIZES[shank.type], "little")
    except (KeyError, OverflowError):
        raise BadIdl("unknown discriminant") from None


def _hash(space: str, name: str) -> bytes:
    return sha256(f"{space}:{name}".encode()).digest()[:8]


def _snake_case(name: str) -> str:
    """As Anchor has the names of Rust functions that older IDLs have in camelCase."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _pubkey(text: str | None) -> Pubkey | None:
    if not text:
        return None
    try:
        return Pubkey.from_string(text)
    except ValueError:
        raise BadIdl("its address is not a pubkey") from None
