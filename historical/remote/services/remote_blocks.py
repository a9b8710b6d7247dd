"""Blocks of remote history, written as the ledger's own are."""

from dataclasses import dataclass

import msgspec
from django.conf import settings
from solders.hash import Hash

from chain import block_json
from chain.blocks import SlotRecord
from chain.commitment import BlockOptions, TransactionDetails
from chain.record_json import whole_text_of
from chain.signed import Signatures
from chain.transactions import LEGACY
from chain.units import UnixTimestamp
from historical.blocks.services.signed_blocks import require_signed
from historical.blocks.services.text_caches import recent_texts
from historical.blocks.store import blocks as store
from historical.errors import NotSigned, RemoteHistoryDamaged, UnsupportedTransactionVersion
from historical.remote.services.remote_history import RemoteReads, missing_ranges, why_neither
from jsonrpc.errors import RpcError
from jsonrpc.wire import Encoded
from upstream.old_faithful.errors import Damaged
from upstream.old_faithful.history import History


@dataclass(frozen=True, slots=True)
class _Written:
    """getBlock's result, and what it must agree on with the ledger's blocks beside it."""

    text: bytes
    blockhash: bytes
    parent_slot: int
    previous_blockhash: bytes


def block(
    slot: int, options: BlockOptions, reads: RemoteReads, *, why_not_here: RpcError
) -> Encoded:
    """As services.blocks.block; `why_not_here` is the refusal where the archive does not have the
    slot's epoch. Raises what RemoteReads.read does.
    """
    key = (settings.OLD_FAITHFUL_URL, slot, options)
    text = recent_texts.find(key)
    if text is None:

        def read(history: History) -> _Written | RpcError:
            record = history.block(slot)
            if record is None:
                return why_neither(history, slot, why_not_here)
            return _written(record, options)

        found = reads.read(read, slot)
        if isinstance(found, RpcError):
            raise found
        _require_same_chain(slot, found)
        text = found.text
        recent_texts.keep(key, text)
    reads.mark()
    return Encoded(text)


def block_time(slot: int, reads: RemoteReads, why_not_here: RpcError) -> UnixTimestamp | None:
    """As services.blocks.block_time."""

    def read(history: History) -> tuple[UnixTimestamp | None] | RpcError:
        return history.block_time(slot) or why_neither(history, slot, why_not_here)

    found = reads.read(read, slot)
    if isinstance(found, RpcError):
        raise found
    reads.mark()
    return found[0]


def slots_between(first: int, last: int, limit: int, reads: RemoteReads) -> list[int]:
    """Slots in the range that the ledger cannot say anything of and that hold a block in the
    archive, ascending, the first `limit` of them.
    """
    ranges = missing_ranges(first, last)
    if not ranges:
        return []

    def read(history: History) -> list[int]:
        found: list[int] = []
        for low, high in ranges:
            if len(found) < limit:
                found += history.slots_between(low, high, limit - len(found))
        return found

    slots = reads.read(read, first)
    if slots:
        reads.mark()
    return slots


def _written(record: SlotRecord, options: BlockOptions) -> _Written:
    """Raises UnsupportedTransactionVersion, Damaged."""
    details = options.details
    header = block_json.header_text(
        block_height=record.block_height,
        block_time=record.block_time,
        blockhash=record.blockhash,
        parent_slot=record.parent_slot,
        previous_blockhash=record.previous_blockhash,
        rewards=record.rewards if options.rewards else None,
        reward_partitions=record.reward_partitions,
    )
    if details is TransactionDetails.NONE:
        text = header + b"}"
    elif details is TransactionDetails.SIGNATURES:
        _require_signed(record)
        text = block_json.signatures_text(header, [each.signature for each in record.transactions])
    else:
        _require_signed(record)
        _require_readable(record, options.max_version)
        texts = _texts(record)
        rendered = block_json.transactions_text(
            texts,
            record.form,
            encoding=options.encoding,
            details=details,
            rewards=options.rewards,
            versions=options.max_version is not None,
            wanted=options.form,
        )
        text = b"".join(block_json.with_transactions(header, rendered))
    return _Written(
        text=text,
        blockhash=bytes(Hash.from_string(record.blockhash)),
        parent_slot=record.parent_slot,
        previous_blockhash=bytes(Hash.from_string(record.previous_blockhash)),
    )


def _require_signed(record: SlotRecord) -> None:
    """The archive's hashes prove that a block is what was published, and not what was signed."""
    try:
        require_signed(record, Signatures.REFUSE)
    except NotSigned as fault:
        raise Damaged(f"slot {record.slot}", str(fault)) from None


def _texts(record: SlotRecord) -> bytes:
    try:
        return b",".join(whole_text_of(each, record.form) for each in record.transactions)
    except (ValueError, TypeError, AttributeError, msgspec.MsgspecError) as error:
        raise Damaged(f"slot {record.slot}", f"{type(error).__name__}: {error}"[:300]) from None


def _require_readable(record: SlotRecord, max_version: int | None) -> None:
    versions = (each.decoded.version_number for each in record.transactions)
    for version in versions:
        if version != LEGACY and not block_json.is_supported(version, max_version):
            raise UnsupportedTransactionVersion(version)


def _require_same_chain(slot: int, found: _Written) -> None:
    """Where the ledger has a block beside it, it must be the one that the block's links name."""
    around = store.around(slot, found.parent_slot)
    if slot and around.parent not in (None, found.previous_blockhash):
        raise RemoteHistoryDamaged(slot)
    if around.named_by_child not in (None, found.blockhash):
        raise RemoteHistoryDamaged(slot)
