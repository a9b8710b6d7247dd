"""getAccountChanges of accounts that were not followed: it says where writes may lack."""

from typing import Any

import pytest
from solders.pubkey import Pubkey

from rewind.baselines.services.baseline import record_baseline
from rewind.recording.services import filters
from rewind.recording.services.retention import prune
from rewind.recording.store import partitions
from rewind.recording.store.partitions import PARTITION_SLOTS
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.histories import text
from tests.rewind.samples import PROGRAM, block, key, signature, write

ALICE = text(key(1))
OTHER = bytes([8]) * 32


@pytest.fixture
def told(rpc: Rpc) -> Any:
    """`told(first, last)`: the slots of the changes there, and the word that goes with them."""

    def told_of(first: int, last: int, pubkey: str = ALICE) -> tuple[list[int], str | None]:
        partitions.forget()
        config = {"fromSlot": first, "toSlot": last}
        result = rpc("/rewind", "getAccountChanges", pubkey, config)["result"]
        assert result["context"]["slot"] == last
        changes = [entry["slot"] for entry in result["value"]["changes"]]
        return changes, result["context"].get("reason")

    return told_of


def written(slot: int, parent: int | None = None, **changed: Any) -> Any:
    return block(slot, parent, [write(1, signature(slot, 0), **changed)])


def test_an_account_that_is_followed_has_no_word(told: Any, record: Any) -> None:
    filters.filter_owner(Pubkey(OTHER), filtered=True)
    filters.filter_account(Pubkey(key(2)), filtered=True)
    record(written(10), written(11))
    assert told(10, 11) == ([11, 10], None)
    assert told(10, 11, text(key(3))) == ([], None)


def test_while_an_account_is_filtered_all_its_ranges_say_so(told: Any, record: Any) -> None:
    record(written(10))
    filters.filter_account(Pubkey(key(1)), filtered=True)
    record(written(11))
    assert told(10, 10) == ([10], "filtered")
    assert told(11, 11) == ([], "filtered")


def test_accounts_of_a_filtered_owner_say_so(told: Any, record: Any) -> None:
    record_baseline([write(1), write(2, owner=OTHER)], 10, source="snapshot", now=NOW)
    filters.filter_owner(Pubkey(PROGRAM), filtered=True)
    record(block(10), block(11), block(12, writes=[write(3, signature(12, 1))]))
    assert told(11, 11) == ([], "filtered")
    assert told(11, 11, text(key(2))) == ([], None)
    # Without a row, and written by then or not yet.
    assert told(11, 12, text(key(3))) == ([], "filtered")
    assert told(11, 11, text(key(3))) == ([], None)


def test_a_filter_that_was_lifted_is_told_of_where_it_left_something_out(
    told: Any, record: Any
) -> None:
    record(written(10), block(20, parent=10))
    filters.filter_account(Pubkey(key(1)), filtered=True)
    record(written(30, 20))
    filters.filter_account(Pubkey(key(1)), filtered=False)
    record(written(200, 30), written(300, 200), block(400, 300))
    assert told(10, 20) == ([10], None)
    assert told(10, 30) == ([10], "filtered")
    assert told(30, 400) == ([300, 200], "filtered")
    # What the write of slot 200 found is not known; what that of slot 300 found is.
    assert told(100, 400) == ([300, 200], "filtered")
    assert told(100, 150) == ([], "filtered")
    assert told(201, 400) == ([300], None)
    assert told(400, 400) == ([], None)


def test_a_closed_account_of_a_filtered_owner_is_followed(told: Any, record: Any) -> None:
    record(written(10, owner=OTHER), written(11, lamports=0, owner=OTHER))
    filters.filter_owner(Pubkey(OTHER), filtered=True)
    assert told(10, 10) == ([10], "filtered")
    assert told(10, 11) == ([11, 10], None)


def test_what_was_carried_to_the_windows_edge_stays_old(told: Any, committed: None) -> None:
    from rewind.recording.services.recording import record_slots

    def put(*records: Any) -> None:
        record_slots(list(records), source="stream", now=NOW)

    edge = PARTITION_SLOTS
    put(written(edge - 400))
    filters.filter_account(Pubkey(key(1)), filtered=True)
    put(written(edge - 300, edge - 400))
    filters.filter_account(Pubkey(key(1)), filtered=False)
    put(block(edge, edge - 300), block(edge + 100, edge))
    put(written(edge + 200, edge + 100), block(edge + 300, edge + 200))
    prune(edge)
    assert told(edge, edge + 100) == ([], "filtered")
    assert told(edge + 100, edge + 300) == ([edge + 200], "filtered")
    assert told(edge + 201, edge + 300) == ([], None)
