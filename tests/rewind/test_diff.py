"""getAccountDiff: exact deltas, sides that are not there, and errors that name the side."""

from typing import Any

import pytest

from chain.blocks import Granularity
from chain.units import U64_MAX
from tests.conftest import Rpc
from tests.rewind.histories import text
from tests.rewind.samples import WHOLE, block, key, signature, write

REWIND, METHOD = "/rewind", "getAccountDiff"
ALICE = text(key(1))


@pytest.fixture
def changed(record: Any) -> None:
    """Alice in slot 10 and, quite another, in slot 11; closed in slot 12; slot 14 is missing."""
    poor = write(1, signature(10, 0), lamports=1, data=b"a" * 9, rent_epoch=0)
    rich = write(1, signature(11, 0), lamports=U64_MAX, data=b"a" * 8 + b"b", owner=bytes(32))
    record(
        block(10, writes=[poor]),
        block(11, writes=[rich]),
        block(12, writes=[write(1, signature(12, 2), lamports=0)], granularity=Granularity.SLOT),
        block(15, parent=14),
    )


def test_deltas_are_exact_integers_either_way_in_time(rpc: Rpc, changed: None) -> None:
    parts = {"dataSlice": {"offset": 0, "length": 8}}
    result = rpc(REWIND, METHOD, ALICE, {"slotA": 10, "slotB": 11} | parts)["result"]
    assert result["context"] == {"apiVersion": "rewind-1.0.0", "completeness": WHOLE}
    assert result["value"]["a"]["data"] == result["value"]["b"]["data"]
    assert result["value"]["diff"] == {
        "lamportsDelta": U64_MAX - 1,
        "ownerChanged": True,
        "executableChanged": False,
        "rentEpochDelta": U64_MAX,
        "dataChanged": True,
        "dataLenA": 9,
        "dataLenB": 9,
    }
    back = rpc(REWIND, METHOD, ALICE, {"slotA": 11, "slotB": 10})["result"]["value"]["diff"]
    assert (back["lamportsDelta"], back["rentEpochDelta"]) == (1 - U64_MAX, -U64_MAX)


def test_a_side_that_is_not_there_says_why(rpc: Rpc, changed: None) -> None:
    before = {"anchorA": {"slot": 10, "transactionIndex": 0}}
    result = rpc(REWIND, METHOD, ALICE, before | {"slotB": 12})["result"]
    assert result["value"] == {"a": None, "b": None, "diff": None}
    assert result["context"]["reason"] == {"a": "before_first_record", "b": "closed"}
    result = rpc(REWIND, METHOD, ALICE, {"slotA": 11, "slotB": 12})["result"]
    assert result["value"]["a"]["lamports"] == U64_MAX
    assert (result["value"]["b"], result["value"]["diff"]) == (None, None)
    assert result["context"]["reason"] == {"a": None, "b": "closed"}


@pytest.mark.parametrize(
    ("config", "code", "reason", "side"),
    [
        ({"slotA": 9, "slotB": 10}, -32015, "slot_too_old", "A"),
        ({"slotA": 98, "slotB": 99}, -32014, "slot_too_new", "A"),
        # Whichever side it is, what the interface looks at first is told.
        ({"slotA": 9, "slotB": 99}, -32014, "slot_too_new", "B"),
        ({"slotA": 14, "slotB": 99}, -32014, "slot_too_new", "B"),
        ({"anchorA": {"signature": "1" * 64}, "slotB": 9}, -32015, "slot_too_old", "B"),
        ({"slotA": 14, "anchorB": {"signature": "1" * 64}}, -32016, "unknown_signature", "B"),
        ({"slotA": 13, "slotB": 14}, -32018, "slot_in_archive_gap", "A"),
        ({"slotA": 10, "slotB": 99}, -32014, "slot_too_new", "B"),
        ({"slotA": 10, "slotB": 14}, -32018, "slot_in_archive_gap", "B"),
        ({"slotA": 13, "slotB": 13}, -32018, "slot_in_archive_gap", "A"),
        (
            {"slotA": 10, "slotB": 12, "transactionIndexB": 1},
            -32018,
            "writes_incomplete",
            "B",
        ),
        (
            {"slotA": 10, "anchorB": {"signature": "1" * 64}},
            -32016,
            "unknown_signature",
            "B",
        ),
    ],
)
def test_an_error_names_the_side(
    rpc: Rpc, changed: None, config: Any, code: int, reason: str, side: str
) -> None:
    error = rpc(REWIND, METHOD, ALICE, config)["error"]
    found = (error["code"], error["data"]["reason"], error["data"]["side"])
    assert found == (code, reason, side)
    assert error["message"].startswith(f"Side {side}: ")
    tolerated = rpc(REWIND, METHOD, ALICE, config | {"tolerateGaps": True})
    assert ("result" in tolerated) is (code == -32018)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "`slotA` (with `transactionIndexA` or without it) or `anchorA`, found none of them"),
        ({"slotA": 10}, "or `anchorB`, found none of them"),
        ({"slotA": 10, "slotB": 10, "anchorB": {}}, "found `slotB` and `anchorB`"),
        ({"slotA": 10, "anchorB": {"slot": 1}}, "in `anchorB`, found `slot`"),
        ({"slot": 10, "slotB": 10}, "or `anchorA`, found none of them"),
        ({"slotA": "10", "slotB": 10}, 'invalid type: string "10", expected u64.'),
        ({"slotA": 10, "slotB": 10, "encoding": "hex"}, "unknown variant `hex`"),
    ],
)
def test_bad_params_are_refused_in_words(rpc: Rpc, config: Any, words: str) -> None:
    error = rpc(REWIND, METHOD, ALICE, config)["error"]
    assert error["code"] == -32602
    assert words in error["message"]
