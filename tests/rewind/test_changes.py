"""getAccountChanges: entries, cursors, large data, and what is refused."""

import base64
import hashlib
import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rewind.accounts.store import walking
from rewind.baselines.services.baseline import record_baseline
from rewind.positions import Position
from rewind.recording.store import partitions
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.histories import signed, text
from tests.rewind.samples import PROGRAM, WHOLE, block, key, signature, write

REWIND, METHOD = "/rewind", "getAccountChanges"
ALICE = text(key(1))
EMPTY = hashlib.sha256(b"").hexdigest()


def page(rpc: Rpc, **config: Any) -> Any:
    partitions.forget()
    return rpc(REWIND, METHOD, ALICE, config)["result"]["value"]


def cursor(told: Any) -> str:
    return base64.b64encode(json.dumps(told, separators=(",", ":")).encode()).decode()


def test_an_entry_comes_as_the_interface_lists_it(
    rpc: Rpc, record: Any, empty_ledger: None
) -> None:
    from historical.recording.services.recording import record_blocks

    chain = [
        block(10, writes=[write(1, signature(10, 1), lamports=5, data=b"old")]),
        block(11, writes=[write(1, signature(11, 2), version=1), write(1, version=9)]),
    ]
    record(*chain)
    record_blocks(chain, now=NOW)
    config = {"fromSlot": 11, "toSlot": 11, "includeData": True, "encoding": "base58"}
    partitions.forget()
    result = rpc(REWIND, METHOD, ALICE, config)["result"]
    entry = {
        "slot": 11,
        "lamports": 1_000,
        "owner": text(PROGRAM),
        "executable": False,
        "rentEpoch": 2**64 - 1,
        "space": 0,
        "dataHash": EMPTY,
        "data": ["", "base58"],
    }
    outside = {"dataChanged": False, "txnSignature": None, "transactionIndex": None}
    inside = {"dataChanged": True, "txnSignature": signed(11, 2), "transactionIndex": 2}
    assert result == {
        "context": {"apiVersion": "rewind-1.0.0", "slot": 11, "completeness": WHOLE},
        "value": {
            "changes": [entry | outside, entry | inside],
            "next": None,
            "truncatedByBytes": False,
            "gaps": [],
        },
    }


def test_a_baseline_is_no_change_but_what_comes_after_is_compared_with_it(
    rpc: Rpc, record: Any
) -> None:
    record_baseline([write(1, data=b"same")], 10, source="snapshot", now=NOW)
    record(block(10), block(11, writes=[write(1, signature(11, 0), data=b"same", lamports=7)]))
    (entry,) = page(rpc, fromSlot=10, toSlot=11)["changes"]
    assert (entry["slot"], entry["dataChanged"], entry["lamports"]) == (11, False, 7)


def test_a_hundred_come_where_no_limit_is_told_and_fewer_with_data(rpc: Rpc, record: Any) -> None:
    record(*[block(slot, writes=[write(1, signature(slot, 0))]) for slot in range(10, 1_211)])
    window = {"fromSlot": 10, "toSlot": 1_210}
    with_data = window | {"includeData": True, "encoding": "base64"}
    for config, most in [
        (window, 100),
        (window | {"limit": 101}, 101),
        (window | {"limit": 2**64 - 1}, 1_000),
        (with_data, 50),
        (with_data | {"limit": 51}, 50),
        (with_data | {"limit": 49}, 49),
    ]:
        value = page(rpc, **config)
        assert len(value["changes"]) == most
        assert (value["truncatedByBytes"], value["next"] is None) == (False, False)
    assert page(rpc, **window | {"limit": 1_000, "before": value["next"]})["next"] is not None


def test_a_page_ends_when_it_has_unpacked_enough(rpc: Rpc, record: Any) -> None:
    million = 1_000_000
    sizes = [50 * million, 10_000, 40 * million, 30 * million, 10]
    record(
        *[
            block(slot, writes=[write(1, signature(slot, 0), data=bytes([slot]) * size)])
            for slot, size in enumerate(sizes, 10)
        ]
    )
    found, config, pages = [], {}, []
    while True:
        value = page(rpc, fromSlot=10, toSlot=14, **config)
        found += value["changes"]
        pages.append(len(value["changes"]))
        assert value["truncatedByBytes"] is (value["next"] is not None)
        if value["next"] is None:
            break
        config = {"before": value["next"]}
    assert [entry["space"] for entry in found] == sizes[::-1]
    assert pages == [2, 2, 1]
    for entry, size in zip(found, sizes[::-1], strict=True):
        digest = hashlib.sha256(bytes([entry["slot"]]) * size).hexdigest()
        assert (entry["dataHash"], entry["dataChanged"]) == (digest, True)


def test_no_more_rows_are_read_than_are_asked_for_and_large_data_is_left_where_it_is(
    record: Any,
) -> None:
    # Across an edge of partitions.
    large = hashlib.shake_256(b"large").digest(20_000)
    record(
        *[
            block(slot, writes=[write(1, signature(slot, index), data=large) for index in range(3)])
            for slot in range(35_990, 36_010)
        ]
    )
    partitions.forget()
    walk = walking.rows_below(key(1), Position(36_009, 2), 35_991, -1, at_once=20)
    batches = list(walk)
    assert [len(rows) for rows in batches] == [20, 20, 16]
    rows = [row for batch in batches for row in batch]
    expected = [(slot, index) for slot in range(35_991, 36_010) for index in range(3)][:-1]
    assert [(row.slot, row.position) for row in rows] == expected[::-1]
    assert {row.packed for row in rows} == {None}
    assert {walking.data_of(key(1), row) for row in rows} == {large}


def test_the_walk_stands_on_the_unique_index_of_each_partition(record: Any) -> None:
    record(*[block(slot, writes=[write(1, signature(slot, 0))]) for slot in range(35_900, 36_100)])
    partitions.forget()
    (segment,) = partitions.segments(36_099, -1)
    with CaptureQueriesContext(connection), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        text_of_it = walking._rows(segment).replace("$5", "7").replace("$4", "0")
        text_of_it = text_of_it.replace("$3", "0").replace("$2", "36000").replace("$1", "%s")
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {text_of_it}", [key(1)] * 2)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    for table in segment.tables:
        assert f"Index Scan Backward using {table}_key" in plan
    assert "rows=7" in plan


@pytest.mark.parametrize(
    ("config", "code", "reason"),
    [
        ({"fromSlot": 12, "toSlot": 11}, -32602, "empty_range"),
        ({"fromSlot": 10, "toSlot": 11, "limit": 0}, -32602, "bad_limit"),
        ({"fromSlot": 10, "toSlot": 11, "includeData": True}, -32602, "encoding_required"),
        (
            {"fromSlot": 10, "toSlot": 11, "before": cursor({"slot": 1, "position": 1}), "anchor": {
                "slot": 10, "transactionIndex": 0}},
            -32602,
            "two_starts",
        ),
        ({"fromSlot": 10, "toSlot": 11, "anchor": {}}, -32602, "bad_position"),
        ({"fromSlot": 10, "toSlot": 13}, -32014, "slot_too_new"),
        ({"fromSlot": 9, "toSlot": 13}, -32014, "slot_too_new"),
        ({"fromSlot": 9, "toSlot": 11}, -32015, "slot_too_old"),
        ({"fromSlot": 0, "toSlot": 0}, -32015, "slot_too_old"),
        ({"fromSlot": 0, "toSlot": 2**64 - 1}, -32014, "slot_too_new"),
        (
            {"fromSlot": 10, "toSlot": 11, "anchor": {"signature": "1" * 64}},
            -32016,
            "unknown_signature",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused(
    rpc: Rpc, record: Any, empty_ledger: None, config: Any, code: int, reason: str
) -> None:
    record(block(10), block(12, parent=10))
    error = rpc(REWIND, METHOD, ALICE, config)["error"]
    assert (error["code"], error["data"]["reason"]) == (code, reason)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "x",
        "AAAA",
        "e30",
        *map(cursor, [{}, [], 7, None, "x", {"slot": 1}, {"position": 1}]),
        cursor({"slot": 1, "position": 1.5}),
        *map(cursor, [{"slot": -1, "position": 0}, {"slot": 2**63, "position": 0}]),
        *map(cursor, [{"slot": 1, "position": -3}, {"slot": 1, "position": 2**31}]),
        cursor({"slot": True, "position": 0}),
        cursor({"slot": 10, "position": 0, "more": 0}),
        cursor({"slot": 10, "position": 0}) + "\n",
        cursor({"slot": 10**4_000, "position": 0}),
        "é",
    ],
)  # fmt: skip
def test_a_cursor_that_was_not_given_out_is_refused(rpc: Rpc, record: Any, before: str) -> None:
    record(block(10))
    error = rpc(REWIND, METHOD, ALICE, {"fromSlot": 10, "toSlot": 10, "before": before})["error"]
    assert (error["code"], error["data"]["reason"]) == (-32602, "bad_cursor")


def test_a_cursor_outside_the_range_begins_at_its_end_or_finds_nothing(
    rpc: Rpc, record: Any
) -> None:
    record(*[block(slot, writes=[write(1, signature(slot, 0))]) for slot in (10, 11, 12)])
    for told, slots in [
        ({"slot": 2**62, "position": 0}, [11]),
        ({"slot": 11, "position": 0}, []),
        ({"slot": 0, "position": 0}, []),
    ]:
        value = page(rpc, fromSlot=11, toSlot=11, before=cursor(told))
        assert [entry["slot"] for entry in value["changes"]] == slots


def test_gaps_are_told_and_never_refused(rpc: Rpc, record: Any) -> None:
    record(block(10, writes=[write(1, signature(10, 0))]), block(20, parent=17))
    value = page(rpc, fromSlot=12, toSlot=18)
    assert value["changes"] == []
    assert value["gaps"] == [
        {"fromSlot": 12, "toSlot": 16, "status": "unknown"},
        {"fromSlot": 17, "toSlot": 17, "status": "missing"},
    ]
    anchor = {"slot": 17, "transactionIndex": 0}
    assert len(page(rpc, fromSlot=10, toSlot=18, anchor=anchor)["changes"]) == 1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([ALICE], "`params` should have at least 2 argument(s)"),
        ([ALICE, {"toSlot": 1}], "missing field `fromSlot`"),
        ([ALICE, {"fromSlot": 1}], "missing field `toSlot`"),
        ([ALICE, {"fromSlot": 1, "toSlot": None}], "invalid type: null, expected u64."),
        ([ALICE, {"fromSlot": 1, "toSlot": 2, "limit": -1}], "integer `-1`, expected u64."),
        ([ALICE, {"fromSlot": 1, "toSlot": 2, "before": 7}], "expected a string."),
        (
            [ALICE, {"fromSlot": 1, "toSlot": 2, "encoding": "jsonParsed"}],
            "unknown variant `jsonParsed`, expected one of",
        ),
        ([7, {"fromSlot": 1, "toSlot": 2}], "invalid type: integer `7`, expected a string."),
    ],
)
def test_bad_params_are_refused_in_words(rpc: Rpc, params: Any, words: str) -> None:
    error = rpc(REWIND, METHOD, *params)["error"]
    assert error["code"] == -32602
    assert words in error["message"]
