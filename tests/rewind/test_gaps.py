"""Gaps: opened by what is recorded or by hand, tried, split, closed; and told to whoever asks."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction

from chain.slot_ranges import SlotRange
from gaps import life_cycle
from gaps.life_cycle import GRACE, due_gaps, has_due_gap
from gaps.slot_gap import GapStatus
from historical.models import Gap as LedgerGap
from rewind.coverage.services.gaps import archive_gaps as gaps
from rewind.coverage.services.gaps import resume_slot
from rewind.errors import SlotConflict
from rewind.models import Gap
from rewind.recording.services.recording import record_slots
from rewind.recording.store.slots import stored
from tests.rewind.conftest import NOW
from tests.rewind.samples import block

MISSING, UNKNOWN = GapStatus.MISSING, GapStatus.UNKNOWN
# When a gap that was opened NOW is attempted for the first time.
DUE = NOW + GRACE


def told():
    return [(gap.from_slot, gap.to_slot, gap.status) for gap in gaps.open_gaps()]


def opened(first, last, status=UNKNOWN, cause="stream_lost", now=NOW):
    gaps.open_gap(first, last, status=status, cause=cause, now=now)


def test_slots_that_follow_one_another_leave_no_gap(record):
    record(block(10), block(11), block(14, parent=11))
    record(block(15))
    assert told() == []


def test_a_parent_that_is_not_there_is_missing_and_what_lies_before_it_unknown(record):
    record(block(10))
    record(block(20, parent=17))
    assert told() == [(11, 16, UNKNOWN), (17, 17, MISSING)]
    assert {gap.cause for gap in gaps.open_gaps()} == {"not_yet_known"}


def test_filling_a_gap_slot_by_slot_closes_it_and_its_story_stays(record):
    record(block(10), block(20, parent=17))
    record(block(17, parent=13), source="replay")
    assert told() == [(11, 12, UNKNOWN), (13, 13, MISSING)]
    record(block(13, parent=12), block(12, parent=10))
    assert told() == []
    closed = {(gap.from_slot, gap.to_slot): gap for gap in Gap.objects.all()}
    assert (closed[17, 17].closed_by, closed[17, 17].closed_at) == ("replay", NOW)
    assert closed[17, 17].history[-1]["event"] == "filled"
    assert closed[14, 16].closed_by == "parent link"
    assert [event["event"] for event in closed[14, 16].history] == ["opened", "proved skipped"]


def test_older_slots_open_what_lies_between_them_and_the_archive(record):
    record(block(20, parent=18))
    record(block(10, parent=8))
    assert told() == [(11, 17, UNKNOWN), (18, 18, MISSING)]


def test_a_slot_whose_link_leaves_out_an_archived_one_is_refused(record):
    record(block(10), block(12, parent=10))
    with pytest.raises(SlotConflict, match="slot 13: its parent is 10, but slot 12 is archived"):
        record(block(13, parent=10))
    with pytest.raises(SlotConflict, match="slot 11: slot 12 is archived, whose parent is 10"):
        record(block(11, parent=10))


def test_a_slot_without_accounts_is_a_gap_that_says_so(record):
    record(block(9, writes=None))
    assert told() == []  # the archive has not begun: it lacks nothing yet
    record(block(10), block(11, writes=None), block(12))
    assert [(gap.from_slot, gap.status, gap.cause) for gap in gaps.open_gaps()] == [
        (11, MISSING, "source_without_accounts")
    ]


def test_what_is_open_keeps_its_life_and_learns_what_is_better_known(record):
    record(block(10), block(30, parent=25))
    first = Gap.objects.get(status=UNKNOWN)
    opened(15, 40, MISSING, "follower_down")
    assert told() == [
        (11, 14, UNKNOWN),
        (15, 24, MISSING),
        (25, 29, MISSING),
        (31, 40, MISSING),
    ]
    assert {gap.cause for gap in gaps.open_gaps(15, 25)} == {"follower_down"}
    assert Gap.objects.get(from_slot=15).opened_at == first.opened_at
    opened(15, 24, UNKNOWN, "stream_lost")
    assert Gap.objects.get(from_slot=15).cause == "follower_down"


def test_archived_slots_are_never_in_a_gap(record):
    record(block(10), block(11), block(13, parent=11))
    opened(5, 13)
    assert told() == [(5, 9, UNKNOWN), (12, 12, UNKNOWN)]


def test_a_gap_that_grows_before_anybody_tried_it_stays_one(db):
    for slot in (5, 6, 7):
        opened(slot, slot, MISSING)
    assert told() == [(5, 7, MISSING)]
    gap = Gap.objects.get()
    life_cycle.record_attempt(Gap, gap.pk, source="node", result="none", now=NOW, next_try_at=None)
    opened(8, 8, MISSING)
    assert told() == [(5, 7, MISSING), (8, 8, MISSING)]


def test_closing_a_part_leaves_the_rest_open(db):
    opened(1, 100)
    assert gaps.close_range(40, 59, closed_by="getBlocks", now=NOW) == 20
    assert told() == [(1, 39, UNKNOWN), (60, 100, UNKNOWN)]
    assert gaps.close_range(60, 64, closed_by="getBlocks", now=NOW) == 5
    assert gaps.close_range(60, 64, closed_by="getBlocks", now=NOW) == 0
    closed = Gap.objects.get(closed_at__isnull=False)  # neighbours of one life are one row
    assert (closed.from_slot, closed.to_slot) == (40, 64)
    assert gaps.close_range(0, 1_000, closed_by="getBlocks", now=NOW) == 75
    assert told() == []


def test_a_gap_is_due_a_moment_after_it_was_opened_or_when_its_next_attempt_is(db):
    second = timedelta(seconds=1)
    assert not has_due_gap([Gap, LedgerGap], now=DUE + second)
    opened(1, 5)
    (gap,) = gaps.open_gaps()

    def is_due(now):
        found = list(due_gaps(Gap, now=now))
        assert found in ([], [gap])
        assert has_due_gap([Gap, LedgerGap], now=now) == bool(found)
        assert not has_due_gap([LedgerGap], now=now)
        return bool(found)

    assert [is_due(DUE + each * second) for each in (-1, 1)] == [False, True]
    life_cycle.record_attempt(
        Gap, gap.pk, source="a", result="", now=NOW, next_try_at=DUE + 60 * second
    )
    assert [is_due(DUE + each * second) for each in (1, 59, 61)] == [False, False, True]
    gaps.give_up([gap.pk], by="staff", now=NOW)
    assert not is_due(DUE + 61 * second)
    gaps.retry_now([gap.pk], by="ada", now=NOW)
    assert is_due(NOW + second)
    gaps.close_range(1, 5, closed_by="node", now=NOW)
    assert not is_due(DUE + 61 * second)


def test_tries_are_remembered_and_due_gaps_come_newest_first(db):
    opened(1, 5)
    opened(50, 55)
    old, new = gaps.open_gaps()
    later = NOW + timedelta(minutes=1)
    assert list(due_gaps(Gap, now=DUE)) == [new, old]
    life_cycle.record_attempt(
        Gap, new.pk, source="node", result="HTTP 503", now=NOW, next_try_at=later
    )
    assert list(due_gaps(Gap, now=DUE)) == [old]
    assert due_gaps(Gap, now=later)[0] == new
    new.refresh_from_db()
    assert new.tries == 1
    assert new.history[-1] == {
        "at": NOW.isoformat(),
        "event": "tried",
        "source": "node",
        "result": "HTTP 503",
    }
    assert gaps.retry_now([new.pk], by="ada", now=NOW) == 1
    assert due_gaps(Gap, now=DUE)[0] == new
    gaps.close_range(50, 55, closed_by="node", now=NOW)
    life_cycle.record_attempt(
        Gap, new.pk, source="node", result="too late", now=NOW, next_try_at=later
    )
    new.refresh_from_db()
    assert (new.tries, gaps.retry_now([new.pk], by="ada", now=NOW)) == (1, 0)


def test_a_history_keeps_its_latest_events(db):
    opened(1, 5)
    gap = Gap.objects.get()
    for number in range(60):
        life_cycle.record_attempt(
            Gap, gap.pk, source="node", result=str(number), now=NOW, next_try_at=NOW
        )
    gap.refresh_from_db()
    assert (gap.tries, len(gap.history), gap.history[-1]["result"]) == (60, 50, "59")


@pytest.mark.parametrize("model", [Gap, LedgerGap])
def test_the_database_refuses_open_gaps_that_overlap(db, model):
    row = {"status": UNKNOWN, "cause": "stream_lost", "opened_at": NOW}
    model.objects.create(from_slot=1, to_slot=5, **row)
    model.objects.create(from_slot=5, to_slot=9, closed_at=NOW, **row)
    for first, last in [(5, 9), (9, 8)]:
        with pytest.raises(IntegrityError), transaction.atomic():
            model.objects.create(from_slot=first, to_slot=last, **row)


def test_a_stream_goes_on_below_what_nobody_has_tried_to_fill(record):
    assert resume_slot() is None
    record(block(10), block(11))
    assert resume_slot() == 11
    record(block(20, parent=17))
    assert resume_slot() == 10 + 1
    for gap in gaps.open_gaps():
        life_cycle.record_attempt(
            Gap, gap.pk, source="stream", result="gone", now=NOW, next_try_at=NOW
        )
    assert resume_slot() == 20
    assert stored([9, 10, 11, 12, 20]).keys() == {10, 11, 20}


def test_racing_gaps_and_slots_agree_on_what_is_there(committed):
    record_slots([block(0)], source="stream", now=NOW)
    together = Barrier(4)

    def run(number):
        together.wait()
        try:
            for slot in range(1, 25):
                if number % 2:
                    record_slots([block(slot)], source="stream", now=NOW)
                else:
                    opened(max(1, slot - 3), slot + 3, MISSING)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert told() in ([], [(25, 27, MISSING)])


def test_what_cannot_be_had_is_carved_out_and_is_no_longer_waited_for(record, rpc):
    record(block(10), block(30, parent=29))
    assert resume_slot() == 10
    window = SlotRange(11, 24)
    assert life_cycle.give_up(Gap, window, by=life_cycle.PROOF, why="begins at 25", now=NOW) == 14
    assert life_cycle.give_up(Gap, window, by=life_cycle.PROOF, why="begins at 25", now=NOW) == 0
    states = [(gap.from_slot, gap.to_slot, gap.state) for gap in gaps.open_gaps()]
    assert states == [(11, 24, "given_up"), (25, 28, "open"), (29, 29, "open")]
    event = gaps.open_gaps()[0].history[-1]
    assert (event["event"], event["result"]) == ("given up", "begins at 25")
    assert resume_slot() == 24
    assert [gap.from_slot for gap in due_gaps(Gap, now=DUE)] == [29, 25]
    result = rpc("/rewind", "getRewindCoverage", {"fromSlot": 20})["result"]
    assert (result["missingSlotCount"], result["cannotBeHadSlotCount"]) == (10, 5)
    assert result["gaps"] == [
        {"fromSlot": 20, "toSlot": 24, "status": "unknown", "state": "cannot_be_had"},
        {"fromSlot": 25, "toSlot": 28, "status": "unknown"},
        {"fromSlot": 29, "toSlot": 29, "status": "missing"},
    ]


def test_what_cannot_be_had_and_comes_all_the_same_closes(record):
    record(block(10), block(13, parent=12))
    gaps.give_up([gap.pk for gap in gaps.open_gaps()], by="somebody", now=NOW)
    opened(9, 12)  # told again
    assert {gap.state for gap in gaps.open_gaps(10, 12)} == {"given_up"}
    assert gaps.open_gaps(9, 9)[0].state == "open"
    record(block(12, parent=10))
    assert told() == [(9, 9, UNKNOWN)]
