"""A transaction's instructions and inner calls, decoded and nested."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from chain.encodings import b58decode
from chain.explained import programs
from chain.explained.calls import depths_by_log
from chain.explained.natives import NATIVE_PROGRAMS, parse_native
from chain.idl.reading import Idl
from chain.parsed.instructions import PARSED_PROGRAMS, parse_instruction
from chain.transaction_json import all_keys

Entry = dict[str, Any]
# No cluster has nested calls deeper than 9 (SIMD-0268); a ledger file may say anything.
_DEEPEST = 16
# Members that are an amount in a token's smallest unit. Other text of digits may be an id.
_AMOUNTS = frozenset({"amount", "supply", "maximumFee"})
# Of a token's amount; the longest one has 20 digits. A ledger file may say anything.
_NUMBER = re.compile(r"([+-]?)([0-9]{1,40})((?:\.[0-9]*)?)")
# Who says what an instruction means: this service, or an IDL.
DecodedBy: TypeAlias = Literal["program", "idl"]
IdlSource: TypeAlias = Literal["uploaded", "anchor", "programMetadata"]


class KnownIdl(NamedTuple):
    """An IDL of a program and where it is from; `slot` is the first one of an uploaded one."""

    idl: Idl
    source: IdlSource
    slot: int | None


Idls: TypeAlias = Mapping[str, KnownIdl]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The kind of an instruction and its members as JSON; empty where its program is not known.
    `names` are those of its accounts in order, as far as an IDL has them.
    """

    kind: str = ""
    info: Mapping[str, Any] | None = None
    names: tuple[str, ...] = ()
    by: DecodedBy | None = None
    is_event: bool = False

    @property
    def details(self) -> tuple[tuple[str, str], ...]:
        """The members in words; those of a member follow its name and a point."""
        return tuple(_members("", self.info or {}))


@dataclass(frozen=True, slots=True)
class CallAccount:
    """An account of an instruction, and what an IDL calls it there."""

    pubkey: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """An instruction, or an inner call. `number` is that of the transaction's instruction, from 1,
    and of its call in the order in which they ran: 2 or 2.1. `data` is base58. `inner` are the
    calls that it made itself.
    """

    number: str
    depth: int
    program_id: str
    program: str | None
    decoded: Decoded
    accounts: tuple[CallAccount, ...]
    data: str
    inner: tuple["Call", ...] = ()


def unknown_programs(entry: Entry) -> set[str]:
    """The programs that it calls, itself or by others, and that only an IDL can read."""
    keys = all_keys(entry)
    groups = (entry.get("meta") or {}).get("innerInstructions") or ()
    calls = chain(
        entry["transaction"]["message"]["instructions"],
        *(each["instructions"] for each in groups),
    )
    called = {each["programIdIndex"] for each in calls}
    return {keys[at] for at in called if at < len(keys)} - PARSED_PROGRAMS - NATIVE_PROGRAMS


def calls_of(entry: Entry, idls: Idls | None = None) -> tuple[Call, ...]:
    """The transaction's instructions, with every call that was recorded of them."""
    keys, meta = all_keys(entry), entry.get("meta") or {}
    groups = {each["index"]: each["instructions"] for each in meta.get("innerInstructions") or ()}
    instructions = entry["transaction"]["message"]["instructions"]
    found = []
    for index, instruction in enumerate(instructions):
        inner = groups.get(index, [])
        depths: list[int | None] = [each.get("stackHeight") for each in inner]
        if None in depths:
            depths = [*(depths_by_log(index, instructions, inner, keys, meta) or [2] * len(inner))]
        calls = [_call(str(index + 1), 1, instruction, keys, idls or {})]
        for number, (each, depth) in enumerate(zip(inner, depths, strict=True), 1):
            depth = min(depth or 2, _DEEPEST)
            calls.append(_call(f"{index + 1}.{number}", depth, each, keys, idls or {}))
        found.append(_nested(calls))
    return tuple(found)


def flat(calls: Iterable[Call]) -> Iterator[Call]:
    """Each call and those that it made, in the order in which they ran."""
    for each in calls:
        yield each
        yield from flat(each.inner)


def decode(program_id: str, accounts: list[str], data: str, idl: Idl | None = None) -> Decoded:
    """`data` is base58. Never raises for an instruction that the ledger has."""
    raw = b58decode(data)
    parsed = parse_instruction(program_id, accounts, raw)
    if parsed is not None:
        body = parsed["parsed"]
        if isinstance(body, str):
            return Decoded("memo", {"text": body}, by="program")
        return Decoded(body["type"], body.get("info") or {}, by="program")
    native = parse_native(program_id, accounts, raw)
    if native is not None:
        return Decoded(native[0], native[1] or {}, by="program")
    found = None if idl is None else idl.call(raw)
    if found is None:
        return Decoded()
    info = found.arguments if found.is_whole else None
    return Decoded(found.name, info, found.accounts, "idl", found.is_event)


def known_name(program_id: str, idls: Idls) -> str | None:
    """Of a program: this service's, or else that of an uploaded IDL. On chain any program may call
    itself by another's name.
    """
    known = idls.get(program_id)
    uploaded = known.idl.name if known is not None and known.source == "uploaded" else ""
    return programs.NAMES.get(program_id) or uploaded or None


def program_name(program_id: str) -> str:
    return programs.NAMES.get(program_id, "Program")


def sol(lamports: int) -> str:
    """Lamports as SOL, exact: 1,000 or 1.099995."""
    return with_separators(units(lamports, 9))


def with_separators(number: str) -> str:
    """A decimal number as people read it: 1,234.5 for 1234.5. Other text stays as it is."""
    found = _NUMBER.fullmatch(number)
    return number if found is None else f"{found[1]}{int(found[2]):,}{found[3]}"


def units(amount: int, decimals: int) -> str:
    """An amount of the smallest unit with its point: exact, without zeros at the end."""
    text = str(abs(amount)).rjust(decimals + 1, "0")
    whole, rest = text[: len(text) - decimals], text[len(text) - decimals :].rstrip("0")
    return f"{'-' if amount < 0 else ''}{whole}{'.' if rest else ''}{rest}"


def _call(number: str, depth: int, instruction: Entry, keys: list[str], idls: Idls) -> Call:
    at = instruction["programIdIndex"]
    program_id = keys[at] if at < len(keys) else ""
    accounts = [keys[index] for index in instruction["accounts"] if index < len(keys)]
    known = idls.get(program_id)
    decoded = decode(program_id, accounts, instruction["data"], known.idl if known else None)
    names = dict(enumerate(decoded.names))
    return Call(
        number=number,
        depth=depth,
        program_id=program_id,
        program=known_name(program_id, idls),
        decoded=decoded,
        accounts=tuple(CallAccount(key, names.get(n)) for n, key in enumerate(accounts)),
        data=instruction["data"],
    )


def _nested(calls: list[Call]) -> Call:
    """The first one, with those behind it where their depths put them."""
    first, rest = calls[0], calls[1:]
    inner: list[Call] = []
    at = 0
    while at < len(rest):
        # A call's own are those behind it that run deeper.
        end = at + 1
        while end < len(rest) and rest[end].depth > rest[at].depth:
            end += 1
        inner.append(_nested(rest[at:end]))
        at = end
    return replace(first, inner=tuple(inner)) if inner else first


def _members(before: str, info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in info.items():
        if isinstance(value, dict) and value and "uiAmountString" not in value:
            yield from _members(f"{before}{name}.", value)
        else:
            yield before + name, _member(name, value)


def _member(name: str, value: Any) -> str:
    if name == "lamports" and isinstance(value, int):
        return f"{value:,} ({sol(value)} SOL)"
    if isinstance(value, dict) and "uiAmountString" in value:
        return with_separators(str(value["uiAmountString"]))
    if name in _AMOUNTS:
        return with_separators(str(value))
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    if isinstance(value, (dict, list)):
        return msgspec.json.encode(value).decode()
    return str(value)
