"""explain: one transaction in words and figures."""

from dataclasses import dataclass
from typing import Any

from chain.explained import programs
from chain.explained.calls import FailedCall, failed_call
from chain.explained.funding import RentShortfall, Shortfall, rent_shortfall, shortfall
from chain.explained.instructions import all_keys, decode, program_name, sol
from chain.explained.limits import settings_in_words, settings_of_entry, want_of_settings
from chain.transaction_error_text import transaction_error_text

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FailedInstruction:
    """The instruction that failed first. `number` counts from 1; `inner` is its number among the
    calls of that instruction, None if it is the instruction itself. `details` are its decoded
    members; `data` is base58 where it could not be decoded. `logs` are the lines of the
    transaction's instruction up to the failure.
    """

    number: int
    inner: int | None
    program_id: str
    program: str
    kind: str
    details: tuple[tuple[str, str], ...]
    accounts: tuple[str, ...]
    data: str
    logs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Balance:
    """Lamports of an account before and after the transaction."""

    pubkey: str
    before: int
    after: int

    @property
    def change(self) -> int:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class TokenBalance:
    """Tokens of an account before and after, in the mint's decimals; "0" where it had none."""

    pubkey: str
    mint: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a transaction came to. `sentence` and `technical` are empty where it succeeded; lamports
    in `fee`, compute units in `units_used` and `units_asked` (None: not recorded, or none asked).
    `short` has the figures of an error for want of lamports, where they are known. `settings` are
    names and values of what it asked for, of version 1 also that it asked for no units or no size.
    """

    sentence: str
    technical: str
    failed: FailedInstruction | None
    balances: tuple[Balance, ...]
    tokens: tuple[TokenBalance, ...]
    fee: int | None
    units_used: int | None
    units_asked: int | None
    short: Shortfall | RentShortfall | None
    settings: tuple[tuple[str, str], ...]


def explain(entry: Entry) -> Explanation:
    """Explains a transaction as getTransaction returns it in the encoding `json`. Never raises for
    one that the ledger decoded, whatever its error.
    """
    meta = entry.get("meta") or {}
    message = entry["transaction"]["message"]
    keys = all_keys(entry)
    err = meta.get("err")
    call = None if err is None else failed_call(message["instructions"], keys, meta)
    settings = settings_of_entry(entry)
    return Explanation(
        sentence=""
        if err is None
        else want_of_settings(err, settings)
        or _of_tokens(call, keys, meta)
        or _sentence(err, call, keys),
        technical="" if err is None else transaction_error_text(err),
        failed=None if call is None else _failed(call),
        balances=tuple(
            Balance(key, before, after)
            for key, before, after in zip(
                keys, meta.get("preBalances") or [], meta.get("postBalances") or [], strict=False
            )
        ),
        tokens=_tokens(keys, meta),
        fee=meta.get("fee"),
        units_used=meta.get("computeUnitsConsumed"),
        units_asked=None if settings is None else settings.asked.compute_unit_limit,
        short=_short(call, err, message["instructions"], keys, meta),
        settings=() if settings is None else settings_in_words(settings),
    )


def explain_error(err: Any) -> str:
    """The error alone in words, for a transaction that the ledger does not have."""
    return _sentence(err, None)


def _short(
    call: FailedCall | None, err: Any, instructions: list[Entry], keys: list[str], meta: Entry
) -> Shortfall | RentShortfall | None:
    if call is not None:
        return shortfall(call, instructions, keys, meta)
    rent = err.get("InsufficientFundsForRent") if isinstance(err, dict) else None
    index = None if rent is None else rent.get("account_index")
    return None if index is None else rent_shortfall(index, instructions, keys, meta)


def _sentence(err: Any, call: FailedCall | None, keys: list[str] | None = None) -> str:
    if isinstance(err, str):
        return programs.WHOLE.get(err) or f"{transaction_error_text(err).rstrip('.')}."
    ((name, value),) = err.items()
    index = value.get("account_index") if isinstance(value, dict) else None
    if name == "InsufficientFundsForRent" and keys and index is not None and index < len(keys):
        return (
            f"The account {keys[index]} would be left with too few lamports to be rent-exempt:"
            " leave it more, or nothing at all."
        )
    if name != "InstructionError":
        return programs.WHOLE.get(name) or f"{transaction_error_text(err).rstrip('.')}."
    problem = value[1]
    if call is not None:
        said = _of_log(call)
        if said:
            return said
    if isinstance(problem, dict) and "Custom" in problem:
        code = problem["Custom"]
        known = programs.CUSTOM.get(call.program_id, {}) if call is not None else {}
        if code in known:
            return known[code]
        whose = "The program" if call is None else program_name(call.program_id)
        return (
            f"{whose} returned its own error {code} ({code:#x}): see the program's documentation."
        )
    if problem == "ProgramFailedToComplete" and call is not None and _used_all_units(call):
        problem = "ComputationalBudgetExceeded"
    named = programs.NAMED.get(problem) if isinstance(problem, str) else None
    text = transaction_error_text(err).partition(": ")[2]  # without the instruction's index
    return named or f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _used_all_units(call: FailedCall) -> bool:
    """A program that uses its last unit ends with an error that says no more than that it ended."""
    ended = f"Program {call.program_id} failed: {programs.NO_UNITS_LEFT}"
    return any(line.startswith(ended) for line in call.logs)


def _of_tokens(call: FailedCall | None, keys: list[str], meta: Entry) -> str:
    """A transfer of more tokens than the account had; empty for anything else."""
    if call is None or call.program_id not in (programs.TOKEN, programs.TOKEN_2022):
        return ""
    if meta["err"]["InstructionError"][1] != {"Custom": programs.TOO_FEW_TOKENS}:
        return ""
    decoded = decode(call.program_id, list(call.accounts), call.data)
    members = dict(decoded.details)
    held = next(
        (
            each["uiTokenAmount"]
            for each in meta.get("preTokenBalances") or ()
            if each["accountIndex"] < len(keys)
            and keys[each["accountIndex"]] == members.get("source")
        ),
        None,
    )
    amount = members.get("tokenAmount") or members.get("amount")
    if held is None or amount is None or not decoded.kind.startswith("transfer"):
        return ""
    had = held.get("uiAmountString" if "tokenAmount" in members else "amount")
    if had is None:
        return ""
    return f"Transfer of {amount} tokens; the account had {had} before the transaction."


def _of_log(call: FailedCall) -> str:
    """The last log line that says more than the code."""
    for line in reversed(call.own_logs):
        for words in programs.LOG_LINES:
            found = words.pattern.match(line) if words.program == call.program_id else None
            if found is not None:
                return words.text.format_map(
                    {
                        name: sol(int(text)) if name in words.lamports else text
                        for name, text in found.groupdict().items()
                    }
                )
    return ""


def _failed(call: FailedCall) -> FailedInstruction:
    decoded = decode(call.program_id, list(call.accounts), call.data)
    return FailedInstruction(
        number=call.index + 1,
        inner=call.inner,
        program_id=call.program_id,
        program=program_name(call.program_id),
        kind=decoded.kind,
        details=decoded.details,
        accounts=() if decoded.kind else call.accounts,
        data=decoded.data,
        logs=call.logs,
    )


def _tokens(keys: list[str], meta: Entry) -> tuple[TokenBalance, ...]:
    before = {each["accountIndex"]: each for each in meta.get("preTokenBalances") or []}
    after = {each["accountIndex"]: each for each in meta.get("postTokenBalances") or []}
    return tuple(
        TokenBalance(
            keys[index],
            (after.get(index) or before[index])["mint"],
            _amount(before.get(index)),
            _amount(after.get(index)),
        )
        for index in sorted({*before, *after})
        if index < len(keys)
    )


def _amount(balance: Entry | None) -> str:
    return "0" if balance is None else str(balance["uiTokenAmount"]["uiAmountString"])
