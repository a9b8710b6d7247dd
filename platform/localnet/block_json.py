"""Localnet's blocks and transactions as getBlock, getTransaction and blockSubscribe give them."""

import msgspec

from chain import block_json as chain_json
from chain.blocks import CURRENT_FORM, SlotRecord, TransactionRecord
from chain.commitment import BINARY_ENCODINGS, TransactionDetails, TransactionEncoding
from chain.encodings import b58encode
from localnet.errors import UnsupportedTransactionVersion


def block_json(
    record: SlotRecord,
    *,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    max_version: int | None,
) -> msgspec.Raw:
    """getBlock's result; UnsupportedTransactionVersion."""
    header = chain_json.header_text(
        block_height=record.block_height,
        block_time=record.block_time,
        blockhash=record.blockhash,
        parent_slot=record.parent_slot,
        previous_blockhash=record.previous_blockhash,
        rewards=(record.rewards or []) if rewards else None,
    )
    if details is TransactionDetails.NONE:
        return msgspec.Raw(header + b"}")
    if details is TransactionDetails.SIGNATURES:
        signatures = [each.signature for each in record.transactions]
        return msgspec.Raw(chain_json.signatures_text(header, signatures))
    binary = details is TransactionDetails.FULL and encoding in BINARY_ENCODINGS
    texts = chain_json.transactions_text(
        b",".join(
            _text(each, max_version, encoding if binary else None) for each in record.transactions
        ),
        CURRENT_FORM,
        encoding=encoding,
        details=details,
        rewards=rewards,
        versions=max_version is not None,
    )
    return msgspec.Raw(b"".join(chain_json.with_transactions(header, texts)))


def transaction_json(
    record: TransactionRecord,
    *,
    slot: int,
    index: int,
    block_time: int | None,
    encoding: TransactionEncoding,
    max_version: int | None,
) -> msgspec.Raw:
    """getTransaction's result; UnsupportedTransactionVersion."""
    text = chain_json.transaction_text(
        _text(record, max_version, encoding if encoding in BINARY_ENCODINGS else None),
        CURRENT_FORM,
        encoding=encoding,
        versions=max_version is not None,
    )
    placed = chain_json.with_place(text, slot=slot, index=index, block_time=block_time)
    return msgspec.Raw(b"".join(placed))


def _text(
    record: TransactionRecord, max_version: int | None, binary: TransactionEncoding | None
) -> bytes:
    wire = record.decoded
    if not chain_json.is_supported(wire.version_number, max_version):
        raise UnsupportedTransactionVersion(wire.version_number)
    if binary is not None:
        return chain_json.binary_text(record.wire, wire.version, record.meta, binary)
    keys = [b58encode(key) for key in wire.account_keys]
    signatures = [b58encode(each) for each in wire.signatures]
    return chain_json.json_text(wire, keys, signatures, record.meta, CURRENT_FORM)
