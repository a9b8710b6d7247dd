"""Fates of what was submitted: from finalized blocks as they are stored, and from the ledger."""

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from django.db import transaction

from chain.blocks import SlotRecord
from chain.slot_ranges import SlotRange
from chain.transactions import first_signature
from historical.store import blocks as ledger
from historical.store import transactions as ledger_transactions
from ingest.coverage import Coverage
from priority.chain_events import BLOCKHASH_BLOCKS
from priority.fates import settling
from priority.store import settling as store
from priority.store.settling import FoundRow, UnsettledRow
from tipping.services import ledger as tips
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

# What is younger is still on its way, and settled as its block is stored.
_YOUNG = timedelta(seconds=5)
# Without a word of the chain a blockhash is taken to live no longer than this.
_BLOCKHASH_LIFE = timedelta(seconds=120)
# Of a blockhash that the ledger does not have: the last valid height that is known is its own, or
# that of the newest block when it was accepted, when it was good or would never be.
_MOST_BLOCKS = 2 * BLOCKHASH_BLOCKS
# Slots of so many blocks, with those that were skipped between them.
_SLOTS_OF_MOST_BLOCKS = 1_000
# For so long a gap may be filled; then the node is asked.
_PATIENCE = timedelta(minutes=5)
# Slots of the ledger that are looked at, and signatures that the node is asked about, in one run.
_MOST_SLOTS = 20_000
_MOST_ASKED, _ASKED_AT_ONCE = 1_024, 256
_encode = msgspec.json.Encoder().encode


def settle_stored(records: Sequence[SlotRecord], *, late: SlotRange | None, now: datetime) -> int:
    """To be called when the records' blocks are stored: what they hold of submissions is settled;
    how many it was. Of the slots of `late` whatever was ever submitted is looked for, in others
    what is awaited.
    """
    awaited = set(store.awaited())
    found = []
    for record in records:
        is_late = late is not None and late.first <= record.slot <= late.last
        if not awaited and not is_late:
            continue
        for index, executed in enumerate(record.transactions):
            signature = first_signature(executed.wire)
            if is_late or signature in awaited:
                err = (executed.meta or {}).get("err")
                packed = None if err is None else _encode(err).decode()
                found.append(FoundRow(signature, record.slot, index, packed))
    return len(settling.settle_found(found, now=now))


def is_due(*, now: datetime) -> bool:
    """Whether something waits for `settle_due`."""
    return store.is_unsettled(accepted_before=now - _YOUNG)


def settle_due(
    *, node: Node | None, nonce_patience: timedelta, now: datetime, seconds: float = 20.0
) -> None:
    """Submissions that the ledger holds though nobody noticed, that it proves can land no more, or,
    where it has a gap that stays, of which the node tells. Ends when another worker is at it.
    """
    until = time.monotonic() + seconds
    left: list[UnsettledRow] = []
    for rows in store.unsettled(accepted_before=now - _YOUNG):
        with transaction.atomic():
            if not store.alone():
                return
            left += _settle_by_ledger(rows, nonce_patience=nonce_patience, now=now)
        if time.monotonic() > until:
            break
    settling.settle_bundles(now=now)
    old = [row for row in left if not row.is_nonced and row.accepted_at < now - _PATIENCE]
    if old and node is not None:
        try:
            _ask(node, old[:_MOST_ASKED], now)
        except NodeError as error:
            log.info("fates cannot be told by %s: %s", node.name, error)


def _settle_by_ledger(
    rows: Sequence[UnsettledRow], *, nonce_patience: timedelta, now: datetime
) -> list[UnsettledRow]:
    """Those of which the ledger says nothing yet."""
    # In this order: what lands in between is found.
    over = _over(rows, nonce_patience=nonce_patience, now=now)
    places = ledger_transactions.places([row.signature for row in rows])
    _settle_late([FoundRow(signature, *place) for signature, place in places.items()], now)
    absent = [row for row in rows if row.signature not in places]
    settling.settle_lost({row.id: over[row.id] for row in absent if row.id in over}, now=now)
    return [row for row in absent if row.id not in over]


def _settle_late(found: Sequence[FoundRow], now: datetime) -> None:
    settled = settling.settle_found(found, now=now)
    tips.attribute({row.signature: row.key_id for row in settled if row.key_id is not None})


def _over(
    rows: Sequence[UnsettledRow], *, nonce_patience: timedelta, now: datetime
) -> dict[int, str]:
    """Primary keys of those that are in the ledger by now or never, and why they are over."""
    bounds = ledger.bounds()
    if bounds is None:
        return {}
    newest = bounds[1]
    over = {
        row.id: "nonce_unused: it was tried for as long as it is worth"
        for row in rows
        # One that was seen in a block is waited for until that is final, or is not.
        if row.is_nonced
        and row.accepted_at < now - nonce_patience
        and (row.slot is None or row.slot < newest)
    }
    bound = [row for row in rows if not row.is_nonced]
    blocks = ledger.blocks_of_hashes([row.blockhash for row in bound])
    spans = {row.id: _span(row, blocks.get(row.blockhash)) for row in bound}
    lowest = min((span.looked_from for span in spans.values()), default=newest)
    coverage = Coverage(ledger.heights_between(max(lowest, newest - _MOST_SLOTS), newest))
    over |= {pk: "blockhash_expired" for pk, span in spans.items() if span.is_over(coverage)}
    return over


class _Span(NamedTuple):
    """The blocks that can hold a transaction: from the slot `first` and from above the height
    `above`, as far as these are known, up to `height`, or, where that is not known, up to the slot
    `last`, which is -1 while there is none.
    """

    first: int | None
    above: int | None = None
    height: int | None = None
    last: int = -1

    @property
    def looked_from(self) -> int:
        """The lowest slot that has to be looked at."""
        back = 0 if self.above is None else _SLOTS_OF_MOST_BLOCKS
        return max((self.first or 0) - back, 0)

    def is_over(self, coverage: Coverage) -> bool:
        if self.height is None:
            return self.last >= 0 and coverage.is_whole(self.first or 0, self.last)
        return (self.first is None or coverage.is_past(self.first, self.height)) and (
            self.above is None or coverage.has_all_above(self.above, self.height)
        )


def _span(row: UnsettledRow, block: tuple[int, int | None] | None) -> _Span:
    """By its blockhash's block, where the ledger has that; else by what was known when it was
    accepted, and at last by the clock. It may have landed before it was accepted here, for its
    sender may have sent it elsewhere too.
    """
    last_valid = row.last_valid_block_height
    if block is not None and block[1] is not None:
        last_valid = block[1] + BLOCKHASH_BLOCKS
    if last_valid is not None:
        if block is not None:
            return _Span(block[0], height=last_valid)
        above = max(last_valid - _MOST_BLOCKS, -1)
        return _Span(row.accepted_slot, above=above, height=last_valid)
    if block is not None:
        first: int | None = block[0]
    else:
        first = ledger.slot_before(_seconds(row.accepted_at - _BLOCKHASH_LIFE))
    last, newest = ledger.slots_in_time(_seconds(row.accepted_at + _BLOCKHASH_LIFE), None)
    return _Span(first, last=last if newest >= last else -1)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _ask(node: Node, rows: Sequence[UnsettledRow], now: datetime) -> None:
    """The node's word, where the ledger has none. Raises NodeError."""
    # In this order: what lands in between is found.
    height, oldest = node.block_height(), node.first_available_block()
    told = f"blockhash_expired: told by {node.name}, for the ledger lacks blocks of its time"
    found, lost = [], {}
    for at in range(0, len(rows), _ASKED_AT_ONCE):
        some = rows[at : at + _ASKED_AT_ONCE]
        statuses = node.signature_statuses([row.signature for row in some])
        for row, status in zip(some, statuses, strict=True):
            last_valid = row.last_valid_block_height
            if status is not None:
                if status.is_finalized:
                    err = None if status.err is None else _encode(status.err).decode()
                    found.append(FoundRow(row.signature, status.slot, None, err))
            elif (last_valid is None or last_valid < height) and (
                row.accepted_slot is None
                or max(row.accepted_slot - _SLOTS_OF_MOST_BLOCKS, 0) >= oldest
            ):
                lost[row.id] = told
    _settle_late(found, now)
    settling.settle_lost(lost, now=now)
