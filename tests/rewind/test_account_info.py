"""getAccountInfo: encodings, refusals, and why a value is null."""

import base64
from typing import Any

import pytest
import zstandard
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.blocks import Granularity
from chain.encodings import b58decode
from chain.units import U64_MAX
from gaps.slot_gap import GapStatus
from rewind.baselines.services.baseline import record_baseline
from rewind.coverage.services.gaps import archive_gaps as gaps
from rewind.recording.services import filters
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.histories import signed, text
from tests.rewind.samples import PROGRAM, WHOLE, block, key, signature, write

REWIND, METHOD = "/rewind", "getAccountInfo"
ALICE, BOB = text(key(1)), text(key(2))
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
UNSEEN = str(Signature(bytes(range(64))))


@pytest.fixture
def archive(record: Any, empty_ledger: None) -> Any:
    """`archive(block, …)`: the slots are in the archive and their blocks in the ledger."""
    from historical.recording.services.recording import record_blocks
    from rewind.recording.store import partitions

    def put(*records: Any) -> None:
        record(*records)
        record_blocks(records, now=NOW)
        partitions.forget()

    return put


def value(rpc: Rpc, pubkey: str, **config: Any) -> Any:
    return rpc(REWIND, METHOD, pubkey, config)["result"]["value"]


def reason(rpc: Rpc, pubkey: str, **config: Any) -> Any:
    return rpc(REWIND, METHOD, pubkey, config)["result"]["context"].get("reason")


def refusal(rpc: Rpc, *params: Any) -> tuple[int, str]:
    error = rpc(REWIND, METHOD, *params)["error"]
    return error["code"], error["data"]["reason"]


def test_an_account_comes_as_the_interface_lists_it(rpc: Rpc, archive: Any) -> None:
    archive(block(10, writes=[write(1, signature(10, 1), lamports=U64_MAX, data=b"\1\2\3")]))
    config = {
        "anchor": {"signature": signed(10, 1), "position": "after"},
        "commitment": "confirmed",
    }
    assert rpc(REWIND, METHOD, ALICE, config | {"unheardOf": 1})["result"] == {
        "context": {"apiVersion": "rewind-1.0.0", "slot": 10, "completeness": WHOLE},
        "value": {
            "lamports": U64_MAX,
            "owner": text(PROGRAM),
            "data": ["AQID", "base64"],
            "executable": False,
            "rentEpoch": U64_MAX,
            "space": 3,
            "rewindSlot": 10,
        },
    }


def test_a_state_is_carried_forward_to_slots_that_do_not_write_it(rpc: Rpc, archive: Any) -> None:
    archive(block(10, writes=[write(1, signature(10, 1))]), block(11), block(14, parent=11))
    answers = [rpc(REWIND, METHOD, ALICE, {"slot": slot})["result"] for slot in range(10, 15)]
    assert [each["context"]["slot"] for each in answers] == [10, 11, 12, 13, 14]
    assert {each["value"]["rewindSlot"] for each in answers} == {10}


def test_every_encoding_holds_the_part_that_is_asked_for(rpc: Rpc, archive: Any) -> None:
    data = bytes(range(200))
    archive(block(10, writes=[write(1, signature(10, 1), data=data)]))
    for offset, length in [(0, 0), (0, 129), (5, 100), (150, 2**64 - 1), (200, 1), (2**63, 5)]:
        part = {"offset": offset, "length": length}
        wanted = data[offset : offset + length]
        found = {
            encoding: value(rpc, ALICE, slot=10, encoding=encoding, dataSlice=part)
            for encoding in ("base64", "base64+zstd", "base58")
        }
        assert {each["space"] for each in found.values()} == {200}
        assert base64.b64decode(found["base64"]["data"][0]) == wanted
        packed = base64.b64decode(found["base64+zstd"]["data"][0])
        assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == wanted
        assert b58decode(found["base58"]["data"][0]) == wanted
        assert [each["data"][1] for each in found.values()] == list(found)


def test_more_than_base58_is_written_for_is_refused(rpc: Rpc, archive: Any) -> None:
    archive(block(10, writes=[write(1, signature(10, 1), data=bytes(131))]))
    config = {"slot": 10, "encoding": "base58", "dataSlice": {"offset": 1, "length": 500}}
    error = rpc(REWIND, METHOD, ALICE, config)["error"]
    assert error["code"] == -32602
    assert error["data"] == {"reason": "data_too_long_for_base58", "found": 130, "maximum": 129}
    config["dataSlice"] = {"offset": 2, "length": 500}
    assert "result" in rpc(REWIND, METHOD, ALICE, config)


def test_a_token_account_is_parsed_by_its_mint_of_that_time(rpc: Rpc, archive: Any) -> None:
    def mint(decimals: int) -> bytes:
        return bytes(36) + bytes(8) + bytes([decimals, 1]) + bytes(36)

    account = key(5) + key(2) + (1_500).to_bytes(8, "little") + bytes(36) + b"\1" + bytes(56)
    owner = bytes(TOKEN)
    archive(
        block(
            10,
            writes=[
                write(5, signature(10, 0), version=1, owner=owner, data=mint(2)),
                write(1, signature(10, 1), version=2, owner=owner, data=account),
                write(5, signature(10, 2), version=3, owner=owner, data=mint(3)),
            ],
        ),
    )
    for index, amount in [(1, "15"), (2, "1.5")]:
        config = {"slot": 10, "transactionIndex": index, "encoding": "jsonParsed"}
        for found in (
            value(rpc, ALICE, **config),
            rpc(REWIND, "getMultipleAccounts", [ALICE, BOB, ALICE], config)["result"]["value"][2],
        ):
            assert found["data"]["program"] == "spl-token"
            assert found["data"]["parsed"]["info"]["tokenAmount"]["uiAmountString"] == amount
    assert value(rpc, text(key(5)), slot=10, encoding="jsonParsed")["data"]["space"] == 82


def test_what_nothing_parses_comes_in_base64(rpc: Rpc, archive: Any) -> None:
    archive(block(10, writes=[write(1, signature(10, 1), data=b"\1")]))
    assert value(rpc, ALICE, slot=10, encoding="jsonParsed")["data"] == ["AQ==", "base64"]


def test_a_null_says_why(rpc: Rpc, archive: Any) -> None:
    archive(
        block(10, writes=[write(1, signature(10, 1))]),
        block(11, writes=[write(1, signature(11, 1), lamports=0)]),
        block(12, writes=[write(1, signature(12, 1), data=b"again")]),
    )
    assert (value(rpc, ALICE, slot=11), reason(rpc, ALICE, slot=11)) == (None, "closed")
    before = {"anchor": {"signature": signed(10, 1)}}
    assert value(rpc, ALICE, **before) is None
    assert reason(rpc, ALICE, **before) == "before_first_record"
    assert value(rpc, ALICE, slot=12)["space"] == 5
    assert reason(rpc, ALICE, slot=12) is None


def test_an_account_that_is_not_followed_says_so(rpc: Rpc, archive: Any) -> None:
    filters.filter_account(Pubkey(key(1)), filtered=True)
    filters.filter_account(Pubkey(key(2)), filtered=True)
    record_baseline([write(1, lamports=7)], 10, source="snapshot", now=NOW)
    archive(block(10), block(11, writes=[write(1, signature(11, 1), lamports=9)]))
    assert value(rpc, ALICE, slot=11)["lamports"] == 7
    assert reason(rpc, ALICE, slot=11) == reason(rpc, BOB, slot=11) == "filtered"
    assert value(rpc, BOB, slot=11) is None


def test_between_transactions_of_a_slot_of_last_writes_only_what_is_sure_is_told(
    rpc: Rpc, archive: Any
) -> None:
    writes = [write(1, signature(11, 2), lamports=9), write(2, signature(11, 1), lamports=8)]
    archive(
        block(10, writes=[write(1, signature(10, 1)), write(2, signature(10, 2))]),
        block(11, writes=writes, granularity=Granularity.SLOT),
    )
    after = {"slot": 11, "transactionIndex": 1}
    error = rpc(REWIND, METHOD, ALICE, after)["error"]
    assert (error["code"], error["data"]["reason"]) == (-32018, "writes_incomplete")
    assert error["data"]["pubkey"] == ALICE
    assert value(rpc, ALICE, **after, tolerateGaps=True)["lamports"] == 1_000
    assert value(rpc, BOB, **after)["lamports"] == 8
    assert value(rpc, ALICE, slot=11)["lamports"] == 9


def test_an_anchor_finds_its_slot_and_may_lie_outside_the_archive(
    rpc: Rpc, archive: Any, record: Any
) -> None:
    from historical.recording.services.recording import record_blocks

    record_blocks([block(8), block(9, parent=8), block(20, parent=9)], now=NOW)
    record(block(10, parent=9, writes=[write(1, signature(10, 1))]), block(13, parent=12))
    for slot, outcome in [
        (9, (-32015, "slot_too_old")),
        (20, (-32014, "slot_too_new")),
        (10, (-32016, "unknown_signature")),
    ]:
        assert refusal(rpc, ALICE, {"anchor": {"signature": signed(slot, 0)}}) == outcome
    record_blocks([block(12, parent=10)], now=NOW)
    lost = {"signature": signed(12, 0)}
    error = rpc(REWIND, METHOD, ALICE, {"anchor": lost})["error"]
    assert error["code"] == -32018
    assert error["data"] == {
        "reason": "slot_in_archive_gap",
        "queriedSlot": 12,
        "gapStart": 12,
        "gapEnd": 12,
        "gapStatus": "missing",
    }
    assert value(rpc, ALICE, anchor=lost, tolerateGaps=True)["rewindSlot"] == 10


def test_a_gap_between_the_state_and_the_position_is_told(rpc: Rpc, record: Any) -> None:
    record(
        block(10, writes=[write(1, None), write(2, None)]),
        block(13, parent=12, writes=[write(2, None)]),
        block(14, parent=13),
    )
    gaps.close_range(11, 11, closed_by="", now=NOW)
    lost = {"fromSlot": 12, "toSlot": 12, "status": "missing"}

    def context(pubkey: str, slot: int, **config: Any) -> Any:
        return rpc(REWIND, METHOD, pubkey, {"slot": slot, **config})["result"]["context"]

    assert "gap" not in context(ALICE, 10)
    assert context(ALICE, 12, tolerateGaps=True)["gap"] == lost
    assert context(ALICE, 13)["gap"] == lost == context(ALICE, 14)["gap"]
    assert context(text(key(3)), 14)["gap"] == lost
    assert "gap" not in context(BOB, 13)
    both = rpc(REWIND, "getMultipleAccounts", [BOB, ALICE], {"slot": 14})["result"]["context"]
    assert both["gap"] == lost
    alone = rpc(REWIND, "getMultipleAccounts", [BOB], {"slot": 14})["result"]["context"]
    assert "gap" not in alone
    sides = {"slotA": 10, "slotB": 14}
    diff = rpc(REWIND, "getAccountDiff", ALICE, sides)["result"]["context"]
    assert diff["gap"] == {"a": None, "b": lost}


def test_a_refusal_tells_the_whole_run_that_the_slot_lies_in(
    rpc: Rpc, archive: Any, record: Any
) -> None:
    record(block(10, writes=[write(1, None)]), block(30, parent=29))
    for first, last, status, cause in [
        (12, 12, GapStatus.MISSING, "writes_missing"),
        (13, 15, GapStatus.MISSING, "stream_lost"),
        (16, 16, GapStatus.MISSING, "writes_missing"),
        (17, 18, GapStatus.UNKNOWN, "stream_lost"),
        (20, 21, GapStatus.MISSING, "stream_lost"),
    ]:
        gaps.close_range(first, last, closed_by="", now=NOW)
        gaps.open_gap(first, last, status=status, cause=cause, now=NOW)
    gaps.close_range(11, 11, closed_by="", now=NOW)
    gaps.close_range(19, 19, closed_by="", now=NOW)
    gaps.close_range(22, 29, closed_by="", now=NOW)
    for slots, ends in [((12, 14, 16), (12, 16)), ((17, 18), (17, 18)), ((20, 21), (20, 21))]:
        for slot in slots:
            data = rpc(REWIND, METHOD, ALICE, {"slot": slot})["error"]["data"]
            assert (data["gapStart"], data["gapEnd"]) == ends
    for slot in (11, 19, 22):
        assert value(rpc, ALICE, slot=slot)["rewindSlot"] == 10


def test_an_archive_that_has_not_begun_knows_no_slot(rpc: Rpc, db: None) -> None:
    error = rpc(REWIND, METHOD, ALICE, {"slot": 0})["error"]
    assert (error["code"], error["data"]["latestSlot"]) == (-32014, None)
    assert refusal(rpc, ALICE, {"anchor": {"signature": UNSEEN}}) == (-32016, "unknown_signature")


POSITIONS = [
    ({}, "found none of them"),
    ({"transactionIndex": 1}, "found `transactionIndex`"),
    ({"slot": 10, "anchor": {"signature": UNSEEN}}, "found `slot` and `anchor`"),
    (
        {"slot": 10, "transactionIndex": 1, "anchor": {}},
        "found `slot` and `transactionIndex` and `anchor`",
    ),
    ({"anchor": {}}, "in `anchor`, found none of them"),
    ({"anchor": {"slot": 10}}, "in `anchor`, found `slot`"),
    (
        {"anchor": {"signature": UNSEEN, "slot": 10}},
        "in `anchor`, found `signature` and `slot`",
    ),
]


@pytest.mark.parametrize(("config", "words"), POSITIONS)
def test_a_position_must_be_named_in_one_way(rpc: Rpc, config: Any, words: str) -> None:
    error = rpc(REWIND, METHOD, ALICE, config)["error"]
    assert (error["code"], error["data"]["reason"]) == (-32602, "bad_position")
    assert error["message"].endswith(words)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([], "`params` should have at least 2 argument(s)"),
        ([ALICE], "`params` should have at least 2 argument(s)"),
        ([ALICE, {"slot": 1}, {}], "Invalid parameters: Expected from 2 to 2 parameters."),
        (["abc", {"slot": 1}], "Invalid param: WrongSize"),
        ([7, {"slot": 1}], "Invalid params: invalid type: integer `7`, expected a string."),
        ([ALICE, 7], "Invalid params: invalid type: integer `7`, expected an object."),
        ([ALICE, {"slot": -1}], "Invalid params: invalid value: integer `-1`, expected u64."),
        ([ALICE, {"slot": 1.5}], "invalid type: floating point `1.5`, expected u64."),
        ([ALICE, {"slot": 2**64}], "Invalid params: invalid type: floating point"),
        ([ALICE, {"slot": "1"}], 'invalid type: string "1", expected u64.'),
        ([ALICE, {"slot": 1, "encoding": "binary"}], "unknown variant `binary`, expected one of"),
        ([ALICE, {"slot": 1, "commitment": "soon"}], "unknown variant `soon`, expected one of"),
        ([ALICE, {"slot": 1, "tolerateGaps": 1}], "invalid type: integer `1`, expected a boolean."),
        ([ALICE, {"slot": 1, "dataSlice": {"offset": 1}}], "missing field `length`"),
        ([ALICE, {"slot": 1, "dataSlice": [0, 1]}], "invalid type: sequence, expected an object."),
        (
            [ALICE, {"slot": 1, "encoding": "jsonParsed", "dataSlice": {"offset": 0, "length": 1}}],
            "`dataSlice` is not supported with encoding `jsonParsed`",
        ),
        ([ALICE, {"anchor": {"signature": "1"}}], "Invalid param: WrongSize"),
        ([ALICE, {"anchor": {"signature": UNSEEN, "position": "at"}}], "unknown variant `at`"),
        ([ALICE, {"anchor": UNSEEN}], "expected an object."),
    ],
)
def test_bad_params_are_refused_in_words(rpc: Rpc, params: Any, words: str) -> None:
    error = rpc(REWIND, METHOD, *params)["error"]
    assert error["code"] == -32602
    assert words in error["message"]
