"""An explanation of a transaction for templates/explained.html, in the portal and the admin."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.utils.html import format_html
from solders.signature import Signature

from chain.explained.instructions import (
    Call,
    CallAccount,
    KnownIdl,
    flat,
    sol,
    with_separators,
)
from chain.explained.movements import Fees, Tip, Transfer
from chain.explained.transactions import (
    Balance,
    Explanation,
    FailedInstruction,
    TokenBalance,
    explain_error,
)
from chain.shown_text import escaped, escaped_lines
from jsonrpc.errors import RpcError
from rewind.explained.admin.shortfalls import shortfall_text
from rewind.explained.services.explaining import explained
from staff.formatting import grouped, shortened, with_sol

_NOT_IN_LEDGER = (
    "The ledger of this service does not have this transaction or its status: there are no"
    " instructions, log lines or balances to show."
)

# Accounts of an instruction, and its members; calls, transfers.
MOST_ROWS = 256
_RECEIVERS = {"service": "this service", "jito": "Jito"}


def explained_of(
    signature: Signature,
    *,
    err: Any,
    tip_lamports: int | None,
    tip_address: str | None = None,
    in_block: bool,
    is_submission: bool = True,
) -> dict[str, Any] | None:
    """None for a transaction that is in no block: there is nothing to explain. `err` and the tip
    are the submission's, for what the ledger does not have; of a transaction that is none of ours
    no tip is known.
    """
    if not in_block:
        return None
    try:
        read = explained(signature)
        why = _NOT_IN_LEDGER
    except RpcError as refusal:  # the rest of the page does not depend on it
        read = None
        why = f"The ledger could not be read: {refusal}"
    if read is None or read.entry["meta"] is None:
        return {
            "missing": why,
            "sentence": "" if err is None else explain_error(err),
            "tip": _tip(tip_lamports, failed=err is not None) if is_submission else "",
        }
    found = read.explanation
    names = {each.pubkey: escaped(each.name) for each in found.accounts if each.name}
    return {
        "missing": "",
        "sentence": escaped(found.sentence),
        "shortfall": shortfall_text(found.short, tip_address=tip_address),
        "technical": escaped(found.technical),
        "failed": shown_failure(found.failed),
        "fee": _fee(found.fees),
        "tip": _tip(tip_lamports, failed=bool(found.technical))
        if is_submission
        else _tips(read.tips, failed=bool(found.technical)),
        "units": _units(found),
        "settings": found.settings_in_words,
        "calls": _calls(found),
        "transfers": [_transfer(each, names) for each in found.transfers[:MOST_ROWS]],
        "balances": [_balance(each, names) for each in found.balances],
        "tokens": [_token(each, names) for each in found.tokens],
        "idls": [
            {"program": shortened(program), "name": idl_name(known)}
            for program, known in found.idls.items()
        ],
    }


def idl_name(known: KnownIdl) -> str:
    """What an IDL calls itself, and where it is from."""
    name = f"{known.idl.name} {known.idl.version}".strip()
    return f"{escaped(name)}, {'uploaded' if known.source == 'uploaded' else 'on chain'}"


def shown_failure(failed: FailedInstruction | None) -> FailedInstruction | None:
    """With the texts of the program and of the transaction as a page shows them, none of them long:
    a ledger file may have what no cluster would take.
    """
    if failed is None:
        return None
    details = [(name, escaped(value)) for name, value in failed.details]
    return replace(
        failed,
        details=tuple(details[:MOST_ROWS]),
        accounts=failed.accounts[:MOST_ROWS],
        data=escaped(failed.data),
        logs=tuple(escaped_lines(failed.logs)),
    )


def _tip(amount: int | None, *, failed: bool) -> str:
    if amount is None:
        return "none"
    text = with_sol(amount)
    return f"{text}: rolled back, not paid, because the transaction failed" if failed else text


def _units(found: Explanation) -> str:
    if found.units_used is None:
        return "not recorded"
    if found.units_asked is None:
        return f"{grouped(found.units_used)} used; no limit was asked for"
    return f"{grouped(found.units_used)} used of {grouped(found.units_asked)} asked for"


def _fee(fees: Fees) -> str:
    total = with_sol(fees.total, "not recorded")
    if not fees.priority:
        return total
    return f"{total}, of it {grouped(fees.base)} base and {grouped(fees.priority)} priority"


def _tips(tips: Sequence[Tip], *, failed: bool) -> str:
    texts = [f"{with_sol(each.lamports)} to {_RECEIVERS[each.receiver]}" for each in tips]
    return "; ".join(texts) + (": rolled back" if texts and failed else "")


def _calls(found: Explanation) -> list[dict[str, Any]]:
    shown = {each.number for each in [*flat(found.calls)][:MOST_ROWS]}
    failed = "" if found.failed is None else found.failed.instruction

    def one(call: Call, ran: bool) -> dict[str, Any]:
        decoded = call.decoded
        program = escaped(call.program or "Program")
        return {
            "number": call.number,
            "program": program if call.program else f"{program} {call.program_id[:8]}…",
            "program_id": call.program_id,
            "kind": escaped(decoded.kind) + (" (event)" if decoded.is_event else ""),
            "state": "failed" if call.number == failed else "" if ran else "did not run",
            "details": [
                (escaped(name), escaped(value)) for name, value in decoded.details[:MOST_ROWS]
            ],
            "accounts": [
                (escaped(each.name or f"Account {number}"), _account(each, call))
                for number, each in enumerate(call.accounts[:MOST_ROWS], 1)
            ]
            if decoded.by != "program"
            else [],
            "data": escaped(call.data) if decoded.info is None else "",
            "inner": [one(each, ran) for each in call.inner if each.number in shown],
        }

    return [
        one(each, index < found.ran)
        for index, each in enumerate(found.calls)
        if each.number in shown
    ]


def _account(each: CallAccount, call: Call) -> str:
    """Programs of Anchor are given their own address for an optional account that is left out."""
    is_left_out = each.pubkey == call.program_id and each.name not in (None, "program")
    return "none" if is_left_out else each.pubkey


def _transfer(each: Transfer, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "instruction": each.instruction,
        "kind": each.kind,
        "source": _named(each.source, names),
        "destination": _named(each.destination, names),
        "amount": escaped(
            with_separators(each.ui_amount)
            if each.ui_amount
            else f"{with_separators(each.amount)} of the smallest unit"
        ),
        "mint": "SOL"
        if each.mint is None and each.decimals is not None
        else _named(each.mint, names),
    }


def _named(pubkey: str | None, names: Mapping[str, str]) -> object:
    if pubkey is None:
        return "-"
    name = names.get(pubkey)
    return format_html("{} {}", shortened(pubkey), name) if name else shortened(pubkey)


def _balance(each: Balance, names: Mapping[str, str]) -> dict[str, Any]:
    change = "0" if not each.change else f"{'+' if each.change > 0 else ''}{sol(each.change)}"
    return {
        "pubkey": _named(each.pubkey, names),
        "before": sol(each.before),
        "after": sol(each.after),
        "change": change,
    }


def _token(each: TokenBalance, names: Mapping[str, str]) -> dict[str, Any]:
    change = with_separators(each.change or "-")
    return {
        "pubkey": _named(each.pubkey, names),
        "mint": _named(each.mint, names),
        "before": escaped(with_separators(each.before)),
        "after": escaped(with_separators(each.after)),
        "change": change if change == "0" or change.startswith("-") else f"+{change}",
    }
