"""explain: one transaction in words and figures."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import takewhile
from typing import Any

from chain.blocks import CURRENT_FORM
from chain.explained import errors, programs
from chain.explained.calls import FailedCall, failed_call
from chain.explained.funding import RentShortfall, Shortfall, rent_shortfall, shortfall
from chain.explained.instructions import (
    Call,
    Idls,
    calls_of,
    decode,
    flat,
    known_name,
    program_name,
)
from chain.explained.limits import settings_in_words, settings_of_entry, want_of_settings
from chain.explained.movements import Fees, Transfer, fees_of, transfers_of
from chain.explained.sentences import (
    ProgramError,
    program_error,
    sentence_of,
    sentence_of_tokens,
)
from chain.parsed.transactions import parsed_accounts
from chain.transaction_error_text import transaction_error_text
from chain.transaction_json import all_keys
from chain.transaction_settings import Settings

Entry = dict[str, Any]
# Members of instructions that name accounts with data.
_HAS_DATA = frozenset(
    {
        "account",
        "mint",
        "source",
        "destination",
        "stakeAccount",
        "voteAccount",
        "lookupTableAccount",
        "programAccount",
        "programDataAccount",
        "bufferAccount",
    }
)
_MAKES = frozenset({"newAccount", "newSplitAccount", "account", "mint", "destination"})


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
    Of `calls` the first `ran` ran, the failed one included; 0 if that is not known. `transfers` are
    those of calls that ran, rolled back if it failed. `settings` are None where today's rules
    cannot read them. `idls` are those of its programs.
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
        if self.settings is None:
            return ()
        return settings_in_words(self.settings, self.fees.priority)


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
    error = None if call is None else program_error(call, idls)
    failed = None if call is None else _failed(call, idls)
    ran = 0 if entry.get("meta") is None else _ran(err, len(calls), meta)
    did = (
        each for each in flat(calls[:ran]) if failed is None or each.number != failed.instruction
    )
    return Explanation(
        sentence=""
        if err is None
        else want_of_settings(err, settings)
        or sentence_of_tokens(call, keys, meta)
        or sentence_of(err, call, keys, error)
        + _missing(err, failed, flat(calls[:ran]), keys, meta),
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
    return sentence_of(err, None)


def _short(
    call: FailedCall | None, err: Any, instructions: list[Entry], keys: list[str], meta: Entry
) -> Shortfall | RentShortfall | None:
    if call is not None:
        return shortfall(call, instructions, keys, meta)
    rent = err.get("InsufficientFundsForRent") if isinstance(err, dict) else None
    index = None if rent is None else rent.get("account_index")
    return None if index is None else rent_shortfall(index, instructions, keys, meta)


def _missing(
    err: Any,
    failed: FailedInstruction | None,
    calls: Iterable[Call],
    keys: list[str],
    meta: Entry,
) -> str:
    """The accounts of the failed call that do not exist, if it failed for what they are."""
    if failed is None or not errors.is_about_accounts(err, failed.program_id):
        return ""
    before = dict(zip(keys, meta.get("preBalances") or [], strict=False))
    made = {
        value
        for each in takewhile(lambda each: each.number != failed.instruction, calls)
        for name, value in (each.decoded.info or {}).items()
        if name in _MAKES
    }
    return "".join(
        f" Its {name} {value} does not exist."
        for name, value in failed.details
        if name in _HAS_DATA and before.get(value) == 0 and value not in made
    )


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
