"""A transaction and its status meta as the protobuf messages that validators store and stream."""

from typing import Any

from solders.pubkey import Pubkey

from chain.encodings import b58decode, b64decode
from chain.transaction_errors import transaction_error_bytes
from chain.transactions import Wire
from upstream.archives.status_meta import REWARD_TYPES
from upstream.protobuf import confirmed_block_pb2 as schema


def fill_transaction(message: Any, wire: Wire) -> None:
    """Put the transaction into an empty Transaction message."""
    message.signatures.extend(wire.signatures)
    inner = message.message
    inner.header.num_required_signatures = wire.header.required_signatures
    inner.header.num_readonly_signed_accounts = wire.header.readonly_signed
    inner.header.num_readonly_unsigned_accounts = wire.header.readonly_unsigned
    inner.account_keys.extend(wire.account_keys)
    inner.recent_blockhash = wire.recent_blockhash
    for program_index, accounts, data in wire.instructions:
        inner.instructions.add(program_id_index=program_index, accounts=accounts, data=data)
    inner.versioned = wire.version != "legacy"
    for account_key, writable, readonly in wire.lookups:
        inner.address_table_lookups.add(
            account_key=account_key, writable_indexes=writable, readonly_indexes=readonly
        )
    if wire.config is not None:
        # Version 1 is known by its config, be it empty.
        inner.config.SetInParent()
        for name, value in wire.config._asdict().items():
            if value is not None:
                setattr(inner.config, name, value)


def fill_meta(message: Any, meta: dict[str, Any]) -> None:
    """Put a `meta` of the standard node's JSON into an empty TransactionStatusMeta message."""
    if meta["err"] is not None:
        message.err.err = transaction_error_bytes(meta["err"])
    message.fee = meta["fee"]
    message.pre_balances.extend(meta["preBalances"])
    message.post_balances.extend(meta["postBalances"])
    groups = meta.get("innerInstructions")
    message.inner_instructions_none = groups is None
    for group in groups or ():
        _fill_inner(message.inner_instructions.add(index=group["index"]), group["instructions"])
    logs = meta.get("logMessages")
    message.log_messages_none = logs is None
    message.log_messages.extend(logs or ())
    for balance in meta.get("preTokenBalances") or ():
        _fill_token_balance(message.pre_token_balances.add(), balance)
    for balance in meta.get("postTokenBalances") or ():
        _fill_token_balance(message.post_token_balances.add(), balance)
    message.rewards.extend(reward_message(each) for each in meta.get("rewards") or ())
    loaded = meta.get("loadedAddresses") or {"writable": (), "readonly": ()}
    message.loaded_writable_addresses.extend(map(_key, loaded["writable"]))
    message.loaded_readonly_addresses.extend(map(_key, loaded["readonly"]))
    returned = meta.get("returnData")
    message.return_data_none = returned is None
    if returned is not None:
        message.return_data.program_id = _key(returned["programId"])
        message.return_data.data = b64decode(returned["data"][0])
    if meta.get("computeUnitsConsumed") is not None:
        message.compute_units_consumed = meta["computeUnitsConsumed"]
    if meta.get("costUnits") is not None:
        message.cost_units = meta["costUnits"]


def reward_message(reward: dict[str, Any]) -> Any:
    """The Reward message of a member of `rewards`."""
    commission, points = reward.get("commission"), reward.get("commissionBps")
    return schema.Reward(
        pubkey=reward["pubkey"],
        lamports=reward["lamports"],
        post_balance=reward["postBalance"],
        reward_type=REWARD_TYPES.index(reward.get("rewardType")),
        commission="" if commission is None else str(commission),
        commission_bps="" if points is None else str(points),
    )


def _fill_inner(message: Any, instructions: list[dict[str, Any]]) -> None:
    for each in instructions:
        message.instructions.add(
            program_id_index=each["programIdIndex"],
            accounts=bytes(each["accounts"]),
            data=b58decode(each["data"]),
            stack_height=each.get("stackHeight"),
        )


def _fill_token_balance(message: Any, balance: dict[str, Any]) -> None:
    message.account_index = balance["accountIndex"]
    message.mint = balance["mint"]
    message.owner = balance.get("owner") or ""
    message.program_id = balance.get("programId") or ""
    amount, amount_json = message.ui_token_amount, balance["uiTokenAmount"]
    amount.ui_amount = amount_json["uiAmount"] or 0.0
    amount.decimals = amount_json["decimals"]
    amount.amount = amount_json["amount"]
    amount.ui_amount_string = amount_json.get("uiAmountString") or ""


def _key(address: str) -> bytes:
    return bytes(Pubkey.from_string(address))
