"""A transaction of encoding `json` in the form of a current node."""

from typing import Any

from chain.parsed.amounts import ui_amount

Entry = dict[str, Any]

# Members that are in every meta, in their order; null if the source did not have one.
_ALWAYS = (
    "err",
    "status",
    "fee",
    "preBalances",
    "postBalances",
    "innerInstructions",
    "logMessages",
    "preTokenBalances",
    "postTokenBalances",
    "rewards",
    "loadedAddresses",
)


def in_current_form(entry: Entry) -> Entry:
    """`{meta, transaction, version}` with the members of current nodes. Members that an older node
    did not record are null, such as the stack heights of inner instructions.
    """
    transaction = entry["transaction"]
    message = transaction["message"]
    instructions = [{**each, "stackHeight": 1} for each in message["instructions"]]
    return {
        "meta": None if entry["meta"] is None else _meta(entry["meta"]),
        "transaction": {**transaction, "message": {**message, "instructions": instructions}},
        "version": entry["version"],
    }


def _meta(meta: Entry) -> Entry:
    err = meta.get("err")
    known = {
        "status": {"Ok": None} if err is None else {"Err": err},
        # A node that wrote no loaded addresses knew no transactions that load any.
        "loadedAddresses": {"writable": [], "readonly": []},
        **meta,
    }
    current: Entry = {name: known.get(name) for name in _ALWAYS} | known
    for name, rewritten in (
        ("innerInstructions", _inner),
        ("preTokenBalances", _token_balance),
        ("postTokenBalances", _token_balance),
    ):
        if current[name]:
            current[name] = [rewritten(each) for each in current[name]]
    return current


def _inner(group: Entry) -> Entry:
    instructions = [
        {**each, "stackHeight": each.get("stackHeight")} for each in group["instructions"]
    ]
    return {**group, "instructions": instructions}


def _token_balance(balance: Entry) -> Entry:
    amount = balance.get("uiTokenAmount")
    if not isinstance(amount, dict) or "uiAmountString" in amount:
        return balance
    raw, decimals = str(amount.get("amount")), amount.get("decimals")
    if not raw.isdecimal() or type(decimals) is not int or not 0 <= decimals <= 0xFF:
        return balance
    text = ui_amount(int(raw), decimals)["uiAmountString"]
    return {**balance, "uiTokenAmount": {**amount, "uiAmountString": text}}
