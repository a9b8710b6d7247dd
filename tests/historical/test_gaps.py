"""Gaps of the ledger: what stored blocks prove, and what is told by hand."""

from datetime import UTC, datetime

import pytest
from solders.hash import Hash

from chain.slot_ranges import SlotRange
from gaps import life_cycle
from gaps.slot_gap import GapStatus
from historical.coverage.services.gaps import ledger_gaps as gaps
from historical.coverage.services.gaps import settle as settle_gaps
from historical.models import Block, Gap

NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)
FIRST = 900_000_000  # above what other tests of this folder keep in the ledger
MISSING, UNKNOWN = GapStatus.MISSING, GapStatus.UNKNOWN


def store(slot, parent):
    Block.objects.create(
        slot=FIRST + slot,
        parent_slot=FIRST + parent,
        blockhash=Hash((FIRST + slot).to_bytes(32)),
        previous_blockhash=Hash((FIRST + parent).to_bytes(32)),
        transaction_count=0,
        failed_count=0,
        newest_version=-1,
        form=0,
        frames=[],
        body=b"",
        recorded_at=NOW,
    )


def opened(first, last, status=UNKNOWN):
    gaps.open_gap(FIRST + first, FIRST + last, status=status, cause="stream_lost", now=NOW)


def settle():
    return settle_gaps(FIRST, FIRST + 100, closed_by="a node", now=NOW)


def told():
    return [(g.from_slot - FIRST, g.to_slot - FIRST, g.status) for g in gaps.open_gaps(FIRST)]


def test_stored_blocks_are_never_in_a_gap(db):
    store(5, 4)
    opened(1, 9)
    assert told() == [(1, 4, UNKNOWN), (6, 9, UNKNOWN)]


def test_what_came_in_and_what_its_links_prove_is_closed(db):
    store(0, -1)
    store(20, 18)
    opened(1, 19)
    assert settle() == 1  # 19, by the link of the block above
    assert told() == [(1, 17, UNKNOWN), (18, 18, MISSING)]
    store(18, 10)
    assert settle() == 8
    assert told() == [(1, 9, UNKNOWN), (10, 10, MISSING)]
    store(10, 9)
    store(9, 0)
    assert settle() == 10
    assert told() == []
    assert settle() == 0
    closers = {gap.closed_by for gap in Gap.objects.filter(from_slot__gte=FIRST)}
    assert closers == {"a node", "parent link"}


def test_what_nothing_proves_stays_open(db):
    opened(1, 19)
    store(30, 25)
    assert settle() == 0
    assert told() == [(1, 19, UNKNOWN)]


@pytest.mark.parametrize("known", [UNKNOWN, MISSING])
def test_only_open_slots_are_told_to_be_missing(db, known):
    opened(5, 9, known)
    life_cycle.mark_missing(Gap, SlotRange(FIRST + 8, FIRST + 20), now=NOW)
    rest = [(5, 7, UNKNOWN), (8, 9, MISSING)] if known == UNKNOWN else [(5, 9, MISSING)]
    assert told() == rest
