"""Which dropped writes are noted, and that none is taken for noted that is not."""

from contextlib import suppress

import pytest
from django.db import connection, transaction
from solders.pubkey import Pubkey

from rewind.models import DroppedAccount
from rewind.recording.services import filters
from rewind.recording.services.recording import record_slots
from rewind.recording.store import dropped_writes
from tests.rewind.conftest import NOW
from tests.rewind.samples import PROGRAM, block, key, signature, write


@pytest.fixture
def filtered(committed):
    filters.filter_owner(Pubkey(PROGRAM), filtered=True)


def record(slot, *accounts):
    writes = [write(account, signature(slot, account % 4)) for account in accounts]
    return record_slots([block(slot, writes=writes)], source="s", now=NOW)


def noted():
    return {
        bytes(row.pubkey): (row.first_slot, row.last_slot) for row in DroppedAccount.objects.all()
    }


def statements(act):
    with connection.execute_wrapper(
        lambda execute, sql, *rest: (seen.append(sql), execute(sql, *rest))[1]
    ):
        seen: list[str] = []
        act()
    return [sql for sql in seen if "droppedaccount" in sql]


def test_an_account_is_noted_from_its_lowest_dropped_write_to_some_slots_after_its_highest(
    filtered,
):
    record(100, 1)
    record(200, 1, 2)
    record(50, 1)
    ahead = noted()[key(2)][1] - 200
    assert 0 < ahead < 100
    assert noted() == {key(1): (50, 200 + ahead), key(2): (200, 200 + ahead)}


def test_what_is_noted_is_not_noted_in_each_slot(filtered):
    assert statements(lambda: record(100, 1, 2))
    assert not statements(lambda: record(101, 1, 2))
    assert statements(lambda: record(102, 3))
    assert statements(lambda: record(99, 1))
    first, last = noted()[key(1)]
    assert not statements(lambda: record(last, 1))
    assert statements(lambda: record(last + 1, 1))
    assert noted()[key(1)] == (first, 2 * last + 1 - 100)


def test_what_was_rolled_back_is_noted_again(filtered):
    with suppress(ZeroDivisionError), transaction.atomic():
        record(100, 1)
        raise ZeroDivisionError
    assert noted() == {}
    record(101, 1)
    assert noted()[key(1)][0] == 101


def test_under_other_filters_nothing_counts_as_noted(filtered):
    record(100, 1)
    filters.filter_owner(Pubkey(bytes([7]) * 32), filtered=True)
    assert statements(lambda: record(101, 1))
    assert not statements(lambda: record(102, 1))


def test_a_process_remembers_no_more_than_it_may(filtered, monkeypatch):
    monkeypatch.setattr(dropped_writes, "_MOST", 3)
    record(100, 1, 2)
    record(101, 3, 4)
    assert statements(lambda: record(102, 1))
    assert noted().keys() == {key(1), key(2), key(3), key(4)}
    assert len(dropped_writes._known) <= 3
