"""Compares a stored block with the same block from another source."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import zstandard

from chain.block_json import split
from chain.blocks import Form, SlotRecord
from chain.encodings import b58decode, b58encode
from chain.transaction_json import all_keys
from historical.blocks import bodies as block_bodies
from historical.blocks.store import blocks as store
from historical.errors import BadBlock, SealedDataDamaged
from historical.sealed.services.sealed_texts import RecordingGone, stored_texts
from historical.sealed.store import sealed_blocks, sealed_state
from historical.sealed.store.sealed_blocks import SealedRow
from historical.transactions.store import transactions as transaction_store
from historical.transactions.texts import text_of

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
    stored, sealed = sealed_state.of_both(lambda: _stored(slot), any)
    if stored is None and sealed is None:
        return []
    try:
        signatures = transaction_store.signatures_of(slot)
        if stored is not None:
            texts = block_bodies.unpack(*stored, signatures)
        elif sealed is not None:
            texts = block_bodies.completed(stored_texts(sealed), *signatures)
        return [_decode(text) for text in split(texts)]
    except (
        zstandard.ZstdError,
        msgspec.DecodeError,
        ValueError,
        StopIteration,
        SealedDataDamaged,
        RecordingGone,
    ) as error:
        # StopIteration: the index has fewer signatures than the body has texts.
        raise Unreadable(f"{type(error).__name__}: {error}"[:300]) from None


def _stored(slot: int) -> tuple[tuple[bytes, list[int]] | None, SealedRow | None]:
    stored = store.body(slot)
    # After the other read: what is sealed meanwhile is found here.
    return stored, (sealed_blocks.sealed_block(slot) if stored is None else None)


def changed_balances(transactions: list[dict[str, Any]]) -> Iterator[Balance]:
    """Every balance that a transaction left otherwise than it found it: a write, surely."""
    for index, entry in enumerate(transactions):
        meta = entry["meta"] or {}
        before, after = meta.get("preBalances") or (), meta.get("postBalances") or ()
        if not before:
            continue
        for key, had, has in zip(all_keys(entry), before, after, strict=False):
            if had != has:
                yield Balance(b58decode(key), index, has)


def accounts_named(transactions: list[dict[str, Any]]) -> set[bytes]:
    """Every account of the transactions, loaded ones too."""
    return {b58decode(key) for entry in transactions for key in all_keys(entry)}


def differing(record: SlotRecord, *, with_additions: bool) -> list[str] | None:
    """Which parts of the stored block are not what the record says; None where no block is stored.
    What only one of them has is no difference; `with_additions`, what the record adds is one.
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
    found = [name for name, mine, theirs in pairs if _differ(mine, theirs, with_additions)]
    try:
        mine = transactions_of(record.slot)
    except Unreadable:
        return [*found, "transactions"]
    theirs = _read(record, Form(row.form))
    if len(mine) != len(theirs):
        return [*found, "transactions"]
    if any(
        _without_empty(one) != _without_empty(other)
        for one, other in zip(mine, theirs, strict=True)
    ):
        found.append("transactions")
    return found


def _differ(mine: Any, theirs: Any, with_additions: bool) -> bool:
    if theirs is None or (mine is None and not with_additions):
        return False
    return bool(mine != theirs)


def _read(record: SlotRecord, form: Form) -> list[dict[str, Any]]:
    try:
        texts = [text_of(entry, form) for entry in record.transactions]
    except (ValueError, TypeError, AttributeError, msgspec.MsgspecError) as error:
        raise BadBlock(f"slot {record.slot}: {error}") from error
    body = block_bodies.pack(text.text for text in texts)
    whole = block_bodies.unpack(body.data, body.frames, [text.signature for text in texts])
    return [_decode(text) for text in split(whole)]


def _without_empty(value: Any) -> Any:
    """Without what is null or empty: sources leave out what others write as null, or as none."""
    if isinstance(value, dict):
        kept = {name: _without_empty(each) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each not in (None, [], {})}
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    return value


def _rewards(rewards: list[dict[str, Any]]) -> list[Any]:
    kept = [_without_empty(each) for each in rewards]
    return sorted(kept, key=lambda each: (each.get("pubkey", ""), each.get("rewardType", "")))
