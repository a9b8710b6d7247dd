"""Whole blocks, and which slots hold one."""

from typing import Any

import msgspec
from solders.hash import Hash

from chain.blocks import CURRENT_FORM, Form
from chain.commitment import BlockForm, TransactionDetails, TransactionEncoding
from chain.encodings import b58encode
from chain.units import I64_MAX, UnixTimestamp
from eventloop.calls import require_thread
from historical import block_bodies, rendering
from historical.errors import RangeTooLarge, UnsupportedTransactionVersion
from historical.services.bounds import why_no_block
from historical.services.text_caches import recent_texts
from historical.store import blocks as store
from historical.store import transactions as transaction_store
from historical.store.blocks import BlockRow
from jsonrpc.wire import Encoded

MAX_SLOTS = 500_000

_encode = msgspec.json.Encoder().encode


def block(
    slot: int,
    *,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    max_version: int | None,
    wanted: BlockForm = BlockForm.CURRENT,
) -> Encoded:
    """A block as the standard node's getBlock gives it; raises why_no_block's refusals and
    UnsupportedTransactionVersion.
    """
    row = store.block(slot) if slot <= I64_MAX else None
    while row is not None:
        try:
            return _block(row, encoding, details, rewards, max_version, wanted)
        except RecordingGone:
            row = store.block_now(slot)
    raise why_no_block(slot)


class RecordingGone(Exception):
    """The block was recorded again or removed after its row was read."""


def _block(
    row: BlockRow,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    max_version: int | None,
    wanted: BlockForm,
) -> Encoded:
    # A text is that of this recording and of no other that the slot had or will have.
    key = (row.slot, row.recording, details)
    if details in (TransactionDetails.FULL, TransactionDetails.ACCOUNTS):
        require_version(row.newest_version, max_version)
        text = recent_texts.get(
            (*key, encoding, rewards, max_version is None, wanted),
            lambda: _transactions(row, encoding, details, rewards, max_version is not None, wanted),
        )
        return Encoded(_header(row, rewards) + b',"transactions":[', text, b"]}")
    if details is TransactionDetails.SIGNATURES:
        return Encoded(recent_texts.get((*key, rewards), lambda: _signature_list(row, rewards)))
    return Encoded(_header(row, rewards) + b"}")


def blockhashes(first: int, last: int) -> dict[int, str]:
    """The blockhashes of the blocks in the range, by slot; both ends inclusive."""
    found = store.blockhashes_between(first, last)
    return {slot: b58encode(blockhash) for slot, blockhash in found}


def block_time(slot: int) -> UnixTimestamp | None:
    """The block's estimated production time, None where its source had none."""
    row = store.block(slot) if slot <= I64_MAX else None
    if row is None:
        raise why_no_block(slot)
    return None if row.block_time is None else UnixTimestamp(row.block_time)


def slots_between(first: int, last: int | None) -> list[int]:
    """Slots that hold a block, both ends inclusive; without an end, MAX_SLOTS from the first."""
    if last is None:
        last = first + MAX_SLOTS
    if last < first:
        return []
    if last - first > MAX_SLOTS:
        raise RangeTooLarge("Slot range", last - first, MAX_SLOTS)
    return store.slots_between(min(first, I64_MAX), min(last, I64_MAX), MAX_SLOTS + 1)


def slots_from(first: int, limit: int) -> list[int]:
    """The next slots that hold a block, skipped ones left out."""
    if limit > MAX_SLOTS:
        raise RangeTooLarge("Limit", limit, MAX_SLOTS)
    return store.slots_between(min(first, I64_MAX), I64_MAX, limit)


def require_version(found: int, maximum: int | None) -> None:
    """Raises UnsupportedTransactionVersion when the caller cannot read the version."""
    if found > (-1 if maximum is None else maximum):
        raise UnsupportedTransactionVersion(found)


def _transactions(
    row: BlockRow,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    versions: bool,
    wanted: BlockForm = BlockForm.CURRENT,
) -> bytes:
    stored = store.body_of_recording(row.slot, row.recording)
    if stored is None:
        raise RecordingGone
    texts = block_bodies.unpack(*stored, _signatures(row))
    form = Form(row.form)
    if wanted is BlockForm.CURRENT:
        texts, form = rendering.current(texts, form), CURRENT_FORM
    if details is TransactionDetails.ACCOUNTS:
        single = rendering.split(texts)
        texts = b",".join(rendering.render_accounts(text, form, rewards=rewards) for text in single)
    else:
        if not rewards:
            texts = rendering.without_rewards(texts)
        if encoding is not TransactionEncoding.JSON:
            single = rendering.split(texts)
            texts = b",".join(rendering.render(text, encoding, form) for text in single)
    texts = rendering.without_version_where_no_meta(texts)
    return texts if versions else rendering.without_version(texts)


def _signature_list(row: BlockRow, rewards: bool) -> bytes:
    """The whole result."""
    require_thread()  # some milliseconds for thousands of them
    texts = _encode([b58encode(raw) for raw in _signatures(row)])
    return b"".join((_header(row, rewards), b',"signatures":', texts, b"}"))


def _signatures(row: BlockRow) -> list[bytes]:
    found = transaction_store.signatures_of_recording(row.slot, row.recording)
    if len(found) != row.transaction_count:
        raise RecordingGone
    return found


def _header(row: BlockRow, rewards: bool) -> bytes:
    members: dict[str, Any] = {
        "blockHeight": row.block_height,
        "blockTime": row.block_time,
        "blockhash": str(Hash.from_bytes(row.blockhash)),
        "parentSlot": row.parent_slot,
        "previousBlockhash": str(Hash.from_bytes(row.previous_blockhash)),
    }
    if rewards and row.rewards is not None:
        members["rewards"] = msgspec.Raw(row.rewards)
        if row.reward_partitions is not None:
            members["numRewardPartitions"] = row.reward_partitions
    return _encode(members)[:-1]
