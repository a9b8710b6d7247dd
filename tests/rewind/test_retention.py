"""What falls out of the window, and what stays readable."""

from concurrent.futures import ThreadPoolExecutor

from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from gaps.slot_gap import GapStatus
from rewind.accounts.store.slot_lookup import look_up_slot
from rewind.accounts.store.states import newest_state
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services.gaps import archive_gaps as gaps
from rewind.models import AccountChange, ArchivedSlot, SlotTally
from rewind.positions import CARRIED, END_OF_SLOT, Position
from rewind.recording.services.recording import record_slots
from rewind.recording.services.retention import prune
from rewind.recording.store.partitions import PARTITION_SLOTS, drop, existing
from rewind.recording.store.slots import bounds
from tests.examples import examples
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, rows, signature, write
from tests.rewind.sealed_forms import Form, seal

EDGE = PARTITION_SLOTS


def state(account, slot):
    """Lamports at the end of a slot, None when no row tells; 0 stands for a closed account."""
    found = AccountChange.objects.filter(pubkey=key(account), slot__lte=slot)
    row = found.order_by("-slot", "-position").first()
    return None if row is None else row.lamports


def read(account, slot):
    """The same, sealed or not, as reads find it."""
    position = Position.end_of(slot)
    found = newest_state(key(account), position, look_up_slot(slot).layout)
    return None if found is None else found.lamports


def test_an_old_account_stays_readable_and_its_history_goes(record):
    record(
        block(10, writes=[write(1, lamports=1), write(2, lamports=2)]),
        block(11, writes=[write(1, lamports=11), write(3, lamports=3)]),
        block(12, writes=[write(3, lamports=0)]),
    )
    record(block(EDGE, parent=12, writes=[write(2, signature(EDGE, 1), lamports=22)]))
    assert [fallen.first for fallen in prune(EDGE)] == [0]
    assert sorted(rows()) == sorted(
        [
            (key(1), EDGE, CARRIED, 11, 1, b""),
            (key(2), EDGE, CARRIED, 2, 1, b""),
            (key(2), EDGE, 1, 22, 0, b""),
        ]
    )
    assert bounds() == (EDGE, EDGE)
    assert [tally.run for tally in SlotTally.objects.all()] == [EDGE // 1_000]


def test_the_window_ends_where_it_is_told_and_its_partition_falls_when_all_of_it_is_old(record):
    record(block(10, writes=[write(1)]), block(EDGE, parent=10, writes=[write(2)]))
    assert prune(EDGE - 1) == []
    assert bounds() == (EDGE, EDGE)
    assert state(1, EDGE) == 1_000
    assert [partition.first for partition in prune(EDGE)] == [0]
    assert prune(EDGE) == []


def test_what_fell_does_not_come_back(record, rpc):
    record(block(10), block(11, writes=[write(1)]), block(EDGE + 1, parent=11, writes=[write(1)]))
    prune(EDGE)
    told = record(block(12, writes=[write(2)]), block(EDGE + 2))
    assert (told.too_old, told.recorded) == ([12], [EDGE + 2])
    assert not ArchivedSlot.objects.filter(slot__lt=EDGE).exists()
    result = rpc("/rewind", "getRewindCoverage")["result"]
    assert (result["earliestSlot"], result["latestSlot"]) == (EDGE + 1, EDGE + 2)


def test_gaps_are_cut_at_the_windows_edge(record):
    record(block(10, writes=[write(1)]), block(EDGE + 10, parent=EDGE + 7))
    gaps.close_range(100, 200, closed_by="getBlocks", now=NOW)
    prune(EDGE)
    assert [(gap.from_slot, gap.to_slot) for gap in gaps.open_gaps()] == [
        (EDGE, EDGE + 6),
        (EDGE + 7, EDGE + 7),
    ]
    gaps.open_gap(5, EDGE, status=GapStatus.UNKNOWN, cause="stream_lost", now=NOW)
    assert gaps.open_gaps()[0].from_slot == EDGE


def test_a_baseline_is_carried_too_and_again_at_the_next_edge(record):
    record_baseline([write(1, lamports=5)], 20, source="snapshot", now=NOW)
    record(block(21, writes=[write(2)]), block(EDGE * 2 + 1, parent=21, writes=[write(3)]))
    prune(EDGE)
    assert state(1, EDGE) == 5
    prune(EDGE * 2)
    assert (state(1, EDGE * 2), state(2, EDGE * 2)) == (5, 1_000)
    assert {row[2] for row in rows() if row[1] <= EDGE * 2} == {CARRIED}


def test_a_run_that_was_stopped_goes_on(committed, all_slices):
    from rewind.recording.store import carry_over, slots
    from rewind.sealed.store import unsealing

    record_slots([block(1, writes=[write(n) for n in range(200)])], source="s", now=NOW)
    record_slots([block(EDGE, parent=1, writes=[write(0)])], source="s", now=NOW)
    slots.keep_from(EDGE, edge_is_whole=False, lost=None)
    unsealing.copy([])
    for first_byte in range(100):
        carry_over.carry(first_byte, EDGE)
    assert 0 < len(rows()) - 201 < 200
    prune(EDGE)
    assert len(rows()) == 201
    assert all(state(n, EDGE) == 1_000 for n in range(200))


def test_writers_and_a_prune_at_once_lose_nothing(committed, all_slices):
    record_slots([block(EDGE - 1, writes=[write(n) for n in range(50)])], source="s", now=NOW)

    def follow():
        try:
            for slot in range(EDGE, EDGE + 30):
                writes = [write(slot - EDGE, lamports=slot)]
                record_slots([block(slot, writes=writes)], source="s", now=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        prune(EDGE)
        following.result()
    prune(EDGE)
    assert [partition.first for partition in existing()] == [EDGE]
    assert [state(n, EDGE + 30) for n in range(50)] == [
        EDGE + n if n < 30 else 1_000 for n in range(50)
    ]


def test_a_partition_that_somebody_reads_for_long_waits_for_the_next_run(committed):
    record_slots([block(1, writes=[write(1)])], source="s", now=NOW)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert len(rows()) == 1  # holds a lock on the partition to the end

            def other():
                try:
                    return drop(existing()[0])
                finally:
                    connection.close()

            assert pool.submit(other).result() is False
        assert pool.submit(other).result() is True


def test_a_long_write_makes_a_prune_wait_for_its_next_run(committed):
    from rewind.recording.store import slots

    record_slots([block(1, writes=[write(1)]), block(EDGE, parent=1)], source="s", now=NOW)

    def pruned():
        try:
            return prune(EDGE)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            slots.lock_for_writing([EDGE + 1])
            assert pool.submit(pruned).result() == []
            assert bounds() == (1, EDGE)
        assert len(pool.submit(pruned).result()) == 1
    assert bounds() == (EDGE, EDGE)


@st.composite
def lives(draw):
    """Writes to a few accounts on both sides of an edge: {slot: {account: lamports}}."""
    slots = draw(st.sets(st.integers(EDGE - 6, EDGE + 6), min_size=1, max_size=8))
    some = st.dictionaries(st.integers(0, 3), st.integers(0, 2), max_size=4)
    return {slot: draw(some) for slot in sorted(slots)}


@settings(max_examples=examples(12))
@given(lives(), st.sampled_from([Form.HOT, Form.SEALED, Form.HALF]))
def test_every_state_in_the_window_reads_as_before(db, life, form):
    with transaction.atomic():
        previous = 0
        for slot, told in life.items():
            writes = [
                write(account, signature(slot, account), lamports=lamports)
                for account, lamports in told.items()
            ]
            record_slots([block(slot, parent=previous, writes=writes)], source="s", now=NOW)
            previous = slot
        if form is not Form.HOT:
            seal(half=form is Form.HALF)
        asked = [(account, slot) for account in range(4) for slot in range(EDGE, EDGE + 8)]
        before = [read(*each) or None for each in asked]
        prune(EDGE)
        assert [read(*each) or None for each in asked] == before
        assert not AccountChange.objects.filter(slot__lt=EDGE).exists()
        assert END_OF_SLOT not in {row[2] for row in rows()}
        transaction.set_rollback(True)
