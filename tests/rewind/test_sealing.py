"""Sealed slots read as before, whatever is written, sealed or merged meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction

from chain.accounts import AccountWrite
from chain.blocks import Granularity
from rewind.accounts.store import replaying
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.store import checking
from rewind.coverage.store.checking import Written
from rewind.positions import Position
from rewind.recording.services.recording import record_slots
from rewind.recording.services.retention import prune
from rewind.recording.store import forecasts, partitions
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.models import LateRow, SealedBlock, SealedSegment
from rewind.sealed.services import sealing as service
from rewind.sealed.services import segments
from rewind.sealed.services.sealing import Policy, seal_step
from rewind.sealed.store import sealing as store
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.histories import text
from tests.rewind.samples import block, key, rows, signature, write
from tests.rewind.sealed_forms import seal

ACCOUNTS = range(1, 30)
# Two partitions of a run, one of the next, and the newest, which is never finished here.
SLOTS = [
    *range(5, 105),
    *range(PARTITION_SLOTS + 5, PARTITION_SLOTS + 25),
    *range(SEGMENT_SLOTS + 5, SEGMENT_SLOTS + 15),
    SEGMENT_SLOTS + 2 * PARTITION_SLOTS,
]
State = Any


def writes_of(slot: int, random: Random) -> list[AccountWrite]:
    """The first account in every slot, others now and then, some closed, one of them large."""
    chosen = {1, *random.sample(ACCOUNTS, 3)}
    return [
        write(
            number,
            signature(slot, 1),
            lamports=0 if number > 1 and random.random() < 0.1 else slot + number,
            data=random.randbytes(12_000 if number == 2 else 40) + bytes(number),
        )
        for number in sorted(chosen)
    ]


@pytest.fixture
def history(committed: None, monkeypatch: pytest.MonkeyPatch) -> dict[int, list[AccountWrite]]:
    """A chain's writes by slot, archived, and blocks of a few changes each."""
    monkeypatch.setattr(service, "_BLOCK_BYTES", 400)
    monkeypatch.setattr(service, "_CHANGES", 150)
    random = Random(1)
    slots = {slot: writes_of(slot, random) for slot in SLOTS}
    # Of the slots behind the first hundred some are missing.
    record_chain(slots, missing_after=104)
    return slots


def record_chain(slots: dict[int, list[AccountWrite]], *, missing_after: int | None = None) -> None:
    """Archives the slots, each the next one's parent, some to a transaction."""
    parents = [0, *(200 if slot == missing_after else slot for slot in slots)]
    records = [
        block(slot, parent, writes)
        for (slot, writes), parent in zip(slots.items(), parents, strict=False)
    ]
    for start in range(0, len(records), 16):
        record_slots(records[start : start + 16], source="stream", now=NOW)


def everything(rpc: Rpc) -> list[Any]:
    """Every account at many positions, some of them alone, and all its changes, page by page."""
    told: list[Any] = []
    positions = (5, 50, 60, 104, PARTITION_SLOTS + 10, SEGMENT_SLOTS, SEGMENT_SLOTS + 9, SLOTS[-1])
    for number in ACCOUNTS:
        pubkey = text(key(number))
        for slot in positions if number < 4 or number % 8 == 0 else ():
            told.append(rpc("/rewind", "getAccountInfo", pubkey, {"slot": slot})["result"])
        at, pages = None, 0
        while pages == 0 or at is not None:
            config = {"fromSlot": 5, "toSlot": SLOTS[-1], "limit": 17, "includeData": True}
            config |= {"encoding": "base64"} | ({} if at is None else {"before": at})
            result = rpc("/rewind", "getAccountChanges", pubkey, config)["result"]
            told.append(result)
            at, pages = result["value"]["next"], pages + 1
    keys = [text(key(number)) for number in ACCOUNTS]
    for slot in positions:
        told.append(rpc("/rewind", "getMultipleAccounts", keys, {"slot": slot})["result"])
    return told


def test_sealed_and_merged_slots_read_as_before(rpc: Rpc, history: Any) -> None:
    before, changes = everything(rpc), len(rows())
    assert seal(half=True) > 4
    assert [each.first for each in partitions.existing()] == [SLOTS[-1]]
    sealed = SealedSegment.objects.filter(state=1).order_by("first_slot")
    assert [(each.first_slot, each.last_slot) for each in sealed] == [
        (0, SEGMENT_SLOTS - 1),
        (SEGMENT_SLOTS, SEGMENT_SLOTS + PARTITION_SLOTS - 1),
    ]
    assert sum(each.changes for each in sealed) + len(rows()) == changes
    assert SealedBlock.objects.count() > 60
    assert everything(rpc) == before
    while segments.index_next() is not None:
        pass
    assert everything(rpc) == before


def test_rows_that_come_while_a_partition_is_sealed_are_kept(
    rpc: Rpc, history: Any, record: Any
) -> None:
    assert seal_step(Policy(margin=0), now=NOW)
    assert seal_step(Policy(margin=0), now=NOW)  # the first of its blocks lie there
    building = SealedSegment.objects.get(state=0)
    record(block(107, parent=104, writes=[write(1, signature(107, 0), lamports=7)]))
    record_baseline([write(40, lamports=9)], 90, source="late", now=NOW)
    assert LateRow.objects.count() == 2
    before = everything(rpc)
    while SealedSegment.objects.get(pk=building.pk).state == 0:
        seal_step(Policy(margin=0), now=NOW)
    assert not LateRow.objects.exists()
    late = next(each for each in partitions.existing() if each.first == 0)
    assert late.turn
    assert {row[1] for row in rows() if row[1] < PARTITION_SLOTS} == {90, 107}
    assert everything(rpc) == before
    seal(half=True)
    assert {row[1] for row in rows()} == {SLOTS[-1]}
    assert everything(rpc) == before
    found = rpc("/rewind", "getAccountInfo", text(key(40)), {"slot": 100})["result"]["value"]
    assert found["lamports"] == 9


def test_what_is_written_again_over_sealed_slots_is_corrected_once(rpc: Rpc, history: Any) -> None:
    seal(half=True)
    slot = 50
    right = [write(1, signature(slot, 1), lamports=77), *history[slot][1:]]
    again = record_slots([block(slot, 49, right)], source="again", now=NOW, recheck=True)
    assert (again.changes, again.corrected) == (0, 1)
    # The others say what is sealed, and take no room.
    assert [row[:4] for row in rows() if row[1] == slot] == [(key(1), slot, 1, 77)]
    told = rpc("/rewind", "getAccountInfo", text(key(1)), {"slot": slot})["result"]["value"]
    assert told["lamports"] == 77
    before = everything(rpc)
    monkey = SealedSegment.objects.get(state=1, first_slot=0)
    assert seal(half=True, late_share=0.0) == 0  # a megabyte at least
    job = service._of(
        monkey.first_slot, monkey.last_slot, store.active()[:1], partitions.existing()
    )
    store.begin(*service._terms(job), NOW)
    seal(half=True)
    assert not [each for each in partitions.existing() if each.first == 0]
    assert everything(rpc) == before


def test_a_slot_of_last_writes_is_completed_over_sealed_slots(rpc: Rpc, committed: None) -> None:
    coarse = block(5, 0, [write(1, lamports=3)], granularity=Granularity.SLOT)
    record_slots([coarse], source="polled", now=NOW)
    record_slots([block(SLOTS[-1], 5)], source="stream", now=NOW)
    seal(half=True)
    fine = block(5, 0, [write(1, signature(5, 0), lamports=2), write(1, version=1, lamports=3)])
    assert record_slots([fine], source="stream", now=NOW).changes == 1
    told = rpc("/rewind", "getAccountChanges", text(key(1)), {"fromSlot": 5, "toSlot": 9})
    assert [each["lamports"] for each in told["result"]["value"]["changes"]] == [3, 2]


def test_a_damaged_block_is_named_and_never_served(rpc: Rpc, history: Any) -> None:
    seal(half=True)
    blocks = SealedBlock.objects.filter(segment=store.active()[0].id)
    damaged = blocks.order_by("pubkey").first()
    assert damaged is not None
    packed = bytearray(damaged.block)
    packed[len(packed) // 2] ^= 1
    SealedBlock.objects.filter(pk=damaged.pk).update(block=bytes(packed))
    from rewind.sealed.store import open_blocks

    open_blocks.forget()
    error = rpc("/rewind", "getAccountInfo", str(damaged.pubkey), {"slot": damaged.slot})["error"]
    assert error["code"] == -32603
    assert error["data"]["reason"] == "archive_damaged"
    assert error["data"]["block"] == damaged.pk
    whole = blocks.order_by("-pubkey").first()
    assert whole is not None
    assert "result" in rpc("/rewind", "getAccountInfo", str(whole.pubkey), {"slot": whole.slot})


def test_a_partition_takes_the_dictionary_of_the_one_before(
    committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_LEAST_REUSED", 1)
    random = Random(2)
    *slots, newest = [*range(5, 25), *range(PARTITION_SLOTS + 5, PARTITION_SLOTS + 25), SLOTS[-1]]
    for slot in (*slots, newest):
        writes = [
            write(number, signature(slot, 1), lamports=slot, data=random.randbytes(300))
            for number in range(1, 60)
        ]
        record_slots([block(slot, max(slot - 1, 0), writes)], source="stream", now=NOW)
    policy, active = Policy(margin=1), SealedSegment.objects.filter(state=1)
    while active.count() < 2:
        assert seal_step(policy, now=NOW)
    first, second = active.order_by("first_slot")
    assert first.dictionary and bytes(first.dictionary) == bytes(second.dictionary)
    # Of all slots another one is made.
    while active.filter(last_slot=SEGMENT_SLOTS - 1, first_slot=0).count() == 0:
        assert seal_step(policy, now=NOW)
    whole = active.get(first_slot=0)
    assert whole.dictionary and bytes(whole.dictionary) != bytes(first.dictionary)


def test_what_cannot_be_read_back_is_not_sealed(
    history: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lossy(segment: int, blocks: Any) -> None:
        real(segment, blocks[1:])

    real = store.insert_blocks
    monkeypatch.setattr(store, "insert_blocks", lossy)
    before = rows()
    with pytest.raises(service.SealedWrongly):
        seal(half=True)
    assert rows() == before
    monkeypatch.setattr(store, "insert_blocks", real)
    seal(half=True)
    assert [each.first for each in partitions.existing()] == [SLOTS[-1]]


def test_the_window_moves_over_sealed_slots(rpc: Rpc, history: Any) -> None:
    seal(half=True)
    end = {"slot": SLOTS[-1]}
    keys = [text(key(number)) for number in ACCOUNTS]

    def states() -> list[Any]:
        found = rpc("/rewind", "getMultipleAccounts", keys, end)["result"]["value"]
        return [each and {**each, "rewindSlot": 0} for each in found]

    before = states()
    prune(SEGMENT_SLOTS + PARTITION_SLOTS)
    assert not SealedSegment.objects.filter(state=1).exists()
    assert states() == before
    assert rpc("/rewind", "getAccountInfo", keys[0], {"slot": 50})["error"]["code"] == -32015


def test_a_segment_over_the_windows_edge_stays_whole(rpc: Rpc, history: Any) -> None:
    seal(half=True)
    keys = [text(key(number)) for number in ACCOUNTS]
    slot = {"slot": SEGMENT_SLOTS + 9}
    before = rpc("/rewind", "getMultipleAccounts", keys, slot)["result"]["value"]
    assert prune(PARTITION_SLOTS + 10) == []
    assert rpc("/rewind", "getMultipleAccounts", keys, slot)["result"]["value"] == before


def test_checks_count_and_compare_sealed_writes(history: Any) -> None:
    hot = checking.writes_of_slots(5, 104)
    written = [Written(each.pubkey, 1, 0) for each in history[50]]
    balances = checking.balances_of(50, written)
    there = checking.written_in(50, [key(number) for number in ACCOUNTS])
    later = replaying.next_writes([key(1), key(2)], Position(50, 1), SLOTS[-1])
    between = replaying.written_between([key(1), key(99)], 20, 30)
    counted = forecasts.writes_of_account(key(1), 0)
    assert balances == [each.lamports for each in history[50]]
    assert between == [key(1)]
    seal(half=True)
    assert checking.writes_of_slots(5, 104) == hot
    assert checking.balances_of(50, written) == balances
    assert checking.written_in(50, [key(number) for number in ACCOUNTS]) == there
    again = replaying.next_writes([key(1), key(2)], Position(50, 1), SLOTS[-1])
    assert sorted(again) == sorted(later)
    assert replaying.written_between([key(1), key(99)], 20, 30) == between
    assert forecasts.writes_of_account(key(1), 0).rows == counted.rows


def test_blocks_that_were_merged_go_after_a_while(history: Any) -> None:
    from datetime import timedelta

    seal(half=True)
    assert SealedSegment.objects.filter(state=2).count() == 2
    while seal_step(Policy(margin=0), now=NOW + timedelta(hours=1)):
        pass
    assert not SealedSegment.objects.filter(state=2).exists()
    segments_left = set(SealedBlock.objects.values_list("segment_id", flat=True))
    assert segments_left == {each.id for each in store.active()}


def test_a_partition_that_leaves_the_window_is_no_longer_sealed(history: Any) -> None:
    seal_step(Policy(margin=0), now=NOW)
    seal_step(Policy(margin=0), now=NOW)
    prune(PARTITION_SLOTS + 1)
    seal(half=True)
    assert [each.first_slot for each in store.active()] == [PARTITION_SLOTS, SEGMENT_SLOTS]


def test_readers_and_writers_beside_sealing_miss_nothing(rpc: Rpc, history: Any) -> None:
    """Reads go on while everything is sealed and merged and late rows come."""
    faults: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            late = 105
            while seal_step(Policy(margin=0, late_share=1e9), now=NOW):
                record_slots(
                    [block(late, late - 1, [write(50, signature(late, 0), lamports=late)])],
                    source="late",
                    now=NOW,
                )
                late += 1
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()
            done.set()

    keys = [text(key(number)) for number in ACCOUNTS]
    config = {"slot": SLOTS[-1]}
    before = rpc("/rewind", "getMultipleAccounts", keys, config)["result"]["value"]
    changes = rpc("/rewind", "getAccountChanges", keys[0], {"fromSlot": 5, "toSlot": 104})
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work)
        while not done.is_set():
            told = rpc("/rewind", "getMultipleAccounts", keys, config)["result"]["value"]
            assert told == before
            one = rpc("/rewind", "getAccountInfo", keys[0], {"slot": 104})["result"]["value"]
            assert one["lamports"] == 105
            again = rpc("/rewind", "getAccountChanges", keys[0], {"fromSlot": 5, "toSlot": 104})
            assert again["result"]["value"]["changes"] == changes["result"]["value"]["changes"]
    assert faults == []


def test_two_workers_seal_as_one(history: Any) -> None:
    changes = len(rows())

    def work() -> None:
        try:
            for _ in range(200):
                if not seal_step(Policy(margin=0), now=NOW) and store.building() is None:
                    return
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(work) for _ in range(2)]:
            each.result()
    seal(half=True)
    assert sum(each.changes for each in SealedSegment.objects.filter(state=1)) == changes - len(
        rows()
    )


def test_genesis_stays_known_where_its_slot_is_sealed(rpc: Rpc, committed: None) -> None:
    from solders.sysvar import RENT

    genesis = block(0, 0, [write(bytes(RENT), lamports=1)], transactions=0)
    record_slots([genesis], source="genesis", now=NOW)
    record_slots([block(1, 0)], source="stream", now=NOW)
    absent = {"slot": 1}
    before = rpc("/rewind", "getAccountInfo", text(key(77)), absent)["result"]
    with transaction.atomic():
        seal()
    assert SealedSegment.objects.get(state=1).has_genesis
    assert rpc("/rewind", "getAccountInfo", text(key(77)), absent)["result"] == before
