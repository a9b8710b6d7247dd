"""failed_call: the call that failed first, found by the transaction's log."""

import re
from dataclasses import dataclass
from typing import Any

from chain.explained.programs import PRECOMPILES

Entry = dict[str, Any]
_INVOKE = re.compile(r"^Program (?P<program>\w{32,44}) invoke \[(?P<depth>\d{1,4})\]$")
_END = re.compile(
    r"^Program (?P<program>\w{32,44}) (?P<how>success$|failed: )"
    r"(?:custom program error: 0x(?P<code>[0-9a-f]{1,8})$)?"
)


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call by the index of its top-level instruction; `inner` counts the calls of that one from
    1, None for itself. `data` is base58. `logs` are all lines of the top-level instruction,
    `own_logs` those that the failed call wrote itself. `own_code` is its own custom error, None if
    it has none; a program of old could return another one than the one that it called.
    """

    index: int
    inner: int | None
    program_id: str
    accounts: tuple[str, ...]
    data: str
    logs: tuple[str, ...]
    own_logs: tuple[str, ...]
    own_code: int | None


@dataclass(slots=True)
class _Open:
    number: int  # among the calls of its top-level instruction; 0 is itself
    program: str
    lines: list[str]
    code: int | None = None


def failed_call(instructions: list[Entry], keys: list[str], meta: Entry) -> FailedCall | None:
    """None where no instruction failed or the error names one that is not there. The innermost call
    is named where the log has it and agrees with the record; else the top-level instruction.
    """
    err = meta.get("err")
    value = err.get("InstructionError") if isinstance(err, dict) else None
    if value is None or value[0] >= len(instructions):
        return None
    index = value[0]
    instruction = instructions[index]
    logs = _lines_of(index, instructions, keys, meta.get("logMessages") or [])
    found = _innermost(logs)
    inner = None
    if found is not None and found.number > 0:
        calls = _calls_of(index, meta)
        if found.number <= len(calls):
            called = calls[found.number - 1]
            if _program(called, keys) == found.program:
                inner, instruction = found.number, called
    agrees = found is not None and (inner is not None or found.number == 0)
    problem = value[1]
    code = problem.get("Custom") if isinstance(problem, dict) else None
    if agrees and found is not None and (inner is not None or found.code is not None):
        code = found.code
    return FailedCall(
        index=index,
        inner=inner,
        program_id=_program(instruction, keys),
        accounts=tuple(keys[at] for at in _indexes(instruction) if at < len(keys)),
        data=instruction["data"],
        logs=tuple(logs),
        own_logs=tuple(found.lines) if agrees and found is not None else (),
        own_code=code,
    )


def depths_by_log(
    index: int, instructions: list[Entry], inner: list[Entry], keys: list[str], meta: Entry
) -> list[int] | None:
    """How deep each inner call ran, by the log, where nodes recorded no heights; None if the log
    does not have the same calls.
    """
    lines = map(_INVOKE.match, _lines_of(index, instructions, keys, meta.get("logMessages") or []))
    found = [(each["program"], int(each["depth"])) for each in lines if each is not None][1:]
    programs = [each for each in (_program(one, keys) for one in inner) if each not in PRECOMPILES]
    if len(programs) < len(inner) or [program for program, _ in found] != programs:
        return None
    return [depth for _, depth in found]


def _lines_of(
    index: int, instructions: list[Entry], keys: list[str], lines: list[str]
) -> list[str]:
    """The lines of one top-level instruction: precompiles write none."""
    if _program(instructions[index], keys) in PRECOMPILES:
        return []
    wanted = sum(_program(each, keys) not in PRECOMPILES for each in instructions[:index])
    at = -1
    found = []
    for line in lines:
        invoked = _INVOKE.match(line)
        if invoked is not None and invoked["depth"] == "1":
            at += 1
        if at == wanted:
            found.append(line)
    return found


def _innermost(lines: list[str]) -> _Open | None:
    """The call whose end is the first failure."""
    stack: list[_Open] = []
    number = -1
    for line in lines:
        invoked = _INVOKE.match(line)
        if invoked is not None:
            number += 1
            stack.append(_Open(number, invoked["program"], []))
            continue
        if not stack:
            continue
        ended = _END.match(line)
        if ended is None or ended["program"] != stack[-1].program:
            stack[-1].lines.append(line)
        elif ended["how"].startswith("failed"):
            stack[-1].code = None if ended["code"] is None else int(ended["code"], 16)
            return stack[-1]
        else:
            stack.pop()
    return None


def _calls_of(index: int, meta: Entry) -> list[Entry]:
    for each in meta.get("innerInstructions") or []:
        if each["index"] == index:
            return list(each["instructions"])
    return []


def _program(instruction: Entry, keys: list[str]) -> str:
    index = instruction["programIdIndex"]
    return keys[index] if index < len(keys) else ""


def _indexes(instruction: Entry) -> list[int]:
    return list(instruction["accounts"])
