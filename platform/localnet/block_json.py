"""A block and its transactions in the encodings that the standard node answers in."""

from typing import Any

from chain.blocks import CURRENT_FORM, SlotRecord, TransactionRecord
from chain.commitment import TransactionDetails, TransactionEncoding
from chain.encodings import b58encode, b64encode
from chain.message_json import message_json
from chain.parsed.transactions import parsed_accounts, parsed_meta, parsed_transaction
from chain.transactions import Version, decode_wire
from localnet.errors import UnsupportedTransactionVersion

_OF_ACCOUNTS = (
    "err",
    "status",
    "fee",
    "preBalances",
    "postBalances",
    "preTokenBalances",
    "postTokenBalances",
)


def block_json(
    record: SlotRecord,
    *,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    max_version: int | None,
) -> dict[str, Any]:
    """What getBlock answers; UnsupportedTransactionVersion."""
    answer: dict[str, Any] = {
        "blockHeight": record.block_height,
        "blockTime": record.block_time,
        "blockhash": record.blockhash,
        "parentSlot": record.parent_slot,
        "previousBlockhash": record.previous_blockhash,
    }
    if rewards:
        answer["rewards"] = record.rewards or []
    if details is TransactionDetails.SIGNATURES:
        answer["signatures"] = [
            b58encode(decode_wire(each.wire).signatures[0]) for each in record.transactions
        ]
    elif details is not TransactionDetails.NONE:
        accounts_only = details is TransactionDetails.ACCOUNTS
        answer["transactions"] = [
            transaction_json(each, encoding, max_version=max_version, accounts_only=accounts_only)
            for each in record.transactions
        ]
        if not rewards:
            for each in answer["transactions"]:
                if "rewards" in each["meta"]:
                    each["meta"]["rewards"] = None
    return answer


def transaction_json(
    record: TransactionRecord,
    encoding: TransactionEncoding,
    *,
    max_version: int | None,
    accounts_only: bool = False,
) -> dict[str, Any]:
    """`{meta, transaction, version}`; the version only for who knows versions."""
    wire = decode_wire(record.wire)
    _check_version(wire.version, max_version)
    keys = [b58encode(key) for key in wire.account_keys]
    entry: dict[str, Any] = {
        "meta": dict(record.meta or {}),
        "transaction": {
            "message": message_json(wire, keys, CURRENT_FORM),
            "signatures": [b58encode(each) for each in wire.signatures],
        },
        "version": wire.version,
    }
    meta = entry["meta"]
    transaction: Any = entry["transaction"]
    if accounts_only:
        transaction = {
            "accountKeys": parsed_accounts(entry, CURRENT_FORM),
            "signatures": transaction["signatures"],
        }
        meta = {name: meta[name] for name in _OF_ACCOUNTS if name in meta}
    elif encoding is TransactionEncoding.JSON_PARSED:
        transaction = parsed_transaction(entry, CURRENT_FORM)
        meta = parsed_meta(entry, CURRENT_FORM)
    elif encoding is TransactionEncoding.BASE58:
        transaction = [b58encode(record.wire), "base58"]
    elif encoding is not TransactionEncoding.JSON:
        transaction = [b64encode(record.wire), "base64"]
    answer = {"meta": meta, "transaction": transaction}
    if max_version is not None:
        answer["version"] = wire.version
    return answer


def _check_version(version: Version, max_version: int | None) -> None:
    if version != "legacy" and (max_version is None or version > max_version):
        raise UnsupportedTransactionVersion(version)
