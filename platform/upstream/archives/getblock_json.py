"""getBlock's results, as SlotRecord."""

from typing import Annotated, Any

import msgspec
import zstandard

from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58decode, b64decode
from chain.transaction_json import wire_from_json
from chain.transactions import (
    BadTransaction,
    Version,
    Wire,
    decode_wire,
    encode_wire,
    sanitize,
)
from chain.units import U64_MAX, Slot, UnixTimestamp
from upstream.archives import checks
from upstream.archives.block_form import form_of
from upstream.archives.errors import Unreadable
from upstream.archives.slots import slot_of

_VERSIONS: dict[Any, Version] = {"legacy": "legacy", 0: 0, 1: 1}
# SIMD-0385: the largest transaction; also bounds what base58 (quadratic) and zstd unpack to.
_LARGEST_TRANSACTION = 4096
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Index = Annotated[int, msgspec.Meta(ge=0, le=255)]


class _InnerInstruction(msgspec.Struct, rename="camel"):
    program_id_index: _Index
    accounts: list[_Index]
    data: str
    stack_height: _Count | None = None


class _InnerInstructions(msgspec.Struct):
    index: _Index
    instructions: list[_InnerInstruction]


class _LoadedAddresses(msgspec.Struct):
    writable: list[str]
    readonly: list[str]


class _StatusMeta(msgspec.Struct, rename="camel"):
    """What readers of a meta rely on; other fields pass as they are."""

    err: str | dict[str, Any] | None
    fee: _Count
    pre_balances: list[_Count]
    post_balances: list[_Count]
    inner_instructions: list[_InnerInstructions] | None = None
    log_messages: list[str] | None = None
    pre_token_balances: list[dict[str, Any]] | None = None
    post_token_balances: list[dict[str, Any]] | None = None
    rewards: list[dict[str, Any]] | None = None
    loaded_addresses: _LoadedAddresses | None = None
    return_data: dict[str, Any] | None = None
    compute_units_consumed: _Count | None = None
    cost_units: _Count | None = None


def record_of(block: dict[str, Any], *, given: int | None, name: str) -> tuple[SlotRecord, bool]:
    """The block of a getBlock result, and whether its slot was only guessed: `given` counts first,
    then what the file's name says. Unreadable with the place of what is wrong.
    """
    _refuse_transaction(block)
    parent_slot = Slot(checks.u64(block.get("parentSlot"), "parentSlot"))
    slot, guessed = slot_of(parent_slot, given=given, name=name)
    if "transactions" not in block:
        raise Unreadable("transactions", "missing; fetch the block with transactionDetails full")
    entries = _objects(block["transactions"], "transactions")
    transactions = []
    for index, entry in enumerate(entries):
        try:
            transactions.append(_transaction_record(entry))
        except Unreadable as fault:
            place = f".{fault.place}" if fault.place else ""
            raise Unreadable(f"transactions[{index}]{place}", fault.reason) from None
    rewards = block.get("rewards")
    block_time = checks.i64_or_none(block.get("blockTime"), "blockTime")
    record = SlotRecord(
        slot=slot,
        parent_slot=parent_slot,
        blockhash=checks.blockhash(block.get("blockhash"), "blockhash"),
        previous_blockhash=checks.blockhash(block.get("previousBlockhash"), "previousBlockhash"),
        block_time=None if block_time is None else UnixTimestamp(block_time),
        block_height=checks.u64_or_none(block.get("blockHeight"), "blockHeight"),
        transactions=transactions,
        rewards=None if rewards is None else _objects(rewards, "rewards"),
        reward_partitions=checks.u64_or_none(
            block.get("numRewardPartitions"), "numRewardPartitions"
        ),
        form=form_of(entries),
    )
    return record, guessed


def _refuse_transaction(block: dict[str, Any]) -> None:
    if "transaction" in block and "transactions" not in block:
        slot = block.get("slot")
        of = f" {slot}" if type(slot) is int else ""
        raise Unreadable(
            "", f"a getTransaction answer: one transaction and not its block; fetch getBlock{of}"
        )


def _transaction_record(entry: dict[str, Any]) -> TransactionRecord:
    version = _declared_version(entry)
    try:
        wire = _wire_bytes(entry.get("transaction"), version)
        # Whatever the encoding was, the parts that are kept are the parts that are checked.
        facts = decode_wire(wire)
        sanitize(facts)
    except BadTransaction as fault:
        place = f"transaction.{fault.place}" if fault.place else "transaction"
        raise Unreadable(place, fault.reason) from None
    if version is not None and facts.version != version:
        raise Unreadable("version", f"{version} is declared, the bytes are {facts.version}")
    meta = entry.get("meta")
    if meta is not None:
        _check_meta(meta, facts)
    return TransactionRecord(facts, meta)


def _declared_version(entry: dict[str, Any]) -> Version | None:
    given = entry.get("version")
    if given is None:
        return None
    if isinstance(given, (str, int)) and not isinstance(given, bool) and given in _VERSIONS:
        return _VERSIONS[given]
    raise Unreadable("version", "expected `legacy`, 0 or 1")


def _wire_bytes(transaction: Any, version: Version | None) -> bytes:
    if isinstance(transaction, dict):
        if "signatures" in transaction and "message" not in transaction:
            raise BadTransaction("fetch the block with transactionDetails full", "message")
        parts = wire_from_json(transaction, version)
        sanitize(parts)
        return encode_wire(parts)
    # Text alone is the oldest form of base58.
    text, encoding = transaction, "base58"
    if isinstance(transaction, list) and len(transaction) == 2:
        text, encoding = transaction
    if not isinstance(text, str):
        raise BadTransaction("expected an object or [text, encoding]")
    if len(text) > 2 * _LARGEST_TRANSACTION:
        raise BadTransaction(f"{len(text)} characters are too many")
    try:
        if encoding == "base64":
            return b64decode(text)
        if encoding == "base58":
            return b58decode(text)
        if encoding == "base64+zstd":
            packed = b64decode(text)
            # A frame that declares its size is unpacked whole, whatever max_output_size is.
            if zstandard.frame_content_size(packed) > _LARGEST_TRANSACTION:
                raise BadTransaction("larger than a transaction can be")
            return zstandard.ZstdDecompressor().decompress(
                packed, max_output_size=_LARGEST_TRANSACTION
            )
    except BadTransaction:
        raise
    except (ValueError, zstandard.ZstdError, MemoryError):
        raise BadTransaction(f"not {encoding}") from None
    raise BadTransaction("an unknown encoding; fetch the block with json or base64")


def _check_meta(meta: Any, facts: Wire) -> None:
    if not isinstance(meta, dict):
        raise Unreadable("meta", "expected an object or null")
    try:
        known = msgspec.convert(meta, _StatusMeta)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        if _is_parsed(meta):
            reason = "jsonParsed is not read; fetch the block with encoding json or base64"
        raise Unreadable(f"meta{place.rstrip('`')}", reason) from None
    checks.meta_fits(meta, facts)
    for place, most in (
        ("fee", known.fee),
        ("preBalances", max(known.pre_balances, default=0)),
        ("postBalances", max(known.post_balances, default=0)),
        ("computeUnitsConsumed", known.compute_units_consumed or 0),
        ("costUnits", known.cost_units or 0),
    ):
        if most > U64_MAX:
            raise Unreadable(f"meta.{place}", "expected numbers up to 2^64-1")


def _is_parsed(meta: dict[str, Any]) -> bool:
    groups = meta.get("innerInstructions")
    return isinstance(groups, list) and any(
        isinstance(each, dict) and "programId" in each
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("instructions"), list)
        for each in group["instructions"]
    )


def _objects(value: Any, place: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise Unreadable(place, "expected a list")
    for index, each in enumerate(value):
        if not isinstance(each, dict):
            raise Unreadable(f"{place}[{index}]", "expected an object")
    return value
