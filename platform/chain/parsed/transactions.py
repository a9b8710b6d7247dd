"""A decoded transaction in the standard node's `jsonParsed` encoding."""

from typing import Any

from chain.blocks import Form
from chain.encodings import b58decode
from chain.parsed.instructions import parse_instruction
from chain.reserved import RESERVED_KEYS, UPGRADEABLE_LOADER
from chain.transaction_json import all_keys

Entry = dict[str, Any]


def parsed_accounts(entry: Entry, form: Form) -> list[Entry]:
    """Every account that the transaction loads: `{pubkey, signer, source, writable}`; whether it
    is writable after the runtime has demoted reserved keys and called programs.
    """
    message = entry["transaction"]["message"]
    header = message["header"]
    static = message["accountKeys"]
    loaded = (entry["meta"] or {}).get("loadedAddresses") or {}
    writable_end = len(static) + len(loaded.get("writable") or ())
    signed = header["numRequiredSignatures"]
    writable_signed = signed - header["numReadonlySignedAccounts"]
    writable_unsigned = len(static) - header["numReadonlyUnsignedAccounts"]
    keys = all_keys(entry)
    called = {instruction["programIdIndex"] for instruction in message["instructions"]}
    if UPGRADEABLE_LOADER in keys:
        called = set()
    accounts = []
    for index, key in enumerate(keys):
        if index < len(static):
            asked = index < writable_signed or signed <= index < writable_unsigned
        else:
            asked = index < writable_end
        account = {
            "pubkey": key,
            "signer": index < signed,
            "writable": asked and key not in RESERVED_KEYS and index not in called,
        }
        if Form.STACK_HEIGHT in form:
            account["source"] = "transaction" if index < len(static) else "lookupTable"
        accounts.append(account)
    return accounts


def parsed_transaction(entry: Entry, form: Form) -> Entry:
    """`{message, signatures}` with parsed account keys and instructions."""
    transaction = entry["transaction"]
    message = transaction["message"]
    keys = all_keys(entry)
    parsed: Entry = {
        "accountKeys": parsed_accounts(entry, form),
        "instructions": [
            _parsed_instruction(instruction, keys) for instruction in message["instructions"]
        ],
        "recentBlockhash": message["recentBlockhash"],
    }
    if "addressTableLookups" in message:
        parsed["addressTableLookups"] = message["addressTableLookups"]
    elif Form.STACK_HEIGHT not in form:
        parsed["addressTableLookups"] = None  # nodes of that age wrote it for legacy ones too
    if "transactionConfig" in message:
        parsed["transactionConfig"] = message["transactionConfig"]
    return {"message": parsed, "signatures": transaction["signatures"]}


def parsed_meta(entry: Entry, form: Form) -> Entry | None:
    """The status meta with parsed inner instructions; today's node leaves `loadedAddresses` out,
    since the account keys hold them.
    """
    meta: Entry | None = entry["meta"]
    if meta is None:
        return None
    parsed = dict(meta)
    if Form.STACK_HEIGHT in form:
        parsed.pop("loadedAddresses", None)
    if meta.get("innerInstructions"):
        keys = all_keys(entry)
        parsed["innerInstructions"] = [
            {
                **inner,
                "instructions": [
                    _parsed_instruction(instruction, keys) for instruction in inner["instructions"]
                ],
            }
            for inner in meta["innerInstructions"]
        ]
    return parsed


def _parsed_instruction(instruction: Entry, keys: list[str]) -> Entry:
    program = keys[instruction["programIdIndex"]]
    accounts = [keys[index] for index in instruction["accounts"]]
    parsed = parse_instruction(program, accounts, b58decode(instruction["data"]))
    answer: Entry = (
        {"accounts": accounts, "data": instruction["data"], "programId": program}
        if parsed is None
        else {**parsed, "programId": program}
    )
    if "stackHeight" in instruction:
        answer["stackHeight"] = instruction["stackHeight"]
    return answer
