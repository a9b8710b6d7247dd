"""explain: one transaction in words and figures."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from chain.blocks import CURRENT_FORM
from chain.explained import programs
from chain.explained.calls import FailedCall, failed_call
from chain.explained.funding import RentShortfall, Shortfall, rent_shortfall, shortfall
from chain.explained.instructions import (
    Call,
    Idls,
    all_keys,
    calls_of,
    decode,
    flat,
    known_name,
    program_name,
    sol,
)
from chain.explained.limits import settings_in_words, settings_of_entry, want_of_settings
from chain.explained.movements import Fees, Transfer, fees_of, transfers_of
from chain.parsed.transactions import parsed_accounts
from chain.transaction_error_text import transaction_error_text
from chain.transaction_settings import Settings

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FailedInstruction:
    """The instruction that failed first. `number` counts from 1; `inner` is its number among the
    calls of that instruction, None if it is the instruction itself. `details` are its decoded
    members; `data` is base58 where it could not be decoded, and then `accounts` are its accounts.
    `logs` are the lines of the transaction's instruction up to the failure.
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

    @property
    def instruction(self) -> str:
        """Its number among the calls: 2 or 2.1."""
        return str(self.number) if self.inner is None else f"{self.number}.{self.inner}"


@dataclass(frozen=True, slots=True)
class ProgramError:
    """A program's own error, as its log or its IDL calls it. `account` is the one that it is about,
    by its name in the instruction, where the log says so.
    """

    code: int
    name: str
    message: str
    account: str | None = None


@dataclass(frozen=True, slots=True)
class NamedAccount:
    """An account of the transaction; the name is None for an unknown one."""

    pubkey: str
    name: str | None
    signer: bool
    writable: bool
    source: str


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
    owner: str | None
    decimals: int | None

    @property
    def change(self) -> str | None:
        """None where a record has no number."""
        try:
            return f"{(Decimal(self.after) - Decimal(self.before)).normalize():f}"
        except InvalidOperation:
            return None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a transaction came to. `sentence` and `technical` are empty where it succeeded; compute
    units in `units_used` and `units_asked` (None: not recorded, or none asked). `short` has the
    figures of an error for want of lamports, where they are known; `error` is a program's own.
    Of `calls` the first `ran` ran, the failed one included; `transfers` are those of calls that
    ran, rolled back if it failed. `settings` are None where today's rules cannot read them. `idls`
    are those of its programs.
    """

    sentence: str
    technical: str
    failed: FailedInstruction | None
    error: ProgramError | None
    calls: tuple[Call, ...]
    ran: int
    accounts: tuple[NamedAccount, ...]
    transfers: tuple[Transfer, ...]
    balances: tuple[Balance, ...]
    tokens: tuple[TokenBalance, ...]
    fees: Fees
    units_used: int | None
    units_asked: int | None
    short: Shortfall | RentShortfall | None
    settings: Settings | None
    idls: Idls

    @property
    def settings_in_words(self) -> tuple[tuple[str, str], ...]:
        """Names and values, of version 1 also that it asked for no units or no size."""
        return () if self.settings is None else settings_in_words(self.settings)


def explain(entry: Entry, idls: Idls | None = None) -> Explanation:
    """Explains a transaction as getTransaction returns it in the encoding `json`, with the IDLs of
    its programs by their ids. Never raises for one that the ledger decoded, whatever its error.
    """
    idls = idls or {}
    meta = entry.get("meta") or {}
    message = entry["transaction"]["message"]
    keys = all_keys(entry)
    err = meta.get("err")
    call = None if err is None else failed_call(message["instructions"], keys, meta)
    settings = settings_of_entry(entry)
    calls = calls_of(entry, idls)
    error = None if call is None else _program_error(err, call, idls)
    failed = None if call is None else _failed(call, idls)
    ran = _ran(err, len(calls), meta)
    did = (
        each for each in flat(calls[:ran]) if failed is None or each.number != failed.instruction
    )
    return Explanation(
        sentence=""
        if err is None
        else want_of_settings(err, settings)
        or _of_tokens(call, keys, meta)
        or _sentence(err, call, keys, error),
        technical="" if err is None else transaction_error_text(err),
        failed=failed,
        error=error,
        calls=calls,
        ran=ran,
        accounts=tuple(
            NamedAccount(
                pubkey=each["pubkey"],
                name=_name(each["pubkey"], idls),
                signer=each["signer"],
                writable=each["writable"],
                source=each["source"],
            )
            for each in parsed_accounts({**entry, "meta": meta}, CURRENT_FORM)
        ),
        transfers=tuple(transfers_of(did, keys, meta)),
        balances=tuple(
            Balance(key, before, after)
            for key, before, after in zip(
                keys, meta.get("preBalances") or [], meta.get("postBalances") or [], strict=False
            )
        ),
        tokens=_tokens(keys, meta),
        fees=fees_of(entry, keys, settings),
        units_used=meta.get("computeUnitsConsumed"),
        units_asked=None if settings is None else settings.asked.compute_unit_limit,
        short=_short(call, err, message["instructions"], keys, meta),
        settings=settings,
        idls=idls,
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


def _ran(err: Any, count: int, meta: Entry) -> int:
    """How many instructions ran: none follows one that fails, and none runs where only the fee was
    taken; such a transaction has no log.
    """
    if isinstance(err, dict) and "InstructionError" in err:
        return min(int(err["InstructionError"][0]) + 1, count)
    return count if err is None or meta.get("logMessages") else 0


def _name(pubkey: str, idls: Idls) -> str | None:
    if pubkey in programs.JITO_TIP_ACCOUNTS:
        return "Jito tip account"
    return programs.KNOWN_ACCOUNTS.get(pubkey) or known_name(pubkey, idls)


def _program_error(err: Any, call: FailedCall, idls: Idls) -> ProgramError | None:
    """Of a program that has no table here: what its own log says, or else its IDL."""
    problem = err["InstructionError"][1]
    code = problem.get("Custom") if isinstance(problem, dict) else None
    if code is None or call.program_id in programs.CUSTOM:
        return None
    for line in reversed(call.own_logs):
        said = programs.ANCHOR_ERROR.match(line)
        if said is not None and int(said["code"]) == code:
            return ProgramError(code, said["name"], said["message"], said["account"])
    known = idls.get(call.program_id)
    named = None if known is None else known.idl.errors.get(code)
    return None if named is None else ProgramError(code, named.name, named.message)


def _sentence(
    err: Any,
    call: FailedCall | None,
    keys: list[str] | None = None,
    error: ProgramError | None = None,
) -> str:
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
    if error is not None:
        about = f" about its account {error.account}" if error.account else ""
        words = f"“{error.message}” ({error.name}, {error.code})" if error.message else error.name
        return f"The program's own error{about}: {words}."
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


def _failed(call: FailedCall, idls: Idls) -> FailedInstruction:
    known = idls.get(call.program_id)
    decoded = decode(
        call.program_id, list(call.accounts), call.data, None if known is None else known.idl
    )
    names = tuple(zip(decoded.names, call.accounts, strict=False))
    return FailedInstruction(
        number=call.index + 1,
        inner=call.inner,
        program_id=call.program_id,
        program=known_name(call.program_id, idls) or program_name(call.program_id),
        kind=decoded.kind,
        details=(*decoded.details, *names),
        accounts=() if decoded.kind else call.accounts,
        data="" if decoded.info is not None else call.data,
        logs=call.logs,
    )


def _tokens(keys: list[str], meta: Entry) -> tuple[TokenBalance, ...]:
    before = {each["accountIndex"]: each for each in meta.get("preTokenBalances") or []}
    after = {each["accountIndex"]: each for each in meta.get("postTokenBalances") or []}
    found = []
    for index in sorted({*before, *after}):
        if index < len(keys):
            known = after.get(index) or before[index]
            found.append(
                TokenBalance(
                    pubkey=keys[index],
                    mint=known["mint"],
                    before=_amount(before.get(index)),
                    after=_amount(after.get(index)),
                    owner=known.get("owner"),
                    decimals=known["uiTokenAmount"].get("decimals"),
                )
            )
    return tuple(found)


def _amount(balance: Entry | None) -> str:
    return "0" if balance is None else str(balance["uiTokenAmount"]["uiAmountString"])
