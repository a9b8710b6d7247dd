"""A message as the standard node's JSON has it (encoding `json`), from its wire parts."""

from typing import Any

from chain.blocks import Form
from chain.encodings import b58encode
from chain.transactions import Wire


def message_json(wire: Wire, keys: list[str], form: Form) -> dict[str, Any]:
    """The message in the standard node's `json` encoding; keys are its account keys as base58."""
    required, readonly_signed, readonly_unsigned = wire.header
    message: dict[str, Any] = {
        "accountKeys": keys,
        "header": {
            "numReadonlySignedAccounts": readonly_signed,
            "numReadonlyUnsignedAccounts": readonly_unsigned,
            "numRequiredSignatures": required,
        },
        "instructions": [
            {"accounts": list(accounts), "data": b58encode(data), "programIdIndex": program}
            for program, accounts, data in wire.instructions
        ],
        "recentBlockhash": b58encode(wire.recent_blockhash),
    }
    if Form.STACK_HEIGHT in form:
        height = 1 if Form.TOP_STACK_HEIGHT in form else None
        for instruction in message["instructions"]:
            instruction["stackHeight"] = height
    if wire.version == 0:
        message["addressTableLookups"] = [
            {
                "accountKey": b58encode(table),
                "readonlyIndexes": list(readonly),
                "writableIndexes": list(writable),
            }
            for table, writable, readonly in wire.lookups
        ]
    if wire.config is not None:
        fee, units, loaded_size, heap = wire.config
        message["transactionConfig"] = {
            "priorityFee": fee,
            "computeUnitLimit": units,
            "loadedAccountsDataSizeLimit": loaded_size,
            "heapSize": heap,
        }
    return message
