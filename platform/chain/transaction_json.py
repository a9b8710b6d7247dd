"""A transaction in the standard node's JSON (encoding `json`), from and to its wire parts."""

from collections.abc import Callable, Mapping
from typing import Any

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.blocks import Form
from chain.encodings import b58decode, b58encode
from chain.transactions import (
    BadTransaction,
    Config,
    Header,
    Instruction,
    Lookup,
    Version,
    Wire,
)
from chain.units import U64_MAX

_U8_MAX = 0xFF
_U32_MAX = 0xFFFF_FFFF
# Base58 is quadratic to read; no instruction of a 4 KiB transaction comes near this.
_LONGEST_DATA = 16_384


def all_keys(entry: Mapping[str, Any]) -> list[str]:
    """The keys that a transaction names, then those that it looked up: writable, then read-only.
    The entry is as getTransaction returns it in the encoding `json`.
    """
    loaded = (entry.get("meta") or {}).get("loadedAddresses") or {}
    return [
        *entry["transaction"]["message"]["accountKeys"],
        *(loaded.get("writable") or ()),
        *(loaded.get("readonly") or ()),
    ]


def wire_from_json(transaction: Any, version: Version | None) -> Wire:
    """The parts of `{signatures, message}`; BadTransaction has the path of the problem.

    Nodes older than 1.10 give no version (None): then a message with lookups is version 0.
    """
    if not isinstance(transaction, dict):
        raise BadTransaction("expected an object with signatures and message")
    signatures = [
        _signature(text, f"signatures[{index}]")
        for index, text in enumerate(_list(transaction.get("signatures"), "signatures"))
    ]
    message = transaction.get("message")
    if not isinstance(message, dict):
        raise BadTransaction("expected an object", "message")
    if version is None:
        version = "legacy" if message.get("addressTableLookups") is None else 0
    _refuse_parsed(message)
    lookups = message.get("addressTableLookups")
    if version != 0 and lookups:
        raise BadTransaction("only version 0 has lookups", "message.addressTableLookups")
    return Wire(
        signatures=signatures,
        version=version,
        header=_header(message.get("header")),
        account_keys=[
            _key(text, f"message.accountKeys[{index}]")
            for index, text in enumerate(_list(message.get("accountKeys"), "message.accountKeys"))
        ],
        recent_blockhash=_key(message.get("recentBlockhash"), "message.recentBlockhash"),
        instructions=[
            _instruction(each, index)
            for index, each in enumerate(_list(message.get("instructions"), "message.instructions"))
        ],
        lookups=[
            _lookup(each, f"message.addressTableLookups[{index}]")
            for index, each in enumerate(_list(lookups or [], "message.addressTableLookups"))
        ],
        config=_config(message.get("transactionConfig")) if version == 1 else None,
    )


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


def _refuse_parsed(message: dict[str, Any]) -> None:
    keys = message.get("accountKeys")
    if isinstance(keys, list) and keys and isinstance(keys[0], dict):
        raise BadTransaction(
            "jsonParsed does not contain a transaction's bytes; fetch the block with encoding json "
            "or base64",
            "message.accountKeys[0]",
        )


def _header(header: Any) -> Header:
    place = "message.header"
    if not isinstance(header, dict):
        raise BadTransaction("expected an object", place)
    names = ("numRequiredSignatures", "numReadonlySignedAccounts", "numReadonlyUnsignedAccounts")
    return Header(*(_number(header.get(name), _U8_MAX, f"{place}.{name}") for name in names))


def _instruction(instruction: Any, index: int) -> Instruction:
    place = f"message.instructions[{index}]"
    if not isinstance(instruction, dict):
        raise BadTransaction("expected an object", place)
    text = instruction.get("data")
    if not isinstance(text, str):
        raise BadTransaction("expected base58 text", f"{place}.data")
    if len(text) > _LONGEST_DATA:
        raise BadTransaction(f"{len(text)} characters are too many", f"{place}.data")
    try:
        data = b58decode(text)
    except ValueError:
        raise BadTransaction("not base58", f"{place}.data") from None
    return Instruction(
        _number(instruction.get("programIdIndex"), _U8_MAX, f"{place}.programIdIndex"),
        _indexes(instruction.get("accounts"), f"{place}.accounts"),
        data,
    )


def _lookup(lookup: Any, place: str) -> Lookup:
    if not isinstance(lookup, dict):
        raise BadTransaction("expected an object", place)
    return Lookup(
        _key(lookup.get("accountKey"), f"{place}.accountKey"),
        _indexes(lookup.get("writableIndexes"), f"{place}.writableIndexes"),
        _indexes(lookup.get("readonlyIndexes"), f"{place}.readonlyIndexes"),
    )


def _config(config: Any) -> Config:
    place = "message.transactionConfig"
    if config is None:
        return Config()
    if not isinstance(config, dict):
        raise BadTransaction("expected an object", place)
    limits = {
        "priorityFee": U64_MAX,
        "computeUnitLimit": _U32_MAX,
        "loadedAccountsDataSizeLimit": _U32_MAX,
        "heapSize": _U32_MAX,
    }
    values = (
        None if config.get(name) is None else _number(config[name], most, f"{place}.{name}")
        for name, most in limits.items()
    )
    return Config(*values)


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadTransaction("expected a list", place)
    return value


def _number(value: Any, most: int, place: str) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise BadTransaction(f"expected a number from 0 to {most}", place)
    return value


def _indexes(value: Any, place: str) -> bytes:
    try:
        # bytes() of a number or of text is not what was meant; of true it would be 1.
        if isinstance(value, list) and bool not in set(map(type, value)):
            return bytes(value)
    except (TypeError, ValueError):
        pass
    raise BadTransaction("expected a list of numbers from 0 to 255", place)


def _from_base58(read: Callable[[str], object], text: Any, size: int, place: str) -> bytes:
    if isinstance(text, str):
        try:
            return bytes(read(text))  # type: ignore[call-overload, no-any-return]
        except ValueError:
            pass
    raise BadTransaction(f"expected base58 text of {size} bytes", place)


def _key(text: Any, place: str) -> bytes:
    return _from_base58(Pubkey.from_string, text, 32, place)


def _signature(text: Any, place: str) -> bytes:
    return _from_base58(Signature.from_string, text, 64, place)
