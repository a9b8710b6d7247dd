"""A stored TransactionStatusMeta (protobuf), as the standard node's JSON has it."""

import math
import sys
from typing import Any

from solders.pubkey import Pubkey

from chain.encodings import b58encode, b64encode
from chain.transaction_errors import UnknownTransactionError, transaction_error_json
from upstream.archives.errors import Unreadable

# By their numbers in a Reward message.
REWARD_TYPES = (None, "Fee", "Rent", "Staking", "Voting", "DeactivatedStake", "VATDebit")


def meta_json(meta: Any) -> dict[str, Any]:
    """The `meta` member of a transaction in getBlock, from a TransactionStatusMeta message."""
    err = _error(meta.err) if meta.HasField("err") else None
    answer: dict[str, Any] = {
        "err": err,
        "status": {"Ok": None} if err is None else {"Err": err},
        "fee": meta.fee,
        "preBalances": list(meta.pre_balances),
        "postBalances": list(meta.post_balances),
        "innerInstructions": None
        if meta.inner_instructions_none
        else [_inner(each) for each in meta.inner_instructions],
        "logMessages": None if meta.log_messages_none else list(meta.log_messages),
        "preTokenBalances": [
            _token_balance(each, "meta.preTokenBalances") for each in meta.pre_token_balances
        ],
        "postTokenBalances": [
            _token_balance(each, "meta.postTokenBalances") for each in meta.post_token_balances
        ],
        "rewards": [reward_json(each) for each in meta.rewards],
        "loadedAddresses": {
            "writable": _addresses(meta.loaded_writable_addresses),
            "readonly": _addresses(meta.loaded_readonly_addresses),
        },
    }
    if not meta.return_data_none and meta.HasField("return_data"):
        returned = meta.return_data
        answer["returnData"] = {
            "programId": _address(returned.program_id, "meta.returnData.programId"),
            "data": [b64encode(returned.data), "base64"],
        }
    if meta.HasField("compute_units_consumed"):
        answer["computeUnitsConsumed"] = meta.compute_units_consumed
    if meta.HasField("cost_units"):
        answer["costUnits"] = meta.cost_units
    return answer


def loaded_keys(meta: Any) -> list[bytes]:
    """The loaded addresses, writable ones first."""
    return [*meta.loaded_writable_addresses, *meta.loaded_readonly_addresses]


def was_recorded(meta: Any) -> bool:
    """False for the empty meta that stands where an early ledger had none at all: every
    transaction has a fee payer, so a recorded one has balances.
    """
    return bool(
        meta.pre_balances
        or meta.post_balances
        or meta.fee
        or meta.HasField("err")
        or not meta.inner_instructions_none
        or not meta.log_messages_none
    )


def reward_json(reward: Any) -> dict[str, Any]:
    """One member of `rewards`, from a Reward message."""
    kind = reward.reward_type
    answer = {
        "pubkey": reward.pubkey,
        "lamports": reward.lamports,
        "postBalance": reward.post_balance,
        "rewardType": REWARD_TYPES[kind] if 0 <= kind < len(REWARD_TYPES) else None,
        "commission": _small_number(reward.commission, 0xFF),
    }
    if reward.commission_bps:
        answer["commissionBps"] = _small_number(reward.commission_bps, 0xFFFF)
    return answer


def rewards_of(message: Any) -> tuple[list[dict[str, Any]], int | None]:
    """The rewards, and in how many partitions they are paid."""
    partitions = (
        message.num_partitions.num_partitions if message.HasField("num_partitions") else None
    )
    return [reward_json(each) for each in message.rewards], partitions


def _error(error: Any) -> str | dict[str, Any]:
    try:
        return transaction_error_json(error.err)
    except UnknownTransactionError as unknown:
        raise Unreadable("meta.err", str(unknown)) from None


def _inner(inner: Any) -> dict[str, Any]:
    return {
        "index": _u8(inner.index, "meta.innerInstructions.index"),
        "instructions": [
            {
                "programIdIndex": _u8(each.program_id_index, "meta.innerInstructions"),
                "accounts": list(each.accounts),
                "data": b58encode(each.data),
                "stackHeight": each.stack_height if each.HasField("stack_height") else None,
            }
            for each in inner.instructions
        ],
    }


def _token_balance(balance: Any, place: str) -> dict[str, Any]:
    amount = balance.ui_token_amount
    ui_amount = amount.ui_amount
    decimals = _u8(amount.decimals, place)
    answer = {
        "accountIndex": _u8(balance.account_index, place),
        "mint": balance.mint,
        "uiTokenAmount": {
            # Protobuf does not distinguish none from zero, and the node treats both as none.
            "uiAmount": ui_amount
            if abs(ui_amount) > sys.float_info.epsilon and math.isfinite(ui_amount)
            else None,
            "decimals": decimals,
            "amount": amount.amount,
            "uiAmountString": amount.ui_amount_string or _decimal(amount.amount, decimals),
        },
    }
    if balance.owner:
        answer["owner"] = balance.owner
    if balance.program_id:
        answer["programId"] = balance.program_id
    return answer


def _decimal(amount: str, decimals: int) -> str:
    """The amount with its decimal point and without trailing zeros; 0 where it is no u64."""
    value = _small_number(amount, 2**64 - 1) or 0
    if decimals == 0:
        return str(value)
    digits = str(value).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".")


def _small_number(text: str, most: int) -> int | None:
    if len(text) > 20 or not text.isascii() or not text.isdecimal():
        return None
    value = int(text)
    return value if value <= most else None


def _u8(value: int, place: str) -> int:
    if value > 0xFF:
        raise Unreadable(place, f"{value} is more than an index can be")
    return value


def _addresses(keys: Any) -> list[str]:
    return [_address(key, "meta.loadedAddresses") for key in keys]


def _address(key: bytes, place: str) -> str:
    if len(key) != 32:
        raise Unreadable(place, f"{len(key)} bytes instead of 32")
    return str(Pubkey.from_bytes(key))
