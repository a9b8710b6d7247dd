"""What a stored block says, held against another source's word of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import zstandard

from chain.blocks import Form, SlotRecord
from chain.encodings import b58decode, b58encode
from historical import bodies, rendering
from historical.errors import BadBlock
from historical.store import blocks as store
from historical.store import transactions as transaction_store
from historical.texts import text_of

_decode = msgspec.json.Decoder().decode


class Unreadable(Exception):
    """A stored block's transactions cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Balance:
    """An account's balance that a transaction changed, and what it was afterwards."""

    pubkey: bytes
    index: int
    lamports: int


def transactions_of(slot: int) -> list[dict[str, Any]]:
    """The block's transactions as the standard node's `json` encoding has them; none where no block
    is stored. Raises Unreadable.
    """
    stored = store.body(slot)
    if stored is None:
        return []
    try:
        texts = bodies.unpack(*stored, transaction_store.signatures_of(slot))
        return [_decode(text) for text in rendering.split(texts)]
    except (zstandard.ZstdError, msgspec.DecodeError, ValueError, StopIteration) as error:
        # StopIteration: the index has fewer signatures than the body has texts.
        raise Unreadable(f"{type(error).__name__}: {error}"[:300]) from None


def changed_balances(transactions: list[dict[str, Any]]) -> Iterator[Balance]:
    """Every balance that a transaction left otherwise than it found it: a write, surely."""
    for index, entry in enumerate(transactions):
        meta = entry["meta"] or {}
        before, after = meta.get("preBalances") or (), meta.get("postBalances") or ()
        if not before:
            continue
        loaded = meta.get("loadedAddresses") or {}
        keys = [
            *entry["transaction"]["message"]["accountKeys"],
            *(loaded.get("writable") or ()),
            *(loaded.get("readonly") or ()),
        ]
        for key, had, has in zip(keys, before, after, strict=False):
            if had != has:
                yield Balance(b58decode(key), index, has)


def differing(record: SlotRecord, *, told_more: bool) -> list[str] | None:
    """Which parts of the stored block are not what the record says; None where no block is stored.
    What one of both does not tell is no difference, but where `told_more` and it is the stored one.
    Raises BadBlock when the record cannot be read.
    """
    row = store.block(record.slot)
    if row is None:
        return None
    pairs: list[tuple[str, Any, Any]] = [
        ("blockhash", b58encode(row.blockhash), record.blockhash),
        ("parent", row.parent_slot, record.parent_slot),
        ("previous blockhash", b58encode(row.previous_blockhash), record.previous_blockhash),
        ("time", row.block_time, record.block_time),
        ("height", row.block_height, record.block_height),
        ("rewards", None if row.rewards is None else _rewards(_decode(row.rewards)),
         None if record.rewards is None else _rewards(record.rewards)),
    ]  # fmt: skip
    found = [name for name, mine, theirs in pairs if _differ(mine, theirs, told_more)]
    try:
        mine = transactions_of(record.slot)
    except Unreadable:
        return [*found, "transactions"]
    theirs = _told(record, Form(row.form))
    if len(mine) != len(theirs):
        return [*found, "transactions"]
    if any(
        _told_things(one) != _told_things(other) for one, other in zip(mine, theirs, strict=True)
    ):
        found.append("transactions")
    return found


def _differ(mine: Any, theirs: Any, told_more: bool) -> bool:
    if theirs is None or (mine is None and not told_more):
        return False
    return bool(mine != theirs)


def _told(record: SlotRecord, form: Form) -> list[dict[str, Any]]:
    try:
        texts = [text_of(entry, form) for entry in record.transactions]
    except (ValueError, TypeError, AttributeError, msgspec.MsgspecError) as error:
        raise BadBlock(f"slot {record.slot}: {error}") from error
    body = bodies.pack(text.text for text in texts)
    whole = bodies.unpack(body.data, body.frames, [text.signature for text in texts])
    return [_decode(text) for text in rendering.split(whole)]


def _told_things(value: Any) -> Any:
    """Without what is null or empty: sources leave out what others write as null, or as none."""
    if isinstance(value, dict):
        told = {name: _told_things(each) for name, each in value.items()}
        return {name: each for name, each in told.items() if each not in (None, [], {})}
    if isinstance(value, list):
        return [_told_things(each) for each in value]
    return value


def _rewards(rewards: list[dict[str, Any]]) -> list[Any]:
    told = [_told_things(each) for each in rewards]
    return sorted(told, key=lambda each: (each.get("pubkey", ""), each.get("rewardType", "")))
