"""The index of a block's transactions: by signature, and by the addresses that they load."""

from typing import NamedTuple

import msgspec

from chain.blocks import TransactionRecord
from chain.encodings import b58decode
from chain.memos import memo_of
from chain.transactions import decode_wire


class IndexedTransaction(NamedTuple):
    """`err` is JSON bytes or None; `memo` as the node's lists show it."""

    signature: bytes
    err: bytes | None
    memo: str | None
    addresses: list[bytes]


def indexed(record: TransactionRecord) -> IndexedTransaction:
    """How the transaction is found."""
    wire = decode_wire(record.wire)
    meta = record.meta or {}
    loaded = meta.get("loadedAddresses") or {}
    more = [b58decode(key) for kind in ("writable", "readonly") for key in loaded.get(kind) or ()]
    err = meta.get("err")
    return IndexedTransaction(
        signature=wire.signatures[0],
        err=None if err is None else msgspec.json.encode(err),
        memo=memo_of(wire),
        addresses=[*wire.account_keys, *more],
    )
