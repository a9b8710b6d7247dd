"""Reads beside a writer: what is remembered never answers for what was committed since."""

import threading
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from solders.pubkey import Pubkey

from rewind.accounts.store import account_reads, prefetching, row_cache
from rewind.positions import END_OF_SLOT, Position
from rewind.recording.services import filters
from rewind.recording.services.recording import record_slots
from rewind.recording.store import partitions
from rewind.recording.store.partitions import partition_of
from rewind.sealed.services import segments
from tests.lock_waits import until_waiting
from tests.rewind.conftest import NOW
from tests.rewind.histories import text
from tests.rewind.samples import block, key, signature, write

STEP = 18_000  # two slots in a partition
SLOTS = 30  # and some of them in the next segment
FILTERED = 3


def test_a_read_sees_all_that_was_committed_before_it_began(
    rpc: Any, committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Account 1 is written in each slot, 2 in each tenth, and a filter of 3 comes and goes."""
    account_reads.forget()
    done: list[tuple[int, bool]] = []  # committed: the newest slot, and whether 3 is filtered
    faults: list[BaseException] = []

    def commit(number: int) -> None:
        slot = 5 + number * STEP
        writes = [write(1, signature(slot, 0), lamports=slot)]
        if number % 10 == 0:
            writes.append(write(2, signature(slot, 0), lamports=slot))
        record_slots(
            [block(slot, parent=max(slot - STEP, 0), writes=writes)], source="race", now=NOW
        )
        filters.filter_account(Pubkey(key(FILTERED)), filtered=bool(number % 2))
        segments.index_next()
        done.append((slot, bool(number % 2)))

    def write_all() -> None:
        try:
            for number in range(1, SLOTS):
                commit(number)
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    def told(account: int, slot: int) -> Any:
        return rpc("/rewind", "getAccountInfo", text(key(account)), {"slot": slot})["result"]

    def told_together(accounts: list[int], slot: int) -> Any:
        keys = [text(key(each)) for each in accounts]
        return rpc("/rewind", "getMultipleAccounts", keys, {"slot": slot})["result"]

    commit(0)
    writer = threading.Thread(target=write_all)
    writer.start()
    reads = 0
    while writer.is_alive() or not reads:
        number = len(done) - 1
        slot = done[number][0]
        assert told(1, slot)["value"]["lamports"] == slot
        tenth = 5 + number // 10 * 10 * STEP
        assert told(2, slot)["value"]["lamports"] == tenth
        several = rpc("/rewind", "getMultipleAccounts", [text(key(n)) for n in (1, 2)], {"slot": 5})
        assert [each["lamports"] for each in several["result"]["value"]] == [5, 5]
        reason = told(FILTERED, slot)["context"]["reason"]
        assert reason in ("filtered", "before_first_record")
        several = told_together([1, FILTERED, 9], slot)
        assert several["value"][0]["lamports"] == slot
        assert several["context"]["reason"][1] in ("filtered", "before_first_record")
        assert several["context"]["reason"][2] == "before_first_record"
        reads += 1
    writer.join()
    assert not faults
    slot, is_filtered = done[-1]
    for _ in range(2):
        for wanted in (is_filtered, not is_filtered, is_filtered):
            filters.filter_account(Pubkey(key(FILTERED)), filtered=wanted)
            reason = told(FILTERED, slot)["context"]["reason"]
            assert reason == ("filtered" if wanted else "before_first_record")
            assert told_together([1, FILTERED], slot)["context"]["reason"] == [None, reason]
    for number, (slot, _) in enumerate(done):
        assert told(1, slot)["value"]["lamports"] == slot
        assert told(2, slot)["value"]["lamports"] == 5 + number // 10 * 10 * STEP


def test_a_slot_that_comes_during_a_read_does_not_make_it_whole(rpc: Any, committed: None) -> None:
    """Slot 10 comes late: once the rows were read, and before what else is known."""
    faults: list[BaseException] = []
    is_recorded = threading.Event()

    def record(slot: int, *accounts: int) -> None:
        writes = [write(each, signature(slot, 0), lamports=slot) for each in accounts]
        record_slots([block(slot, writes=writes)], source="race", now=NOW)

    def record_late() -> None:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("LOCK TABLE rewind_baseline IN ACCESS EXCLUSIVE MODE")
                record(10, 4, 5)
                is_recorded.set()
                until_waiting(1)  # the read, for the table
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    def told() -> tuple[bool, list[int | None]]:
        keys = [text(key(each)) for each in (4, 5)]
        answer = rpc("/rewind", "getMultipleAccounts", keys, {"slot": 11, "tolerateGaps": True})
        found = [each and each["lamports"] for each in answer["result"]["value"]]
        return answer["result"]["context"]["completeness"]["status"] == "whole", found

    record(9, 4, 5)
    record(11)
    assert told() == (False, [9, 9])  # and the partitions are known from now on
    writer = threading.Thread(target=record_late)
    writer.start()
    is_recorded.wait()
    # One statement has the late slot with its writes; of several the rows came before it.
    assert told() in [(True, [10, 10]), (False, [9, 9])]
    writer.join()
    assert not faults
    assert told() == (True, [10, 10])


def test_a_row_that_was_stored_anew_is_another_row(committed: None) -> None:
    """As after a restored backup: the same account, slot and position, and other data."""
    row_cache.forget()
    position, data = Position(10, END_OF_SLOT), [Random(n).randbytes(600) for n in range(3)]
    record_slots([block(9)], source="race", now=NOW)
    record_slots(
        [block(10, writes=[write(1, signature(10, 0), data=data[0])])], source="race", now=NOW
    )
    partitions.layout(partitions.layout(-1).number)

    def read() -> Any:
        _, found = prefetching.read({position: [key(1)]}, 10)
        assert found is not None
        return found.states[key(1), position]

    first, again = read(), read()
    assert first.kept is again.kept is not None
    assert first.data == again.data == data[0]
    for number in (1, 2):
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {partition_of(10).table} SET data = %s WHERE pubkey = %s",
                [data[number], key(1)],
            )
        assert read().data == data[number]
        assert read().data == data[number]
