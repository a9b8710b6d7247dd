"""A replay's outcome, compared with what the chain recorded."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from simulator.run import LOAD_ERRORS

Meta = dict[str, Any]
Differing = tuple[str, Any, Any]

TOKEN_BALANCES = frozenset({"preTokenBalances", "postTokenBalances"})
_CUT = "Log truncated"
_INNER = "innerInstructions"


def empty_before(transaction: VersionedTransaction, meta: Meta) -> Iterator[Pubkey]:
    """The accounts that the transaction named and that were not there: what has no lamports."""
    balances = balances_before(transaction, meta)
    return (key for key, lamports in balances.items() if lamports == 0)


def balances_before(transaction: VersionedTransaction, meta: Meta) -> dict[Pubkey, int]:
    """The lamports of the accounts that the transaction named."""
    keys = named_keys(transaction, meta)
    return dict(zip(keys, meta.get("preBalances") or (), strict=False))


def called_programs(transaction: VersionedTransaction, meta: Meta) -> set[Pubkey]:
    """The programs that it called, and those that these called, as far as the metadata show."""
    keys = named_keys(transaction, meta)
    inner = [
        each for group in meta.get("innerInstructions") or () for each in group["instructions"]
    ]
    indexes = {each.program_id_index for each in transaction.message.instructions}
    indexes |= {each["programIdIndex"] for each in inner}
    return {keys[index] for index in indexes if index < len(keys)}


def named_keys(transaction: VersionedTransaction, meta: Meta) -> list[Pubkey]:
    """Its static keys, and those that it looked up."""
    loaded = meta.get("loadedAddresses") or {}
    looked_up = [*loaded.get("writable", ()), *loaded.get("readonly", ())]
    return [*transaction.message.account_keys, *map(Pubkey.from_string, looked_up)]


def meta_differences(recorded: Meta, found: Meta) -> list[Differing]:
    """(field, recorded, found) of each field that the record has and that came out otherwise."""
    differing: list[Differing] = []
    for name, shown_as, form in _FIELDS:
        if recorded.get(name) is None and name != "err":
            continue
        expected, got = form(recorded.get(name)), form(found.get(name))
        if name in _LESS_DETAIL:
            expected, got = _LESS_DETAIL[name](expected, got)
        if expected != got:
            differing.append((shown_as, expected, got))
    return differing


def is_full(recorded: Meta) -> bool:
    """Whether all that a simulation answers can be held against the record. A transaction that was
    not loaded paid its fee and has nothing else to record.
    """
    if isinstance(error := recorded.get("err"), str) and error in LOAD_ERRORS:
        return recorded.get("computeUnitsConsumed") is not None
    logs = recorded.get("logMessages")
    is_recorded = (recorded.get(name) is not None for name in ("computeUnitsConsumed", _INNER))
    return logs is not None and _CUT not in logs and all(is_recorded)


def account_form(account: Account | None) -> dict[str, Any]:
    """What of an account is compared; a closed one has nothing."""
    if account is None or account.lamports == 0:
        return {"lamports": 0}
    data = account.data
    return {
        "lamports": account.lamports,
        "owner": str(account.owner),
        "space": len(data),
        "dataHash": sha256(data).hexdigest(),
    }


def _as_it_is(value: Any) -> Any:
    return value


def _error(err: Any) -> Any:
    """As today's node writes it: this one had a text of its own before."""
    match err:
        case {"InstructionError": [index, {"BorshIoError": _}]}:
            return {"InstructionError": [index, "BorshIoError"]}
    return err


def _amounts(balances: Any) -> Any:
    """Each token account's amount; its floating point form follows from it."""
    return [
        {
            "accountIndex": each["accountIndex"],
            "mint": each["mint"],
            "amount": each["uiTokenAmount"]["amount"],
            "decimals": each["uiTokenAmount"]["decimals"],
            **{name: each[name] for name in ("owner", "programId") if each.get(name)},
        }
        for each in sorted(balances or (), key=lambda each: each["accountIndex"])
    ]


def _groups(groups: Any) -> Any:
    return [
        {
            "index": group["index"],
            "instructions": [
                {
                    "programIdIndex": each["programIdIndex"],
                    "accounts": list(each["accounts"]),
                    "data": each["data"],
                    "stackHeight": each.get("stackHeight"),
                }
                for each in group["instructions"]
            ],
        }
        for group in groups or ()
        if group["instructions"]
    ]


def _without_heights(recorded: Any, found: Any) -> tuple[Any, Any]:
    """Old records have no stack heights: then they are not compared."""
    for known, got in zip(recorded, found, strict=False):
        for one, other in zip(known["instructions"], got["instructions"], strict=False):
            if one["stackHeight"] is None:
                other["stackHeight"] = None
    return recorded, found


def _without_owners(recorded: Any, found: Any) -> tuple[Any, Any]:
    """Nor have old token balances owners or programs."""
    for known, got in zip(recorded, found, strict=False):
        for name in ("owner", "programId"):
            if name not in known:
                got.pop(name, None)
    return recorded, found


def _uncut(recorded: list[str], found: list[str] | None) -> tuple[list[str], list[str]]:
    """Both up to where the first of them was cut: how much a node keeps is its own affair."""
    found = found or []
    if recorded == found:
        return recorded, found
    ends = [logs.index(_CUT) for logs in (recorded, found) if _CUT in logs]
    if not ends:
        return recorded, found
    return recorded[: min(ends)], found[: min(ends)]


_FIELDS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("err", "err", _error),
    ("fee", "fee", _as_it_is),
    ("computeUnitsConsumed", "computeUnitsConsumed", _as_it_is),
    ("logMessages", "logs", _as_it_is),
    ("innerInstructions", "innerInstructions", _groups),
    ("returnData", "returnData", _as_it_is),
    ("preBalances", "preBalances", _as_it_is),
    ("postBalances", "postBalances", _as_it_is),
    ("preTokenBalances", "preTokenBalances", _amounts),
    ("postTokenBalances", "postTokenBalances", _amounts),
    ("loadedAddresses", "loadedAddresses", _as_it_is),
]

# How what the record does not have is left out on both sides.
_LESS_DETAIL: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "logMessages": _uncut,
    "innerInstructions": _without_heights,
    "preTokenBalances": _without_owners,
    "postTokenBalances": _without_owners,
}
