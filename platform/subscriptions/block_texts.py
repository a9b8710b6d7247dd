"""A block with its transactions as getBlock and blockSubscribe give it, from its record."""

from chain import block_json
from chain.blocks import CURRENT_FORM, SlotRecord, TransactionRecord
from chain.commitment import BINARY_ENCODINGS, TransactionDetails, TransactionEncoding
from chain.encodings import b58encode


class UnsupportedVersion(Exception):
    """A transaction has a version that the subscriber did not say it can read."""

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


def _text(
    record: TransactionRecord, max_version: int | None, binary: TransactionEncoding | None
) -> bytes:
    wire = record.decoded
    if not block_json.is_supported(wire.version_number, max_version):
        raise UnsupportedVersion(wire.version_number)
    if binary is not None:
        return block_json.binary_text(record.wire, wire.version, record.meta, binary)
    keys = [b58encode(key) for key in wire.account_keys]
    signatures = [b58encode(each) for each in wire.signatures]
    return block_json.json_text(wire, keys, signatures, record.meta, CURRENT_FORM)
