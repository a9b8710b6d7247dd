"""How point reads meet PostgreSQL: the plan, the number of statements, partitions that fall."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from psycopg.errors import UndefinedTable

from columns import raw_queries
from columns.poolers import is_pooled
from columns.statements import MOST_PREPARED
from rewind.accounts.store import account_reads, slot_lookup, states
from rewind.accounts.store.states import newest_state, newest_states
from rewind.baselines.services.baseline import record_baseline
from rewind.errors import SlotTooOld
from rewind.models import AccountSegments, ArchiveState
from rewind.positions import END_OF_SLOT, Position
from rewind.recording.services.recording import record_slots
from rewind.recording.services.retention import prune
from rewind.recording.store import partitions, slots
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.services import segments
from rewind.sealed.store import segments as store
from tests.cluster import one_machine
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, signature, write


def layout() -> int:
    return ArchiveState.objects.get().layout


def lamports_at(account: int, slot: int) -> int | None:
    """By all reads, which agree."""
    position = Position.end_of(slot)
    # First, while what it knows of the partitions may be old.
    lookup, looked_at, *_ = account_reads.look(key(account), position)
    assert lookup == slot_lookup.look_up_slot(slot)
    one = newest_state(key(account), position, layout())
    assert looked_at == one
    assert newest_states([key(account)], position, layout()).get(key(account)) == one
    return None if one is None else one.lamports


def index_all() -> list[int]:
    """The segments that were indexed until nothing was left to do."""
    found, before = [], None
    while before != (before := store.progress()):
        number = segments.index_next()
        found += [] if number is None else [number]
    return found


@one_machine
@pytest.mark.parametrize("is_analyzed", [False, True])
def test_a_read_uses_each_partitions_index_and_ends_with_the_first_that_has_a_row(
    record: Callable[..., Any], is_analyzed: bool
) -> None:
    firsts = range(0, 12 * PARTITION_SLOTS, PARTITION_SLOTS)
    for first in firsts:
        writes = [write(n, signature(first + 5, n % 4)) for n in range(500)]
        record(block(first + 5, parent=max(first - 1, 0), writes=writes))
    with connection.cursor() as cursor:
        if is_analyzed:
            cursor.execute("ANALYZE rewind_accountchange")
        for sql, keys in (
            (states.single(partitions.layout(layout()).segments[0].partitions), "bytea"),
            (states.several(partitions.layout(layout()).segments[0].partitions), "bytea[]"),
        ):
            cursor.execute(f"PREPARE read ({keys}, bigint, bigint) AS {sql}")
            cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            given = key(7) if keys == "bytea" else [key(7)]
            asked = 8 * PARTITION_SLOTS + 9
            cursor.execute(
                "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE read (%s, %s, %s)",
                [given, asked, END_OF_SLOT],
            )
            plan = [line for (line,) in cursor.fetchall()]
            cursor.execute("DEALLOCATE read")
            scans = [line for line in plan if "on rewind_changes_" in line]
            run = [line for line in scans if "never executed" not in line]
            assert len(scans) == 12
            assert all("Index Scan Backward" in line for line in scans)
            assert len(run) == 1
            assert f"rewind_changes_{8 * PARTITION_SLOTS}_" in run[0]
            conditions = [line for line in plan if "Index Cond: ((pubkey" in line and "ROW" in line]
            assert len(conditions) == 12


@one_machine
def test_an_account_far_below_takes_three_statements(record: Callable[..., Any]) -> None:
    for number in range(6):
        first = number * SEGMENT_SLOTS
        record(block(first + 9, parent=first + 8, writes=[write(50 + number)]))
    record(block(11, parent=9, writes=[write(1, lamports=5), write(2, lamports=6)]))
    top = 7 * SEGMENT_SLOTS
    record(block(top, parent=top - 1, writes=[write(60)]))
    assert index_all() == [0, 1, 2, 3, 4, 5]
    position = Position.end_of(top)
    for read in (
        lambda: newest_state(key(1), position, layout()),
        lambda: newest_states([key(1), key(2)], position, layout())[key(1)],
    ):
        read()
        with connection.cursor() as cursor:
            before = _executions(cursor)
            assert read().lamports == 5
            assert _executions(cursor) - before <= 3
    assert lamports_at(3, top) is None


def _executions(cursor: Any) -> int:
    cursor.execute(
        "SELECT sum(generic_plans + custom_plans) FROM pg_prepared_statements"
        " WHERE statement LIKE '%%rewind_changes%%' OR statement LIKE '%%accountsegments%%'"
    )
    return int(cursor.fetchone()[0] or 0)


def test_what_comes_late_to_an_indexed_segment_is_found(record: Callable[..., Any]) -> None:
    top = 2 * SEGMENT_SLOTS + 5
    record(block(10, writes=[write(1, lamports=1)]), block(11))
    record(block(top, parent=top - 1, writes=[write(9)]))
    assert index_all() == [0]
    assert lamports_at(1, top) == 1
    record(block(30, parent=29, writes=[write(1, lamports=2), write(2, lamports=3)]))
    record_baseline([write(3, lamports=4)], 40, source="late", now=NOW)
    other = SEGMENT_SLOTS + 3  # of a segment that had no slots when the others were indexed
    record(block(other, parent=other - 1, writes=[write(4, lamports=5)]))
    assert [lamports_at(n, top) for n in (1, 2, 3, 4)] == [2, 3, 4, 5]
    assert lamports_at(1, 20) == 1
    rows = {bytes(row.pubkey): row.last_slots for row in AccountSegments.objects.all()}
    assert rows[key(1)] == [30]


def test_an_account_has_one_row_for_many_segments(record: Callable[..., Any]) -> None:
    places = [number * SEGMENT_SLOTS + 7 for number in (0, 1, 5, 63, 64, 65)]
    for slot in places:
        record(block(slot, parent=slot - 1, writes=[write(1, lamports=slot)]))
    top = 66 * SEGMENT_SLOTS + PARTITION_SLOTS
    record(block(top, parent=top - 1, writes=[write(9)]))
    index_all()
    rows = AccountSegments.objects.filter(pubkey=key(1)).order_by("run")
    assert [(row.run, row.last_slots) for row in rows] == [(0, places[:4]), (1, places[4:])]
    for place in places:
        assert lamports_at(1, place) == lamports_at(1, place + SEGMENT_SLOTS - 8) == place
    record(block(places[2] + 1, parent=places[2], writes=[write(1, lamports=3)]))
    assert lamports_at(1, places[3] - 1) == 3
    assert AccountSegments.objects.get(pubkey=key(1), run=0).last_slots[2] == places[2] + 1


@pytest.mark.usefixtures("all_slices")
def test_what_fell_out_of_the_window_leaves_the_index(record: Callable[..., Any]) -> None:
    top = 2 * SEGMENT_SLOTS
    below = SEGMENT_SLOTS - 9
    record(block(below, parent=below - 1, writes=[write(1, lamports=1)]))
    record(block(top, parent=top - 1, writes=[write(9)]))
    assert index_all() == [0]
    assert AccountSegments.objects.get().last_slots == [below]
    prune(top)
    assert lamports_at(1, top) == 1
    assert not AccountSegments.objects.exists()


@pytest.fixture
def two_partitions(committed: None) -> None:
    record_slots([block(10, writes=[write(1, lamports=7)])], source="s", now=NOW)
    edge = PARTITION_SLOTS
    record_slots([block(edge + 5, parent=10, writes=[write(2)])], source="s", now=NOW)
    partitions.forget()


def test_a_partition_that_falls_between_two_reads_is_not_missed(two_partitions: None) -> None:
    old, edge = layout(), PARTITION_SLOTS
    assert lamports_at(1, edge + 5) == 7  # the partitions are known by heart now
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_elsewhere, lambda: prune(edge)).result()
    position = Position.end_of(edge + 5)
    assert newest_state(key(1), position, old).lamports == 7
    partitions.layout(old)
    found = newest_states([key(1), key(2)], position, old)
    assert {pubkey: state.slot for pubkey, state in found.items()} == {
        key(1): edge,
        key(2): edge + 5,
    }


def test_a_position_that_leaves_the_window_while_it_is_read_is_refused(
    two_partitions: None,
) -> None:
    old, edge = layout(), PARTITION_SLOTS
    assert lamports_at(1, 10) == 7
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_elsewhere, lambda: prune(edge)).result()
    for read in (
        lambda: newest_state(key(1), Position.end_of(10), old),
        lambda: newest_states([key(1)], Position.end_of(10), old),
    ):
        with pytest.raises(SlotTooOld):
            read()


def test_inside_a_transaction_a_fallen_partition_is_an_error_once(two_partitions: None) -> None:
    old, edge = layout(), PARTITION_SLOTS
    assert lamports_at(1, edge + 5) == 7
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_elsewhere, lambda: prune(edge)).result()
    position = Position.end_of(edge + 5)
    with pytest.raises(UndefinedTable), transaction.atomic():
        newest_state(key(1), position, old)
    with transaction.atomic():
        assert newest_state(key(1), position, old).lamports == 7


def test_an_index_is_begun_when_no_writer_is_at_work_and_writers_see_to_theirs(
    committed: None,
) -> None:
    top = 2 * SEGMENT_SLOTS
    record_slots([block(10, writes=[write(1, lamports=1)])], source="s", now=NOW)
    record_slots([block(top, parent=top - 1, writes=[write(9)])], source="s", now=NOW)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            # Had it been let in now, this writer would see to nothing, and it would miss his rows.
            slots.lock_for_writing([12])
            assert pool.submit(_elsewhere, segments.index_next).result() is None
            assert store.progress().kept == 0
        with transaction.atomic():
            record_slots([block(12, writes=[write(2, lamports=2)])], source="s", now=NOW)
        assert pool.submit(_elsewhere, lambda: segments.index_next(slices=1)).result() is None
        with transaction.atomic():
            record_slots([block(14, parent=12, writes=[write(3, lamports=3)])], source="s", now=NOW)
            # The slice waits for nobody, and what is not committed is not in it.
            assert store.progress().slices == 1
        assert pool.submit(_elsewhere, index_all).result() == [0]
    assert [lamports_at(n, top) for n in (1, 2, 3)] == [1, 2, 3]


def test_two_who_index_at_once_do_each_slice_once(committed: None) -> None:
    top = 2 * SEGMENT_SLOTS
    writes = [write(n, signature(10, n % 4)) for n in range(50)]
    record_slots([block(10, writes=writes)], source="s", now=NOW)
    record_slots([block(top, parent=top - 1, writes=[write(99)])], source="s", now=NOW)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(_elsewhere, index_all) for _ in range(2)]
        assert [number for each in both for number in each.result()] == [0]
    assert AccountSegments.objects.count() == 50


def _elsewhere(act: Callable[[], Any]) -> Any:
    """On another connection, in a thread of its own."""
    try:
        return act()
    finally:
        connection.close()


def test_a_connection_keeps_few_statements_however_many_partitions_it_read(
    record: Callable[..., Any],
) -> None:
    if is_pooled(raw_queries.raw_connection()):
        pytest.skip("the pooler decides how many statements its sessions keep")
    count = MOST_PREPARED + 10
    for number in range(count):
        slot = number * SEGMENT_SLOTS + 1
        record(block(slot, parent=slot - 1, writes=[write(1, lamports=number + 1)]))
    for number in range(count):
        assert lamports_at(1, number * SEGMENT_SLOTS + 1) == number + 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        assert cursor.fetchone()[0] <= MOST_PREPARED + 5
