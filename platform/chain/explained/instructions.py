"""An instruction in words: its program, its kind and its decoded members."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chain.encodings import b58decode
from chain.explained import programs
from chain.parsed.instructions import parse_instruction

Entry = dict[str, Any]
_LAMPORTS_PER_SOL = 10**9
_BUDGET = {
    1: ("requestHeapFrame", "bytes", 4),
    2: ("setComputeUnitLimit", "units", 4),
    3: ("setComputeUnitPrice", "microLamports", 8),
    4: ("setLoadedAccountsDataSizeLimit", "bytes", 4),
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """The kind of an instruction and its members; empty where its program is not known, and then
    `data` is its data in base58.
    """

    kind: str
    details: tuple[tuple[str, str], ...]
    data: str


@dataclass(frozen=True, slots=True)
class CalledProgram:
    """One call of a transaction, in the order in which they ran. `number` is that of the
    transaction's instruction, from 1, and of its inner call: 2 or 2.1.
    """

    number: str
    depth: int
    program_id: str
    program: str
    kind: str


def all_keys(entry: Entry) -> list[str]:
    """The keys that a transaction names, then those that it looked up: writable, then read-only.
    The entry is as getTransaction returns it in the encoding `json`.
    """
    loaded = (entry.get("meta") or {}).get("loadedAddresses") or {}
    return [
        *entry["transaction"]["message"]["accountKeys"],
        *(loaded.get("writable") or []),
        *(loaded.get("readonly") or []),
    ]


def calls_of(entry: Entry) -> Iterator[CalledProgram]:
    """Every call that was recorded of the transaction, instructions and inner calls."""
    keys = all_keys(entry)
    inner = {
        group["index"]: group["instructions"]
        for group in (entry.get("meta") or {}).get("innerInstructions") or ()
    }
    for index, instruction in enumerate(entry["transaction"]["message"]["instructions"]):
        yield _call(str(index + 1), 1, instruction, keys)
        for number, each in enumerate(inner.get(index, ()), 1):
            yield _call(f"{index + 1}.{number}", each.get("stackHeight") or 2, each, keys)


def decode(program_id: str, accounts: list[str], data: str) -> Decoded:
    """`data` is base58. Never raises for an instruction that the ledger has."""
    raw = b58decode(data)
    parsed = (
        _budget(raw)
        if program_id == programs.COMPUTE_BUDGET
        else parse_instruction(program_id, accounts, raw)
    )
    if parsed is None:
        return Decoded("", (), data)
    body = parsed["parsed"]
    if isinstance(body, str):
        return Decoded("memo", (("text", body),), "")
    members = (body.get("info") or {}).items()
    return Decoded(body["type"], tuple((name, _member(name, value)) for name, value in members), "")


def program_name(program_id: str) -> str:
    return programs.NAMES.get(program_id, "Program")


def sol(lamports: int) -> str:
    """Lamports as SOL, exact: 1,000 or 1.099995."""
    whole, rest = divmod(abs(lamports), _LAMPORTS_PER_SOL)
    digits = f"{rest:09d}".rstrip("0")
    return f"{'-' if lamports < 0 else ''}{whole:,}{'.' if digits else ''}{digits}"


def _call(number: str, depth: int, instruction: Entry, keys: list[str]) -> CalledProgram:
    at = instruction["programIdIndex"]
    program_id = keys[at] if at < len(keys) else ""
    accounts = [keys[index] for index in instruction["accounts"] if index < len(keys)]
    return CalledProgram(
        number=number,
        depth=depth,
        program_id=program_id,
        program=program_name(program_id),
        kind=decode(program_id, accounts, instruction["data"]).kind,
    )


def _member(name: str, value: Any) -> str:
    if name == "lamports" and isinstance(value, int):
        return f"{value:,} ({sol(value)} SOL)"
    if isinstance(value, dict) and "uiAmountString" in value:
        return str(value["uiAmountString"])
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _budget(data: bytes) -> Entry | None:
    known = _BUDGET.get(data[0]) if data else None
    if known is None or len(data) < 1 + known[2]:
        return None
    kind, member, size = known
    value = int.from_bytes(data[1 : 1 + size], "little")
    return {"program": "compute-budget", "parsed": {"type": kind, "info": {member: value}}}
