"""Fates of slots without a block, by proof alone: parent links and a node's finalized blocks."""

import logging
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from chain.slot_ranges import SlotRange, clip, runs, subtract
from chain.units import I64_MAX, Slot
from columns.raw_queries import exists
from gaps import life_cycle
from gaps.slot_gap import NOT_YET_KNOWN, GapStatus, SlotGap
from historical.blocks.store import blocks as ledger
from historical.coverage.services.gaps import ledger_gaps, settle
from historical.models import Gap as LedgerGap
from ingest import chain_identity
from ingest.errors import WrongChain
from ingest.sources import nodes
from rewind.coverage.services.gaps import archive_gaps
from rewind.models import Gap as ArchiveGap
from rewind.recording.store import slots as archive
from upstream.node import Node, NodeError

log = logging.getLogger(__name__)

# Slots looked at in one run behind the newest block; older ones were looked at before.
_WINDOW_SLOTS = 1_000
# Looked at by the question whether a run is due, which comes every few seconds.
_NEWEST_SLOTS = 100
# Open gaps looked at in one run, and slots of one that a node is asked about.
_MOST_GAPS = 20
_MOST_ASKED = 5_000
# Neighbours asked about beside a gap: an absence counts between two slots that are listed.
_MARGIN_SLOTS = 200
LEDGER_LINK = "parent link"


def is_due(*, now: datetime) -> bool:
    """Whether a gap's slots are unsure, or a new block's parent is missing from an area."""
    del now
    bounds = archive.bounds()
    since = _classified_since(bounds)
    if exists(
        *(
            f"SELECT FROM {model._meta.db_table} WHERE closed_at IS NULL"
            f" AND (cannot_be_had_at IS NULL OR to_slot >= {since})"
            f" AND status = '{GapStatus.UNKNOWN}'"
            for model in (LedgerGap, ArchiveGap)
        )
    ):
        return True
    if bounds is None:
        return False
    low = max(bounds[0], bounds[1] - _NEWEST_SLOTS)
    return ledger.has_missing_parents(low, bounds[1]) or archive.has_unarchived_blocks(
        low, bounds[1]
    )


def classify(*, now: datetime) -> None:
    """Marks slots as missing that a stored block names as its parent, or that a node lists; closes
    gaps whose slots are proved skipped.
    """
    _open_missing_parents(now)
    unsure = [*_unknown(LedgerGap), *_unknown(ArchiveGap)]
    if not unsure:
        return
    for gap in unsure:
        by_ledger_links(SlotRange(gap.from_slot, gap.to_slot), now=now)
    for node in nodes()[:1]:
        try:
            chain_identity.require_same(node)
        except (NodeError, WrongChain) as error:
            log.info("slots cannot be classified by %s: %s", node.name, error)
            return
        for gap in [*_unknown(LedgerGap), *_unknown(ArchiveGap)]:
            try:
                by_node(node, SlotRange(gap.from_slot, gap.to_slot), now=now)
            except NodeError as error:
                log.info("slots cannot be classified by %s: %s", node.name, error)
                return


def by_ledger_links(window: SlotRange, *, now: datetime) -> None:
    """What stored blocks prove of the window, for both areas."""
    settle(window.first, window.last, closed_by=LEDGER_LINK, now=now)
    links = ledger.links_between(window.first, window.last, and_next=True)
    skipped = clip([SlotRange(parent + 1, slot - 1) for slot, parent in links], *window)
    for part in skipped:
        archive_gaps.close_range(*part, closed_by=LEDGER_LINK, now=now)
    made = runs([slot for slot, _ in links] + [parent for _, parent in links])
    for part in clip(made, *window):
        life_cycle.mark_missing(ArchiveGap, part, now=now)


def by_node(node: Node, window: SlotRange, *, now: datetime) -> None:
    """What the node's list of finalized blocks proves of the window. Raises NodeError."""
    first_available = node.first_available_block()
    low = max(window.first - _MARGIN_SLOTS, first_available, 0)
    high = min(window.last + _MARGIN_SLOTS, low + _MOST_ASKED, node.slot("finalized"))
    if high < low:
        return
    listed = node.blocks(Slot(low), Slot(high))
    if not listed:
        return
    sure = clip([SlotRange(listed[0], listed[-1])], *window)
    there = runs(listed)
    for part in subtract(sure, there):
        closed = ledger_gaps.close_range(
            *part, closed_by=node.name, now=now, event=life_cycle.PROVED_SKIPPED
        )
        closed += archive_gaps.close_range(*part, closed_by=node.name, now=now)
        if closed:
            log.info("slots %d to %d were skipped, by the list of %s", *part, node.name)
    for part in clip(there, *window):
        life_cycle.mark_missing(LedgerGap, part, now=now)
        life_cycle.mark_missing(ArchiveGap, part, now=now)


def _unknown(model: type[SlotGap]) -> Sequence[SlotGap]:
    return list(_unsure(model).order_by("-from_slot")[:_MOST_GAPS])


def _unsure(model: type[SlotGap]) -> QuerySet[SlotGap]:
    since = _classified_since(archive.bounds())
    return model._default_manager.filter(
        Q(cannot_be_had_at__isnull=True) | Q(to_slot__gte=since),
        closed_at__isnull=True,
        status=GapStatus.UNKNOWN,
    )


def _classified_since(bounds: tuple[int, int] | None) -> int:
    """From this slot on, gaps that are given up are looked at too: what no stream has any more may
    be given up before a node that was restarted has finalized it.
    """
    return I64_MAX if bounds is None else bounds[1] - _WINDOW_SLOTS


@transaction.atomic
def _open_missing_parents(now: datetime) -> None:
    """Opens gaps for blocks that are not stored although a stored block names them as its parent,
    and for stored blocks that are not archived.
    """
    bounds = archive.bounds()
    if bounds is None:
        return
    low = max(bounds[0], bounds[1] - _WINDOW_SLOTS)
    links = ledger.links_between(low, bounds[1])
    stored = {slot for slot, _ in links}
    for part in runs(parent for _, parent in links if parent >= low and parent not in stored):
        ledger_gaps.open_gap(*part, status=GapStatus.MISSING, cause=NOT_YET_KNOWN, now=now)
    for part in runs(stored - archive.stored(stored).keys()):
        archive_gaps.open_gap(*part, status=GapStatus.MISSING, cause=NOT_YET_KNOWN, now=now)
