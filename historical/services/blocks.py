"""Whole blocks, and which slots hold one."""

import msgspec
from solders.hash import Hash

from chain import block_json
from chain.blocks import Form
from chain.commitment import BlockForm, TransactionDetails, TransactionEncoding
from chain.encodings import b58encode
from chain.units import I64_MAX, UnixTimestamp
from eventloop.calls import require_thread
from historical.errors import RangeTooLarge, UnsupportedTransactionVersion
from historical.services.bounds import why_no_block
from historical.services.sealed_texts import RecordingGone, block_texts
from historical.services.text_caches import recent_texts
from historical.store import blocks as store
from historical.store import transactions as transaction_store
from historical.store.blocks import BlockRow
from jsonrpc.wire import Encoded

MAX_SLOTS = 500_000


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
    UnsupportedTransactionVersion, SealedDataDamaged.
    """
    row = store.block(slot) if slot <= I64_MAX else None
    while row is not None:
        try:
            return _block(row, encoding, details, rewards, max_version, wanted)
        except RecordingGone:
            row = store.block_now(slot)
    raise why_no_block(slot)


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
        if not block_json.is_supported(row.newest_version, max_version):
            raise UnsupportedTransactionVersion(_first_unsupported(row, max_version))
        text = recent_texts.get(
            (*key, encoding, rewards, max_version is None, wanted),
            lambda: _transactions(row, encoding, details, rewards, max_version is not None, wanted),
        )
        return Encoded(*block_json.with_transactions(_header(row, rewards), text))
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


def _transactions(
    row: BlockRow,
    encoding: TransactionEncoding,
    details: TransactionDetails,
    rewards: bool,
    versions: bool,
    wanted: BlockForm = BlockForm.CURRENT,
) -> bytes:
    return block_json.transactions_text(
        _texts(row),
        Form(row.form),
        encoding=encoding,
        details=details,
        rewards=rewards,
        versions=versions,
        wanted=wanted,
    )


def _texts(row: BlockRow) -> bytes:
    return block_texts(row.slot, row.recording, _signatures(row))


def _first_unsupported(row: BlockRow, max_version: int | None) -> int:
    """The version of the block's first transaction that the caller cannot read."""
    lowest = 0 if max_version is None else max_version + 1
    if row.newest_version == lowest:
        return lowest
    require_thread()
    versions = map(block_json.version_of, block_json.split(_texts(row)))
    return next(each for each in versions if not block_json.is_supported(each, max_version))


def _signature_list(row: BlockRow, rewards: bool) -> bytes:
    """The whole result."""
    require_thread()  # some milliseconds for thousands of them
    return block_json.signatures_text(_header(row, rewards), _signatures(row))


def _signatures(row: BlockRow) -> list[bytes]:
    found = transaction_store.signatures_of_recording(row.slot, row.recording)
    if len(found) != row.transaction_count:
        raise RecordingGone
    return found


def _header(row: BlockRow, rewards: bool) -> bytes:
    shown = row.rewards if rewards else None
    return block_json.header_text(
        block_height=row.block_height,
        block_time=row.block_time,
        blockhash=str(Hash.from_bytes(row.blockhash)),
        parent_slot=row.parent_slot,
        previous_blockhash=str(Hash.from_bytes(row.previous_blockhash)),
        rewards=None if shown is None else msgspec.Raw(shown),
        reward_partitions=row.reward_partitions,
    )
