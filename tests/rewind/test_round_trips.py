"""A read of the archive waits for PostgreSQL once, and answers as one that knows nothing before."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from columns.queries import execute
from columns.raw_queries import fetch_all
from historical.recording.services.recording import record_blocks
from rewind.accounts.store import account_reads
from rewind.recording.store import partitions
from rewind.recording.store.partitions import PARTITION_SLOTS, SEGMENT_SLOTS
from rewind.sealed.services import segments
from tests.cluster import one_machine
from tests.rewind.conftest import NOW
from tests.rewind.histories import signed, text
from tests.rewind.round_trips import counted
from tests.rewind.samples import block, key, signature, write

TOP = SEGMENT_SLOTS + 2 * PARTITION_SLOTS + 7


def fill(record: Callable[..., Any], *, with_gaps: bool = False) -> None:
    """An indexed segment and the next one: account 1 is written in each slot, 2 in the first alone,
    3 was closed, 5 is written once in each segment.
    """
    account_reads.forget()
    slots = [5, PARTITION_SLOTS + 5, SEGMENT_SLOTS - 5, SEGMENT_SLOTS + 5, TOP]
    for number, (below, slot) in enumerate(zip([4, *slots], slots, strict=False)):
        writes = [write(1, signature(slot, 0), lamports=10 + number)]
        if number == 0:
            writes += [write(n, signature(slot, 0), lamports=n) for n in (2, 5)]
        if number == 1:
            writes.append(write(3, signature(slot, 0), lamports=3))
        if number == 2:
            writes.append(write(3, signature(slot, 0), lamports=0))
        if number == 3:
            writes.append(write(5, signature(slot, 0), lamports=50))
        made = block(slot, parent=slot - 1 if with_gaps else below, writes=writes)
        record(made)
        if not with_gaps:
            record_blocks([made], now=NOW)
    while segments.index_next() is None:
        pass
    partitions.forget()


@pytest.fixture
def archive(record: Callable[..., Any], empty_ledger: None) -> None:
    fill(record)


@one_machine
@pytest.mark.parametrize("account", [1, 2, 3, 5, 9])
@pytest.mark.parametrize(
    # Of the third, account 3 has a row above in the segment, and none in the slot's own partition.
    "slot",
    [5, PARTITION_SLOTS + 9, SEGMENT_SLOTS - 6, SEGMENT_SLOTS - 1, SEGMENT_SLOTS + 9, TOP],
)
def test_a_read_that_comes_again_is_one_round_trip(
    rpc: Any, archive: None, tmp_path: Path, account: int, slot: int
) -> None:
    def ask() -> Any:
        return rpc("/rewind", "getAccountInfo", text(key(account)), {"slot": slot})

    ask()  # what comes first learns of the partitions and where the account is
    first = ask()
    with counted(tmp_path) as trips:
        again = ask()
    account_reads.forget()
    assert again == first == ask()
    assert trips == [1], (account, slot)


@one_machine
def test_around_a_transaction_too(rpc: Any, archive: None, tmp_path: Path) -> None:
    for config in (
        {"slot": TOP, "transactionIndex": 2},
        {"anchor": {"signature": signed(TOP, 0), "position": "after"}},
        {"anchor": {"signature": signed(TOP, 0)}},
        {"anchor": {"slot": TOP, "transactionIndex": 3}},
    ):
        for _ in range(3):  # twice near the same place, and the third is looked for there
            rpc("/rewind", "getAccountInfo", text(key(1)), config)
        with counted(tmp_path) as trips:
            answer = rpc("/rewind", "getAccountInfo", text(key(1)), config)
        lamports = 13 if config == {"anchor": {"signature": signed(TOP, 0)}} else 14
        assert answer["result"]["value"]["lamports"] == lamports
        assert trips == [1], config
    # Elsewhere, or nowhere, it is looked for once more.
    far = {"anchor": {"signature": signed(PARTITION_SLOTS + 5, 0), "position": "after"}}
    assert rpc("/rewind", "getAccountInfo", text(key(3)), far)["result"]["value"]["lamports"] == 3
    unseen = {"anchor": {"signature": signed(77, 0)}}
    error = rpc("/rewind", "getAccountInfo", text(key(3)), unseen)["error"]
    assert error["data"]["reason"] == "unknown_signature"
    beyond = {"slot": TOP, "transactionIndex": 4}
    error = rpc("/rewind", "getAccountInfo", text(key(1)), beyond)["error"]
    assert error["data"]["reason"] == "transaction_index_out_of_range"


def test_several_accounts_of_a_segment_are_one_round_trip(
    rpc: Any, record: Callable[..., Any], tmp_path: Path
) -> None:
    for slot in range(10, 15):
        writes = [write(n, signature(slot, 0), lamports=slot) for n in range(slot)]
        record(block(slot, writes=writes))
    keys = [text(key(n)) for n in range(20)]
    for slot in (12, 14):
        for _ in range(2):  # the first learns of the partitions, the second prepares the statement
            rpc("/rewind", "getMultipleAccounts", keys, {"slot": slot})
        with counted(tmp_path) as trips:
            answer = rpc("/rewind", "getMultipleAccounts", keys, {"slot": slot})["result"]
        found = [None if each is None else each["lamports"] for each in answer["value"]]
        assert found == [slot] * slot + [None] * (20 - slot)
        assert trips == [1]
        with counted(tmp_path, ["Execute"]) as statements:
            rpc("/rewind", "getMultipleAccounts", keys, {"slot": slot})
        assert statements == [1]


@contextmanager
def unanalyzed(app: str) -> Iterator[None]:
    """The server's own ANALYZE, which takes this lock, does not come between: statements would be
    planned anew, and their plans of before would count as cheaper ones.
    """
    with psycopg.connect(**connection.get_connection_params()) as other:
        tables = other.execute(
            "SELECT oid::regclass::text FROM pg_class"
            " WHERE relkind IN ('r', 'p') AND relname ~ %s AND relpersistence = 'p'",
            [f"^{app}_"],
        ).fetchall()
        names = ", ".join(name for (name,) in tables)
        other.execute(f"LOCK TABLE {names} IN SHARE UPDATE EXCLUSIVE MODE")
        yield


@pytest.mark.django_db(transaction=True)
def test_a_statement_is_not_planned_in_each_call(rpc: Any, record: Callable[..., Any]) -> None:
    """PostgreSQL plans the first five calls of a statement; that of lists of any length too, and
    beside tables of many rows. Of others it may plan each call, where that is the cheaper way by
    what the tables have.
    """
    for table, row in (
        ("rewind_filteredpubkey (pubkey)", "sha256(n::text::bytea)"),
        ("rewind_droppedaccount (pubkey, first_slot, last_slot)", "sha256(n::text::bytea), 3, 9"),
    ):
        execute(f"INSERT INTO {table} SELECT {row} FROM generate_series(1, 60000) AS n")
    execute("ANALYZE rewind_filteredpubkey, rewind_droppedaccount")
    for slot in range(10, 25):
        record(block(slot, writes=[write(n, signature(slot, 0), lamports=slot) for n in range(9)]))
    keys = [text(key(n)) for n in range(12)]
    connection.close()  # plans of smaller tables would count as cheaper ones
    with unanalyzed("rewind"):
        for slot in range(10, 25):
            asked = keys[: slot % 4 + 2]
            rpc("/rewind", "getMultipleAccounts", asked, {"slot": slot, "encoding": "jsonParsed"})
            rpc("/rewind", "getAccountInfo", keys[0], {"slot": slot})
            rpc("/rewind", "getAccountDiff", keys[0], {"slotA": 10, "slotB": slot})
            rpc("/rewind", "getAccountChanges", keys[0], {"fromSlot": 10, "toSlot": slot})
    plans = fetch_all(
        "SELECT custom_plans, statement FROM pg_prepared_statements"
        " WHERE statement LIKE '%unnest(%' OR statement LIKE 'SELECT *, CASE%'"
    )
    assert len(plans) > 5 and max(plans)[0] <= 5, max(plans)


def test_what_is_remembered_of_an_account_never_hides_a_write(
    rpc: Any, record: Callable[..., Any]
) -> None:
    """Hints are of where its row was: late rows, above it and below, are found at once."""

    def lamports(account: int, slot: int) -> int | None:
        config = {"slot": slot, "tolerateGaps": True}
        found = rpc("/rewind", "getAccountInfo", text(key(account)), config)["result"]
        return None if found["value"] is None else int(found["value"]["lamports"])

    fill(record, with_gaps=True)
    for _ in range(2):
        assert [lamports(2, slot) for slot in (TOP, SEGMENT_SLOTS - 1)] == [2, 2]
        assert lamports(9, TOP) is None
    late = [PARTITION_SLOTS + 3, 2 * PARTITION_SLOTS + 3, SEGMENT_SLOTS + 2, TOP - 1]
    for slot in late:
        mint = write(9, signature(slot, 1), lamports=slot)
        record(block(slot, writes=[write(2, signature(slot, 0), lamports=slot), mint]))
        for account in (2, 9):
            assert lamports(account, TOP) == slot
            assert lamports(account, slot) == slot
        assert lamports(2, slot - 1) == max([2, *(each for each in late if each < slot)])
