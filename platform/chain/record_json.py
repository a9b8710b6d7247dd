"""Blocks and transactions as getBlock, getTransaction and blockSubscribe show their records."""

from chain import block_json
from chain.blocks import CURRENT_FORM, Form, SlotRecord, TransactionRecord
from chain.commitment import BINARY_ENCODINGS, BlockForm, TransactionDetails, TransactionEncoding
from chain.encodings import b58encode


class UnsupportedVersion(Exception):
    """A transaction has a version that the caller did not say it can read."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


def block_text(
    record: SlotRecord,
    *,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    max_version: int | None,
) -> bytes:
    """getBlock's result as JSON. Raises UnsupportedVersion."""
    header = block_json.header_text(
        block_height=record.block_height,
        block_time=record.block_time,
        blockhash=record.blockhash,
        parent_slot=record.parent_slot,
        previous_blockhash=record.previous_blockhash,
        rewards=(record.rewards or []) if rewards else None,
        reward_partitions=record.reward_partitions,
    )
    if details is TransactionDetails.NONE:
        return header + b"}"
    if details is TransactionDetails.SIGNATURES:
        return block_json.signatures_text(header, [each.signature for each in record.transactions])
    binary = details is TransactionDetails.FULL and encoding in BINARY_ENCODINGS
    texts = [_text(each, max_version, encoding if binary else None) for each in record.transactions]
    rendered = block_json.transactions_text(
        b",".join(texts),
        CURRENT_FORM,
        encoding=encoding,
        details=details,
        rewards=rewards,
        versions=max_version is not None,
    )
    return b"".join(block_json.with_transactions(header, rendered))


def transaction_text(
    record: TransactionRecord,
    *,
    slot: int,
    index: int,
    block_time: int | None,
    encoding: TransactionEncoding,
    max_version: int | None,
    wanted: BlockForm = BlockForm.CURRENT,
) -> bytes:
    """getTransaction's result as JSON. Raises UnsupportedVersion."""
    text = block_json.transaction_text(
        _text(record, max_version, encoding if encoding in BINARY_ENCODINGS else None),
        CURRENT_FORM,
        encoding=encoding,
        versions=max_version is not None,
        wanted=wanted,
    )
    placed = block_json.with_place(text, slot=slot, index=index, block_time=block_time)
    return b"".join(placed)


def whole_text_of(record: TransactionRecord, form: Form) -> bytes:
    """The text of encoding `json` with all signatures."""
    wire = record.decoded
    keys = [b58encode(key) for key in wire.account_keys]
    signatures = [b58encode(each) for each in wire.signatures]
    return block_json.json_text(wire, keys, signatures, record.meta, form)


def _text(
    record: TransactionRecord, max_version: int | None, binary: TransactionEncoding | None
) -> bytes:
    wire = record.decoded
    if not block_json.is_supported(wire.version_number, max_version):
        raise UnsupportedVersion(wire.version_number)
    if binary is not None:
        return block_json.binary_text(record.wire, wire.version, record.meta, binary)
    return whole_text_of(record, CURRENT_FORM)
