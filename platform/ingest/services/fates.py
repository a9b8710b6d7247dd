"""Settles submissions: from finalized blocks as they are stored, and from the ledger."""

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction

from chain.blocks import SlotRecord
from chain.nonces import why_misplaced
from chain.slot_ranges import SlotRange
from historical.blocks.store import blocks as ledger
from historical.transactions.outcomes import err_of, packed_err
from ingest.coverage import Coverage
from ingest.services import nonces
from ingest.services.found_rows import found_in_ledger
from priority.chain_events import BLOCKHASH_BLOCKS
from priority.fates.services import settling
from priority.fates.store import settling as store
from priority.fates.store.settling import FoundRow, UnsettledRow
from shared_state.pace import slot_seconds
from tipping.services import ledger as tips
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

# Younger submissions are settled as their blocks are stored.
_YOUNG = timedelta(seconds=5)
# Without data of the chain a blockhash is assumed to be valid no longer than twice its slots, as
# half of them may be skipped, and than this at least.
_LEAST_BLOCKHASH_LIFE = timedelta(seconds=120)
# For a blockhash that the ledger does not have: its last valid height, or that of the newest block
# at acceptance. It was valid then, or never will be.
_MOST_BLOCKS = 2 * BLOCKHASH_BLOCKS
# Slots of so many blocks, skipped ones included.
_SLOTS_OF_MOST_BLOCKS = 1_000
# After this a gap is not waited for any more, and the node is asked; after the second where nothing
# follows the chain: the ledger's head stands, and blockhashes expire all the same.
PATIENCE, STANDING_PATIENCE = timedelta(minutes=5), timedelta(minutes=1)
# Slots of the ledger to check, and signatures to ask the node about, in one run.
_MOST_SLOTS = 20_000
_MOST_ASKED, _ASKED_AT_ONCE = 1_024, 256


def settle_stored(records: Sequence[SlotRecord], *, late: SlotRange | None, now: datetime) -> int:
    """Call when the records' blocks are stored: settles the submissions in them, and returns how
    many. Slots in `late` are checked for every submission, others for those that are awaited.
    """
    awaited = set(store.awaited())
    watched = nonces.watch(records) if store.is_any_watched() else nonces.NOTHING
    awaited.update(row.signature for row in watched.rows)
    found = []
    for record in records:
        is_late = late is not None and late.first <= record.slot <= late.last
        if not awaited and not is_late:
            continue
        for index, executed in enumerate(record.transactions):
            signature = executed.signature
            # Of one without meta it is not known whether it failed.
            if (is_late or signature in awaited) and executed.meta is not None:
                err = err_of(executed.meta)
                found.append(FoundRow(signature, record.slot, index, err))
    settled = settling.settle_found(found, now=now) if found else []
    if watched.rows:
        nonces.settle_moved(watched, {each.signature for each in found}, now=now)
    return len(settled)


def is_due(*, now: datetime) -> bool:
    """True if submissions wait for `settle_due`."""
    return store.is_unsettled(accepted_before=now - _YOUNG, now=now)


def settle_due(
    *, node: Node | None, now: datetime, patience: timedelta = PATIENCE, seconds: float = 20.0
) -> None:
    """Settles submissions that the ledger holds, that it proves can no longer land, or, where it
    has had a gap for longer than `patience`, that the node knows. Returns at once if another worker
    is at it.
    """
    until = time.monotonic() + seconds
    left: list[UnsettledRow] = []
    for rows in store.unsettled(accepted_before=now - _YOUNG):
        with transaction.atomic():
            if not store.alone():
                return
            left += _settle_by_ledger(rows, now=now)
        if time.monotonic() > until:
            break
    with transaction.atomic():
        if not store.alone():
            return
        nonces.check_due(node=node, accepted_before=now - _YOUNG, now=now)
    settling.settle_bundles(now=now)
    old = [row for row in left if row.accepted_at < now - patience]
    if old and node is not None:
        try:
            _ask(node, old[:_MOST_ASKED], now)
        except NodeError as error:
            log.info("%s cannot report fates: %s", node.name, error)


def _settle_by_ledger(rows: Sequence[UnsettledRow], *, now: datetime) -> list[UnsettledRow]:
    """Settles by the ledger; returns those that are still open."""
    # In this order, so that what lands in between is found.
    over = _over(rows)
    there, found = found_in_ledger([row.signature for row in rows])
    _settle_late(found, now)
    absent = [row for row in rows if row.signature not in there]
    lost = [over[row.id] for row in absent if row.id in over]
    settling.settle_lost(
        {each.row.id: _expired(each.row) for each in lost},
        over_before={each.row.id for each in lost if each.was_over},
        now=now,
    )
    return [row for row in absent if row.id not in over]


def _settle_late(found: Sequence[FoundRow], now: datetime) -> None:
    settled = settling.settle_found(found, now=now)
    tips.attribute({row.signature: row.key_id for row in settled if row.key_id is not None})


class _Over(NamedTuple):
    """A submission that can no longer land; `was_over`: already when it was accepted, so that the
    lander did not send it.
    """

    row: UnsettledRow
    was_over: bool


def _over(rows: Sequence[UnsettledRow]) -> dict[int, _Over]:
    """By primary key those that would be in the ledger by now if they had landed."""
    bounds = ledger.bounds()
    if bounds is None:
        return {}
    newest = bounds[1]
    blocks = ledger.blocks_of_hashes([row.blockhash for row in rows])
    spans = _spans(rows, blocks)
    lowest = min((span.begins for span in spans.values()), default=newest)
    coverage = Coverage(ledger.heights_between(max(lowest, newest - _MOST_SLOTS), newest))
    over = [row for row in rows if spans[row.id].is_over(coverage)]
    unknown = [row for row in over if row.blockhash not in blocks]
    unproved = {row.id for row in unknown} - _with_what_senders_knew(unknown, coverage, newest)
    return {
        row.id: _Over(row, _was_over(row, blocks.get(row.blockhash), coverage))
        for row in over
        if row.id not in unproved
    }


def _with_what_senders_knew(
    rows: Sequence[UnsettledRow], coverage: Coverage, newest: int
) -> set[int]:
    """The primary keys of those of which every block made before the acceptance is stored. A stream
    that had fallen behind knew too low a height then, and the blockhash may be of a newer block.
    """
    later = {row.id: _seconds(row.accepted_at) + 1 for row in rows}
    slots = ledger.slots_since({*later.values()})
    if len(slots) < len({*later.values()}) and ledger.time_at(newest) is None:
        return {row.id for row in rows}
    return {
        row.id
        for row in rows
        if (slot := slots.get(later[row.id])) is not None
        and (row.accepted_slot is None or coverage.is_whole(row.accepted_slot, slot))
    }


def _was_over(row: UnsettledRow, block: tuple[int, int | None] | None, coverage: Coverage) -> bool:
    """Whether the chain was past the last block that can use its blockhash."""
    if block is None or block[1] is None or row.accepted_slot is None:
        return False
    return coverage.height_at(row.accepted_slot) >= block[1] + BLOCKHASH_BLOCKS


def _expired(row: UnsettledRow) -> str:
    if row.advance_index is None:
        return "blockhash_expired"
    return f"blockhash_expired: {why_misplaced(row.advance_index)}"


class _Span(NamedTuple):
    """The blocks that can hold a transaction: from slot `first` and above the height `above`, where
    known, up to `height`, or, if unknown, up to the slot `last`, -1 while there is none.
    """

    first: int | None
    above: int | None = None
    height: int | None = None
    last: int = -1

    @property
    def begins(self) -> int:
        """The lowest slot to check."""
        back = 0 if self.above is None else _SLOTS_OF_MOST_BLOCKS
        return max((self.first or 0) - back, 0)

    def is_over(self, coverage: Coverage) -> bool:
        if self.height is None:
            return self.last >= 0 and coverage.is_whole(self.first or 0, self.last)
        return (self.first is None or coverage.is_past(self.first, self.height)) and (
            self.above is None or coverage.has_all_above(self.above, self.height)
        )


def _spans(
    rows: Sequence[UnsettledRow], blocks: Mapping[bytes, tuple[int, int | None]]
) -> dict[int, _Span]:
    """By primary key. A span follows from the blockhash's block, if the ledger has that; else from
    what was known at acceptance, else from the clock. A transaction may have landed before it was
    accepted here: its sender may have sent it elsewhere too.
    """
    spans, life = {}, _blockhash_life()
    by_clock = []
    for row in rows:
        block, last_valid = blocks.get(row.blockhash), row.last_valid_block_height
        if block is not None and block[1] is not None:
            last_valid = block[1] + BLOCKHASH_BLOCKS
        if last_valid is None:
            by_clock.append(row)
        elif block is not None:
            spans[row.id] = _Span(block[0], height=last_valid)
        else:
            above = max(last_valid - _MOST_BLOCKS, -1)
            spans[row.id] = _Span(row.accepted_slot, above=above, height=last_valid)
    first = ledger.slots_before({_seconds(row.accepted_at - life) for row in by_clock})
    last = ledger.slots_since({_seconds(row.accepted_at + life) for row in by_clock})
    for row in by_clock:
        block = blocks.get(row.blockhash)
        spans[row.id] = _Span(
            first.get(_seconds(row.accepted_at - life)) if block is None else block[0],
            last=last.get(_seconds(row.accepted_at + life), -1),
        )
    return spans


def _blockhash_life() -> timedelta:
    return max(timedelta(seconds=_MOST_BLOCKS * slot_seconds()), _LEAST_BLOCKHASH_LIFE)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _ask(node: Node, rows: Sequence[UnsettledRow], now: datetime) -> None:
    """Settles by the node where the ledger has gaps. Raises NodeError."""
    # In this order, so that what lands in between is found.
    height, newest = node.block_height(), node.slot()
    oldest = node.first_available_block()
    made_at = node.header(newest).block_time
    since = None
    if oldest and any(row.accepted_slot is None for row in rows):
        since = node.header(oldest).block_time
    blocks = ledger.blocks_of_hashes([row.blockhash for row in rows])
    by = f"by {node.name}, because the ledger misses blocks of that time"
    found, lost = [], {}
    for at in range(0, len(rows), _ASKED_AT_ONCE):
        some = rows[at : at + _ASKED_AT_ONCE]
        slot, statuses = node.signature_statuses([row.signature for row in some])
        for row, status in zip(some, statuses, strict=True):
            if status is not None:
                if status.is_finalized:
                    err = packed_err(status.err)
                    found.append(FoundRow(row.signature, status.slot, None, err))
            elif (
                slot >= newest  # one behind the same address may lag behind another
                and _is_over_at(row, blocks.get(row.blockhash), height, made_at)
                and _is_after(row, oldest, since)
            ):
                expired = _expired(row)
                lost[row.id] = f"{expired}{';' if ': ' in expired else ':'} {by}"
    _settle_late(found, now)
    settling.settle_lost(lost, now=now)


def _is_over_at(
    row: UnsettledRow, block: tuple[int, int | None] | None, height: int, made_at: int | None
) -> bool:
    """Whether no block above the height, made at that time, can use its blockhash. If the ledger
    does not have the blockhash, what was known of it at the acceptance may be too low: then it is
    only over when any that its sender can have known is.
    """
    if block is not None and block[1] is not None:
        return block[1] + BLOCKHASH_BLOCKS < height
    last_valid = row.last_valid_block_height
    return (
        (last_valid is None or last_valid < height)
        and made_at is not None
        and made_at >= _seconds(row.accepted_at + _blockhash_life())
    )


def _is_after(row: UnsettledRow, oldest: int, made_at: int | None) -> bool:
    """Whether no block below the slot, made at that time, can hold it."""
    if row.accepted_slot is not None:
        return max(row.accepted_slot - _SLOTS_OF_MOST_BLOCKS, 0) >= oldest
    begins = _seconds(row.accepted_at - _blockhash_life())
    return oldest == 0 or (made_at is not None and made_at < begins)
