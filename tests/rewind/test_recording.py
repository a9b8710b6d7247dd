"""Slots into the archive: order, doubling, filters, partitions, and who writes at once."""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, transaction

from chain.blocks import Granularity
from chain.units import U64_MAX
from rewind.errors import BadSlot, SlotConflict
from rewind.models import AccountChange, ArchivedSlot, FilteredPubkey, Owner, SlotTally
from rewind.positions import END_OF_SLOT, START_OF_SLOT
from rewind.recording.services.recording import record_slots
from rewind.recording.store.partitions import PARTITION_SLOTS, existing
from tests.rewind.conftest import NOW
from tests.rewind.samples import PROGRAM, block, key, rows, signature, write

COARSE = Granularity.SLOT


def test_a_write_stands_where_its_transaction_stands_in_the_block(record):
    told = record(
        block(
            100,
            writes=[
                write(1, signature(100, 2), version=7, lamports=30),
                write(1, signature(100, 0), version=3, lamports=10, data=b"first"),
                write(2, signature(100, 0), version=4),
            ],
        )
    )
    assert (told.recorded, told.changes) == ([100], 3)
    assert sorted(rows()) == sorted(
        [
            (key(1), 100, 0, 10, 0, b"first"),
            (key(1), 100, 2, 30, 0, b""),
            (key(2), 100, 0, 1_000, 0, b""),
        ]
    )
    slot = ArchivedSlot.objects.get()
    assert (slot.changes, slot.source, slot.granularity) == (3, "stream", 0)


def test_of_several_updates_by_one_transaction_the_last_stands(record):
    by = signature(5, 1)
    record(block(5, writes=[write(1, by, version=v, lamports=v) for v in (4, 9, 2)]))
    assert [row[3] for row in rows()] == [9]


def test_writes_without_a_transaction_stand_at_the_start_and_at_the_end(record):
    record(
        block(
            5,
            writes=[
                write(1, version=1, lamports=1),
                write(1, version=2, lamports=2),
                write(2, signature(5, 0), version=3),
                write(1, version=8, lamports=8),
                write(1, version=9, lamports=9),
            ],
        )
    )
    assert [row[2:4] for row in rows() if row[0] == key(1)] == [
        (START_OF_SLOT, 2),
        (END_OF_SLOT, 9),
    ]


def test_any_order_and_any_repetition_of_the_writes_gives_the_same_rows(record):
    writes = [
        write(account, signature(7, index), version=10 * index + account, lamports=index)
        for index in range(4)
        for account in range(6)
    ] + [write(1, version=0), write(2, version=99)]
    record(block(7, writes=writes))
    expected = rows()
    for seed in range(5):
        with transaction.atomic():
            for model in (AccountChange, ArchivedSlot):
                model.objects.all().delete()
            mixed = writes * 2
            random.Random(seed).shuffle(mixed)
            record(block(7, writes=mixed))
            assert rows() == expected
            transaction.set_rollback(True)


def test_the_same_slot_twice_changes_nothing(record):
    first = block(9, writes=[write(1, signature(9, 0))])
    record(first)
    expected = rows()
    other = block(9, writes=[write(1, signature(9, 3), lamports=5)])
    told = record(first, other)
    assert (told.recorded, told.present, told.changes) == ([], [9, 9], 0)
    assert rows() == expected
    assert SlotTally.objects.get().slots == 1


def test_another_block_for_a_slot_is_refused_and_nothing_of_its_company_is_written(record):
    record(block(9))
    with pytest.raises(SlotConflict, match=r"slot 9: holds block .* already, not "):
        record(block(10), block(9, fork=1))
    with pytest.raises(SlotConflict, match="slot 12: comes as "):
        record(block(12), block(12, fork=1))
    assert list(ArchivedSlot.objects.values_list("slot", flat=True)) == [9]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (block(5, writes=[write(1, signature(6, 0))]), "which its block does not have"),
        (block(5, parent=5), "its parent 5 does not come before it"),
        (block(5, parent=-1), "its parent -1 does not come before it"),
        (block(2**63), "the slot is out of range"),
        (block(5, writes=[write(b"short")]), "has not 32 bytes"),
        (block(5, writes=[write(1, owner=b"")]), "has not 32 bytes"),
        (block(5, writes=[write(1, lamports=2**64)]), "no u64"),
        (block(5, writes=[write(1, version=-1)]), "no u64"),
    ],
)
def test_a_slot_that_makes_no_sense_is_refused_in_words(record, told, reason):
    with pytest.raises(BadSlot, match=reason):
        record(block(4), told)
    assert not ArchivedSlot.objects.exists()


def test_a_slot_of_last_writes_is_completed_by_one_of_every_write(record):
    last = write(1, signature(5, 3), version=9, lamports=9)
    earlier = write(1, signature(5, 1), version=4, lamports=4)
    record(block(5, writes=[last], granularity=COARSE))
    assert SlotTally.objects.get().coarse_slots == 1
    told = record(block(5, writes=[earlier, last]), source="other stream")
    assert (told.improved, told.recorded, told.changes) == ([5], [], 1)
    assert [row[2:4] for row in rows()] == [(1, 4), (3, 9)]
    slot = ArchivedSlot.objects.get()
    assert (slot.granularity, slot.changes, slot.source) == (0, 2, "other stream")
    tally = SlotTally.objects.get()
    assert (tally.slots, tally.coarse_slots, tally.changes) == (1, 0, 2)
    told = record(block(5, writes=[last], granularity=COARSE))
    assert told.present == [5]


def test_no_account_stands_before_the_transactions_as_it_was_after_them(record):
    """The leader paid for the only transaction: of its writes a replay has the fees' alone."""
    clock, fees = write(7, version=1), write(1, version=3, lamports=6)
    record(block(5, writes=[clock, fees], transactions=1, granularity=COARSE))
    assert [row[2:4] for row in rows() if row[0] == key(1)] == [(END_OF_SLOT, 6)]
    paid = write(1, signature(5, 0), version=2, lamports=5)
    told = record(block(5, writes=[clock, paid, fees], transactions=1))
    assert told.improved == [5]
    assert [row[2:4] for row in rows() if row[0] == key(1)] == [(0, 5), (END_OF_SLOT, 6)]


def test_numbers_up_to_the_last_u64_come_back_as_they_were(record):
    most = write(1, version=U64_MAX, lamports=U64_MAX, rent_epoch=U64_MAX)
    record(block(5, writes=[most, write(2, rent_epoch=0)]))
    row = AccountChange.objects.get(pubkey=key(1))
    assert (row.lamports, row.rent_epoch, row.write_version) == (U64_MAX, U64_MAX, U64_MAX)
    assert AccountChange.objects.get(pubkey=key(2)).rent_epoch == 0


def test_an_account_of_ten_megabytes_comes_back_whole(record):
    data = random.Random(1).randbytes(10 * 1024 * 1024)
    record(block(5, writes=[write(1, signature(5, 0), data=data)]))
    assert bytes(AccountChange.objects.get().data) == data


def test_what_is_filtered_is_dropped_from_then_on_and_no_longer_than_that(record):
    vote = bytes([7]) * 32

    def slot(number):
        return block(
            number,
            writes=[write(1, owner=vote), write(2, signature(number, 0)), write(3)],
        )

    record(slot(1))
    Owner.objects.filter(pubkey=vote).update(filtered=True)
    FilteredPubkey.objects.create(pubkey=key(3))
    told = record(slot(2))
    assert (told.changes, told.filtered) == (1, 2)
    Owner.objects.update(filtered=False)
    FilteredPubkey.objects.all().delete()
    record(slot(3))
    assert [(row[0], row[1]) for row in rows()] == sorted(
        [(key(n), s) for n, s in [(1, 1), (2, 1), (3, 1), (2, 2), (1, 3), (2, 3), (3, 3)]]
    )
    assert ArchivedSlot.objects.get(slot=2).changes == 1


def test_slots_on_both_sides_of_an_edge_go_to_partitions_of_their_own(record):
    edge = 3 * PARTITION_SLOTS
    record(*[block(slot, writes=[write(1)]) for slot in (edge - 1, edge, edge + 1)])
    assert [(p.first, p.last) for p in existing()] == [
        (edge - PARTITION_SLOTS, edge - 1),
        (edge, edge + PARTITION_SLOTS - 1),
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {existing()[1].table}")
        assert cursor.fetchone() == (2,)


def test_a_slot_without_writes_is_archived_all_the_same(record):
    told = record(block(5, transactions=0))
    assert (told.recorded, told.changes) == ([5], 0)
    assert record().recorded == []


def test_a_slot_without_account_writes_is_not_archived(record):
    told = record(block(5), block(6, writes=None), block(7))
    assert (told.recorded, told.without_accounts) == ([5, 7], [6])
    assert list(ArchivedSlot.objects.values_list("slot", flat=True)) == [7, 5]


def test_a_transaction_that_is_rolled_back_leaves_nothing_behind(record):
    owner = bytes([5]) * 32
    with transaction.atomic():
        record(block(5, writes=[write(1, owner=owner)]))
        transaction.set_rollback(True)
    assert not Owner.objects.filter(pubkey=owner).exists()
    record(block(5, writes=[write(1, owner=owner)]))
    assert AccountChange.objects.get().owner.pubkey == Owner.objects.get(pubkey=owner).pubkey


def test_racing_writers_of_the_same_slots_agree(committed):
    slots = range(PARTITION_SLOTS - 5, PARTITION_SLOTS + 5)
    threads = 6
    together = Barrier(threads)

    def run(number):
        records = [
            block(
                slot,
                writes=[
                    write(a, signature(slot, a % 4), version=a, owner=bytes([a % 3 + 1]) * 32)
                    for a in range(30)
                ],
            )
            for slot in slots
        ]
        random.Random(number).shuffle(records)
        together.wait()
        try:
            return [
                sum(
                    len(record_slots([each], source=f"{number}", now=NOW).recorded) for each in half
                )
                for half in (records[:5], records[5:])
            ]
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        recorded = list(pool.map(run, range(threads)))
    assert sum(map(sum, recorded)) == len(slots)
    assert len(rows()) == 30 * len(slots)
    assert Owner.objects.count() == 3
    assert sum(ArchivedSlot.objects.values_list("changes", flat=True)) == 30 * len(slots)
    assert SlotTally.objects.count() == 2 or sum(t.slots for t in SlotTally.objects.all()) == 10
    assert set(Owner.objects.values_list("pk", flat=True)) == set(
        AccountChange.objects.values_list("owner_id", flat=True)
    )
    assert PROGRAM not in {bytes(owner.pubkey) for owner in Owner.objects.all()}
