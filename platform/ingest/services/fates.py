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
from priority.happenings import BLOCKHASH_BLOCKS
from priority.services import settling
from priority.store import settling as store
from priority.store.settling import FoundRow, UnsettledRow
from tipping.services import ledger as tips
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

# What is younger is still on its way, and settled as its block is stored.
_YOUNG = timedelta(seconds=5)
# Without a word of the chain a blockhash is taken to live no longer than this.
_BLOCKHASH_LIFE = timedelta(seconds=120)
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
    lowest = min((span.first for span in spans.values()), default=newest)
    coverage = Coverage(ledger.heights_between(max(lowest, newest - _MOST_SLOTS), newest))
    over |= {pk: "blockhash_expired" for pk, span in spans.items() if span.is_over(coverage)}
    return over


class _Span(NamedTuple):
    """The slots that can hold a transaction: from `first` up to a block of the height, or, where no
    height is known, up to the slot `last`, which is -1 while there is none.
    """

    first: int
    height: int | None
    last: int = -1

    def is_over(self, coverage: Coverage) -> bool:
        if self.height is not None:
            return coverage.is_past(self.first, self.height)
        return self.last >= 0 and coverage.is_whole(self.first, self.last)


def _span(row: UnsettledRow, block: tuple[int, int | None] | None) -> _Span:
    """By its blockhash's block, where the ledger has that; else by what was known when it was
    accepted, and at last by the clock.
    """
    if block is not None and block[1] is not None:
        return _Span(block[0], block[1] + BLOCKHASH_BLOCKS)
    first = row.accepted_slot
    if first is None:
        first, _ = ledger.slots_in_time(_seconds(row.accepted_at - _BLOCKHASH_LIFE), None)
    if row.last_valid_block_height is not None:
        return _Span(first, row.last_valid_block_height)
    last, newest = ledger.slots_in_time(_seconds(row.accepted_at + _BLOCKHASH_LIFE), None)
    return _Span(first, None, last if newest >= last else -1)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _ask(node: Node, rows: Sequence[UnsettledRow], now: datetime) -> None:
    """The node's word, where the ledger has none. Raises NodeError."""
    # In this order: what lands in between is found.
    height, oldest = node.block_height(), node.first_available_block()
    told = f"blockhash_expired: told by {node.name}, for the ledger has a gap there"
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
                row.accepted_slot is None or row.accepted_slot >= oldest
            ):
                lost[row.id] = told
    _settle_late(found, now)
    settling.settle_lost(lost, now=now)
