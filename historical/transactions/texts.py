"""A transaction of a block as the text that is stored: the standard node's `json` encoding."""

from dataclasses import dataclass

import msgspec

from chain.block_json import json_text
from chain.blocks import Form, TransactionRecord
from chain.encodings import b58encode
from chain.memos import memo_of
from historical.blocks.bodies import SIGNATURES
from historical.transactions.outcomes import err_of

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class TransactionText:
    """The text without its first signature, and what the tables keep beside it (`err` as
    transactions/outcomes.py reads it); addresses are the 32-byte keys it loads.
    """

    text: bytes
    signature: bytes
    version: int
    err: str | None
    memo: str | None
    addresses: list[bytes]


def text_of(record: TransactionRecord, form: Form) -> TransactionText:
    """The stored form of one transaction."""
    wire = record.decoded
    keys = [b58encode(key) for key in wire.account_keys]
    other_signatures = [b58encode(each) for each in wire.signatures[1:]]
    memo = memo_of(wire)
    text = json_text(wire, keys, other_signatures, record.meta, form)
    if text.count(SIGNATURES) != 1:
        raise ValueError("meta: a list named `signatures` is not a member of a status meta")
    return TransactionText(
        text=text,
        signature=wire.signatures[0],
        version=wire.version_number,
        err=err_of(record.meta),
        memo=None if memo is None else _encode(memo).decode(),
        addresses=record.account_keys,
    )
