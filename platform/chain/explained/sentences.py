"""Why a transaction failed, in a sentence."""

from dataclasses import dataclass
from typing import Any

from chain.explained import errors, programs
from chain.explained.calls import FailedCall
from chain.explained.instructions import Idls, decode, sol, units, with_separators
from chain.transaction_error_text import transaction_error_text

Entry = dict[str, Any]
# Of a program's log, in a sentence.
_LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class ProgramError:
    """A program's own error, as its log or its IDL calls it. `account` is the one that it is about,
    by its name in the instruction, where the log says so.
    """

    code: int
    name: str
    message: str
    account: str | None = None


def program_error(call: FailedCall, idls: Idls) -> ProgramError | None:
    """Of a program that has no table here: what its own log says, or else its IDL."""
    code = call.own_code
    if code is None or call.program_id in errors.CUSTOM:
        return None
    for line in reversed(call.own_logs):
        said = errors.ANCHOR_ERROR.match(line)
        if said is not None and int(said["code"]) == code:
            return ProgramError(code, said["name"], said["message"], said["account"])
    known = idls.get(call.program_id)
    named = None if known is None else known.idl.errors.get(code)
    return None if named is None else ProgramError(code, named.name, named.message)


def sentence_of(
    err: Any,
    call: FailedCall | None,
    keys: list[str] | None = None,
    error: ProgramError | None = None,
) -> str:
    """What an error means, with what is known of the call that failed. Never empty."""
    if isinstance(err, str):
        return errors.WHOLE.get(err) or f"{transaction_error_text(err).rstrip('.')}."
    ((name, value),) = err.items()
    index = value.get("account_index") if isinstance(value, dict) else None
    if name == "InsufficientFundsForRent" and keys and index is not None and index < len(keys):
        return (
            f"The account {keys[index]} would be left with too few lamports to be rent-exempt:"
            " leave it more, or nothing at all."
        )
    if name != "InstructionError":
        return errors.WHOLE.get(name) or f"{transaction_error_text(err).rstrip('.')}."
    problem = value[1]
    if call is None:
        return _of_problem(err, problem, None)
    said = _of_log(call)
    if said:
        return said
    if call.own_code is None:
        return _of_problem(err, problem, call)
    sentence = _of_code(call.own_code, call, error)
    if problem == {"Custom": call.own_code}:
        return sentence
    return f"{sentence} The program that called it returned another error: {_text(err)}."


def _of_code(code: int, call: FailedCall, error: ProgramError | None) -> str:
    """A program's own error."""
    if error is not None:
        about = f" about its account {error.account}" if error.account else ""
        words = f"“{error.message}” ({error.name}, {error.code})" if error.message else error.name
        return f"The program's own error{about}: {words}."
    known = errors.CUSTOM.get(call.program_id, {}).get(code)
    whose = programs.NAMES.get(call.program_id) or f"The program {call.program_id}"
    return known or f"{whose} returned its own error {code} ({code:#x}){_last_words(call)}."


def _of_problem(err: Any, problem: Any, call: FailedCall | None) -> str:
    """An error that every program may return."""
    if isinstance(problem, dict) and "Custom" in problem:
        return f"The program returned its own error {problem['Custom']} ({problem['Custom']:#x})."
    if problem == "ProgramFailedToComplete" and call is not None and _used_all_units(call):
        problem = "ComputationalBudgetExceeded"
    if not isinstance(problem, str):
        return f"{_text(err)}."
    own = None if call is None else errors.NAMED_BY.get((call.program_id, problem))
    if own is not None:
        return own
    named = errors.NAMED.get(problem) or f"{_text(err)}."
    words = "" if call is None else _last_words(call)
    return f"{named[:-1]}{words}." if words else named


def _text(err: Any) -> str:
    """The node's words, without the instruction's index and the point."""
    text = transaction_error_text(err).partition(": ")[2]
    return f"{text[:1].upper()}{text[1:].rstrip('.')}"


def _last_words(call: FailedCall) -> str:
    """What the failed call logged last, if it says more than the error."""
    for line in reversed(call.own_logs):
        if not errors.SAYS_NOTHING.match(line):
            text = line.removeprefix("Program log: ").removeprefix("Error: ").strip().rstrip(".")
            return f": it logged “{text[:_LONGEST_WORDS]}”"
    return ""


def _used_all_units(call: FailedCall) -> bool:
    """A program that uses its last unit ends with an error that says no more than that it ended."""
    ended = f"Program {call.program_id} failed: {errors.NO_UNITS_LEFT}"
    return any(line.startswith(ended) for line in call.logs)


def sentence_of_tokens(call: FailedCall | None, keys: list[str], meta: Entry) -> str:
    """A transfer of more tokens than the account had; empty for anything else."""
    if call is None or call.program_id not in (programs.TOKEN, programs.TOKEN_2022):
        return ""
    if call.own_code != errors.TOO_FEW_TOKENS:
        return ""
    decoded = decode(call.program_id, list(call.accounts), call.data)
    members = decoded.info or {}
    held = next(
        (
            each["uiTokenAmount"]
            for each in meta.get("preTokenBalances") or ()
            if each["accountIndex"] < len(keys)
            and keys[each["accountIndex"]] == members.get("source")
        ),
        None,
    )
    if held is None or not decoded.kind.startswith("transfer"):
        return ""
    had, amount = held.get("uiAmountString"), members.get("tokenAmount", {}).get("uiAmountString")
    if amount is None and "amount" in members and held.get("decimals") is not None:
        amount = units(int(members["amount"]), held["decimals"])
    if had is None or amount is None:
        return ""
    return (
        f"Transfer of {with_separators(amount)} tokens;"
        f" the account had {with_separators(had)} before the transaction."
    )


def _of_log(call: FailedCall) -> str:
    """The last log line that says more than the code."""
    for line in reversed(call.own_logs):
        for words in errors.LOG_LINES:
            found = words.pattern.match(line) if words.program == call.program_id else None
            if found is not None:
                return words.text.format_map(
                    {
                        name: sol(int(text)) if name in words.lamports else text
                        for name, text in found.groupdict().items()
                    }
                )
    return ""
