"""An explanation of a transaction for templates/explained.html, in the portal and the admin."""

from dataclasses import replace
from typing import Any

from solders.signature import Signature

from chain.explained.instructions import sol
from chain.explained.transactions import (
    Balance,
    Explanation,
    FailedInstruction,
    TokenBalance,
    explain_error,
)
from chain.shown_text import escaped, escaped_lines
from jsonrpc.errors import RpcError
from rewind.admin.shortfalls import shortfall_text
from rewind.services.explaining import explained
from staff.formatting import grouped, shortened, with_sol

_NOT_IN_LEDGER = (
    "The ledger of this service does not have this transaction or its status: there are no"
    " instructions, log lines or balances to show."
)

# Accounts of an instruction, and its members.
_MOST_ROWS = 256


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
    return {
        "missing": "",
        "sentence": escaped(found.sentence),
        "shortfall": shortfall_text(found.short, tip_address=tip_address),
        "technical": escaped(found.technical),
        "failed": shown_failure(found.failed),
        "fee": with_sol(found.fees.total, "not recorded"),
        "tip": _tip(tip_lamports, failed=bool(found.technical)) if is_submission else "",
        "units": _units(found),
        "settings": found.settings_in_words,
        "balances": [_balance(each) for each in found.balances],
        "tokens": [_token(each) for each in found.tokens],
    }


def shown_failure(failed: FailedInstruction | None) -> FailedInstruction | None:
    """With the texts of the program and of the transaction as a page shows them, none of them long:
    a ledger file may have what no cluster would take.
    """
    if failed is None:
        return None
    details = [(name, escaped(value)) for name, value in failed.details]
    return replace(
        failed,
        details=tuple(details[:_MOST_ROWS]),
        accounts=failed.accounts[:_MOST_ROWS],
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


def _balance(each: Balance) -> dict[str, Any]:
    change = "0" if not each.change else f"{'+' if each.change > 0 else ''}{sol(each.change)}"
    return {
        "pubkey": shortened(each.pubkey),
        "before": sol(each.before),
        "after": sol(each.after),
        "change": change,
    }


def _token(each: TokenBalance) -> dict[str, Any]:
    return {
        "pubkey": shortened(each.pubkey),
        "mint": shortened(each.mint),
        "before": each.before,
        "after": each.after,
    }
