"""The index of a block's transactions: by signature, and by the addresses that they load."""

from typing import NamedTuple

import msgspec

from chain.blocks import TransactionRecord
from chain.encodings import b58decode, b58encode
from chain.explained.programs import MEMOS
from chain.transactions import Wire, decode_wire


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
        memo=_memo(wire),
        addresses=[*wire.account_keys, *more],
    )


def _memo(wire: Wire) -> str | None:
    memos = []
    for program, _, data in wire.instructions:
        if program < len(wire.account_keys):
            if b58encode(wire.account_keys[program]) not in MEMOS:
                continue
            try:
                text = data.decode()
            except UnicodeDecodeError:
                text = "(unparseable)"
            memos.append(f"[{len(data)}] {text}")
    return "; ".join(memos) if memos else None
