"""Whole blocks, and which slots hold one."""

from collections.abc import Hashable

import msgspec
from solders.hash import Hash

from chain import block_json
from chain.blocks import Form
from chain.commitment import BlockOptions, TransactionDetails
from chain.encodings import b58encode
from chain.units import I64_MAX, UnixTimestamp
from historical.blocks.services.bounds import newest_slot_or_none, why_no_block
from historical.blocks.services.text_caches import recent_texts
from historical.blocks.store import blocks as store
from historical.blocks.store.blocks import BlockRow
from historical.errors import RangeTooLarge, UnsupportedTransactionVersion
from historical.remote.services import remote_blocks
from historical.remote.services.remote_history import (
    RemoteReads,
    is_above,
    is_below,
    is_configured,
    may_have,
)
from historical.sealed.services.sealed_texts import RecordingGone, block_texts
from historical.transactions.store import transactions as transaction_store
from jsonrpc.wire import Encoded

MAX_SLOTS = 500_000
# Of a range in which the next blocks are looked for: longer than most gaps.
_LEAST_SLOTS = 1_000


def block(slot: int, options: BlockOptions, reads: RemoteReads | None = None) -> Encoded:
    """A block as the standard node's getBlock gives it; raises why_no_block's refusals and
    UnsupportedTransactionVersion, SealedDataDamaged. With `reads` also one that only the remote
    history has; then also what RemoteReads.read raises.
    """
    row = store.block(slot) if slot <= I64_MAX else None
    while row is not None:
        try:
            return _block(row, options)
        except RecordingGone:
            row = store.block_now(slot)
    why_not = why_no_block(slot)
    if reads is None or not may_have(why_not):
        raise why_not
    return remote_blocks.block(slot, options, reads, why_not_here=why_not)


def known_block(slot: int, options: BlockOptions) -> Encoded | None:
    """The same, of what this process remembers; None if that does not suffice."""
    row = store.known_block(slot)
    if row is None or not _is_readable(row, options):
        return None
    if options.details is TransactionDetails.NONE:
        return _block(row, options)
    text = recent_texts.find(_key(row, options))
    return None if text is None else _answer(row, options, text)


def _block(row: BlockRow, options: BlockOptions) -> Encoded:
    if not _is_readable(row, options):
        raise UnsupportedTransactionVersion(_first_unsupported(row, options.max_version))
    if options.details is TransactionDetails.NONE:
        return Encoded(_header(row, options.rewards) + b"}")
    return _answer(row, options, recent_texts.get(_key(row, options), lambda: _text(row, options)))


def _is_readable(row: BlockRow, options: BlockOptions) -> bool:
    shows_versions = options.details in (TransactionDetails.FULL, TransactionDetails.ACCOUNTS)
    return not shows_versions or block_json.is_supported(row.newest_version, options.max_version)


def _key(row: BlockRow, options: BlockOptions) -> Hashable:
    """All that a text depends on. It is that of this recording and of no other that the slot had or
    will have.
    """
    if options.details is TransactionDetails.SIGNATURES:
        return row.slot, row.recording, options.details, options.rewards
    is_versioned = options.max_version is not None
    return row.slot, row.recording, options._replace(max_version=None), is_versioned


def _text(row: BlockRow, options: BlockOptions) -> bytes:
    """Of the whole answer, or of its transactions."""
    if options.details is TransactionDetails.SIGNATURES:
        return block_json.signatures_text(_header(row, options.rewards), _signatures(row))
    return block_json.transactions_text(
        _texts(row),
        Form(row.form),
        encoding=options.encoding,
        details=options.details,
        rewards=options.rewards,
        versions=options.max_version is not None,
        wanted=options.form,
    )


def _answer(row: BlockRow, options: BlockOptions, text: bytes) -> Encoded:
    if options.details is TransactionDetails.SIGNATURES:
        return Encoded(text)
    return Encoded(*block_json.with_transactions(_header(row, options.rewards), text))


def blockhashes(first: int, last: int) -> dict[int, str]:
    """The blockhashes of the blocks in the range, by slot; both ends inclusive."""
    found = store.blockhashes_between(first, last)
    return {slot: b58encode(blockhash) for slot, blockhash in found}


def block_time(slot: int, reads: RemoteReads | None = None) -> UnixTimestamp | None:
    """The block's estimated production time, None where its source had none; `reads` as above."""
    row = store.block(slot) if slot <= I64_MAX else None
    if row is None:
        why_not = why_no_block(slot)
        if reads is None or not may_have(why_not):
            raise why_not
        return remote_blocks.block_time(slot, reads, why_not)
    return None if row.block_time is None else UnixTimestamp(row.block_time)


def slots_between(
    first: int, last: int | None, reads: RemoteReads | None = None, *, highest: int = I64_MAX
) -> list[int]:
    """Slots that hold a block, both ends inclusive; without an end, MAX_SLOTS from the first;
    `reads` as above. Of the stored ones none above the highest is listed. As the standard node
    does, the end is cut off at the newest slot before the range is judged; raises RangeTooLarge.
    """
    last = first + MAX_SLOTS if last is None else last
    if last < first:
        return []
    newest = newest_slot_or_none()
    judged = last if newest is None else min(last, newest)
    if judged - first > MAX_SLOTS:
        raise RangeTooLarge("Slot range", judged - first, MAX_SLOTS)
    # The newest slot judges the range only: what is listed ends at `highest`.
    last = min(last, first + MAX_SLOTS, I64_MAX)
    return _slots_between(min(first, I64_MAX), last, MAX_SLOTS + 1, reads, highest)


def slots_from(first: int, limit: int, reads: RemoteReads, *, highest: int) -> list[int]:
    """The next slots that hold a block, skipped ones left out; `reads` and `highest` as above."""
    if limit > MAX_SLOTS:
        raise RangeTooLarge("Limit", limit, MAX_SLOTS)
    first = min(first, I64_MAX)
    found: list[int] = []
    if is_configured():
        found = _next_slots(first, limit, reads, highest)
        first = found[-1] + 1 if found else first
    return found + store.slots_between(first, highest, limit - len(found))


def _next_slots(first: int, limit: int, reads: RemoteReads, highest: int) -> list[int]:
    """The next slots, range by range, as long as there are blocks to find."""
    found: list[int] = []
    size = min(_LEAST_SLOTS + 2 * limit, MAX_SLOTS)
    while len(found) < limit and first < I64_MAX - MAX_SLOTS and not is_above(first):
        more = _slots_between(first, first + size, limit - len(found), reads, highest)
        if more:
            found += more
            first = more[-1] + 1
        elif size < MAX_SLOTS:
            size = MAX_SLOTS
        else:
            break
    return found


def _slots_between(
    first: int, last: int, limit: int, reads: RemoteReads | None, highest: int
) -> list[int]:
    remote: list[int] = []
    if reads is not None and is_configured():
        remote = remote_blocks.slots_between(first, last, limit, reads)
        if is_below(last):
            return remote
    stored = store.slots_between(first, min(last, highest), limit)
    return sorted({*remote, *stored})[:limit] if remote else stored


def _texts(row: BlockRow) -> bytes:
    return block_texts(row.slot, row.recording, _signatures(row))


def _first_unsupported(row: BlockRow, max_version: int | None) -> int:
    """The version of the block's first transaction that the caller cannot read."""
    lowest = 0 if max_version is None else max_version + 1
    if row.newest_version == lowest:
        return lowest
    versions = map(block_json.version_of, block_json.split(_texts(row)))
    return next(each for each in versions if not block_json.is_supported(each, max_version))


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
