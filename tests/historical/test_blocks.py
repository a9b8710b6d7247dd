"""getBlock, getBlocks, getBlocksWithLimit, getBlockTime, getSlot, getFirstAvailableBlock."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from solders.transaction import VersionedTransaction

from upstream.archives.block_files import open_block_file

from .conftest import FILES

HISTORICAL = "/historical"
SKIPPED = [30, 31, 32, 36, 37, 38, 39, 68, 69, 70, 71, 84]


def json_file(path: Path) -> Any:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(raw)
    return document.get("result", document)


SAME_ENCODING = [
    ("mainnet-254170887.base64.json.gz", 254170887, {"encoding": "base64"}),
    ("solders-147078735.json.json.gz", 147078735, {}),
    ("chainstorage/client/block.json", 100000000, {}),
    ("chainstorage/client/block_without_parent_hash.json", 1021085, {}),
    ("chainstorage/parser/block_with_versioned_tx.json", 154808473, {}),
]


@pytest.mark.parametrize(("file", "slot", "config"), SAME_ENCODING)
def test_a_block_reads_as_its_source_has_it(rpc, real_ledger, file, slot, config):
    source = json_file(real_ledger / file)
    config = {**config, "form": "source"}
    if any("version" in entry for entry in source["transactions"]):
        config = {**config, "maxSupportedTransactionVersion": 0}
    assert rpc(HISTORICAL, "getBlock", slot, config)["result"] == source


@pytest.mark.parametrize(("file", "slot", "config"), SAME_ENCODING)
def test_every_transaction_reads_as_its_source_has_it(rpc, real_ledger, file, slot, config):
    source = json_file(real_ledger / file)
    config = {**config, "form": "source"}
    if any("version" in entry for entry in source["transactions"]):
        config = {**config, "maxSupportedTransactionVersion": 0}
    signatures = rpc(HISTORICAL, "getBlock", slot, {"transactionDetails": "signatures"})
    for index, signature in enumerate(signatures["result"]["signatures"]):
        answer = rpc(HISTORICAL, "getTransaction", signature, config)["result"]
        assert answer == {
            **source["transactions"][index],
            "slot": slot,
            "blockTime": source.get("blockTime"),
            "transactionIndex": index,
        }


@pytest.mark.parametrize(
    ("encoding", "reference"),
    [
        ("json", "solders-147078735.json.json.gz"),
        ("base64", "solders-147078735.base64.json.gz"),
        ("jsonParsed", "solders-147078735.json_parsed.json.gz"),
    ],
)
def test_a_block_of_one_encoding_is_served_in_the_others_as_the_reference_has_it(
    rpc, real_ledger, encoding, reference
):
    answer = rpc(HISTORICAL, "getBlock", 147078735, {"encoding": encoding, "form": "source"})
    assert answer["result"] == json_file(real_ledger / reference)


@pytest.mark.parametrize(
    "name", [name for name in FILES.values() if not name.startswith(("chainstorage", "solders"))]
)
def test_every_block_of_every_file_has_its_wire_bytes_meta_and_header(rpc, real_ledger, name):
    with open_block_file(real_ledger / name) as blocks:
        for record in blocks:
            config = {"encoding": "base64", "maxSupportedTransactionVersion": 0}
            block = rpc(HISTORICAL, "getBlock", record.slot, config)["result"]
            assert block["blockhash"] == record.blockhash
            assert block["previousBlockhash"] == record.previous_blockhash
            assert block["parentSlot"] == record.parent_slot
            assert block["blockTime"] == record.block_time
            assert block["blockHeight"] == record.block_height
            assert block.get("rewards") == record.rewards
            assert len(block["transactions"]) == len(record.transactions)
            for entry, expected in zip(block["transactions"], record.transactions, strict=True):
                assert base64.b64decode(entry["transaction"][0]) == expected.wire
                assert entry["meta"] == expected.meta


def test_solders_reads_the_same_message_from_json_and_from_base64(rpc, real_ledger):
    config = {"maxSupportedTransactionVersion": 0}
    plain = rpc(HISTORICAL, "getBlock", 332254855, config)["result"]["transactions"]
    binary = rpc(HISTORICAL, "getBlock", 332254855, {**config, "encoding": "base64"})["result"]
    for left, right in zip(plain, binary["transactions"], strict=True):
        wire = VersionedTransaction.from_bytes(base64.b64decode(right["transaction"][0]))
        message = left["transaction"]["message"]
        assert message["accountKeys"] == [str(key) for key in wire.message.account_keys]
        assert message["recentBlockhash"] == str(wire.message.recent_blockhash)
        assert left["transaction"]["signatures"] == [str(each) for each in wire.signatures]
        assert wire.verify_with_results() == [True] * len(wire.signatures)
        assert left["version"] == right["version"]


def test_the_hundred_slots_have_88_blocks_and_12_skipped(rpc, real_ledger):
    blocks = rpc(HISTORICAL, "getBlocks", 55065000, 55065099)["result"]
    assert len(blocks) == 88
    missing = sorted(set(range(55065000, 55065100)) - set(blocks))
    assert missing == [55065000 + offset for offset in SKIPPED]
    limited = rpc(HISTORICAL, "getBlocksWithLimit", 55065029, 3)["result"]
    assert limited == [55065029, 55065033, 55065034]


@pytest.mark.parametrize(
    ("slot", "code", "reason", "message"),
    [
        (
            55065030,
            -32007,
            "slot_skipped",
            "Slot 55065030 was skipped, or missing due to ledger jump to recent snapshot",
        ),
        (
            200000000,
            -32009,
            "slot_missing",
            "Slot 200000000 was skipped, or missing in long-term storage",
        ),
        (999999999, -32004, "block_not_available", "Block not available for slot 999999999"),
        (2**64 - 1, -32004, "block_not_available", f"Block not available for slot {2**64 - 1}"),
        (
            0,
            -32001,
            "block_cleaned_up",
            "Block 0 cleaned up, does not exist on node. First available block: 1",
        ),
    ],
)
@pytest.mark.parametrize("method", ["getBlock", "getBlockTime"])
def test_a_slot_without_a_block_says_why(rpc, real_ledger, method, slot, code, reason, message):
    error = rpc(HISTORICAL, method, slot)["error"]
    assert (error["code"], error["message"]) == (code, message)
    assert error["data"]["reason"] == reason


def test_the_ledger_tells_its_ends(rpc, real_ledger):
    assert rpc(HISTORICAL, "getSlot")["result"] == 332254855
    assert rpc(HISTORICAL, "getFirstAvailableBlock")["result"] == 1
    assert rpc(HISTORICAL, "getBlockTime", 254170887)["result"] == 1710441678
    assert rpc(HISTORICAL, "getBlockTime", 1021085)["result"] is None


def test_an_empty_ledger_says_so(rpc, db):
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE historical_block")  # rolled back with the test
    for method in ("getSlot", "getFirstAvailableBlock"):
        assert rpc(HISTORICAL, method)["error"]["data"]["reason"] == "ledger_empty"
    assert rpc(HISTORICAL, "getBlock", 5)["error"]["code"] == -32004
    assert rpc(HISTORICAL, "getBlocks", 0)["result"] == []


def test_the_detail_levels_hold_what_the_standard_node_puts_there(rpc, real_ledger):
    slot, config = 332254855, {"maxSupportedTransactionVersion": 0}
    full = rpc(HISTORICAL, "getBlock", slot, config)["result"]
    none = rpc(HISTORICAL, "getBlock", slot, {"transactionDetails": "none"})["result"]
    assert "transactions" not in none
    assert "signatures" not in none
    assert none == {name: value for name, value in full.items() if name != "transactions"}
    signatures = rpc(HISTORICAL, "getBlock", slot, {"transactionDetails": "signatures"})["result"]
    assert signatures["signatures"] == [
        entry["transaction"]["signatures"][0] for entry in full["transactions"]
    ]
    accounts = rpc(HISTORICAL, "getBlock", slot, {**config, "transactionDetails": "accounts"})[
        "result"
    ]["transactions"]
    parsed = rpc(HISTORICAL, "getBlock", slot, {**config, "encoding": "jsonParsed"})["result"]
    for slim, whole, read in zip(
        accounts, full["transactions"], parsed["transactions"], strict=True
    ):
        assert set(slim) == {"transaction", "meta", "version"}
        assert slim["transaction"] == {
            "accountKeys": read["transaction"]["message"]["accountKeys"],
            "signatures": whole["transaction"]["signatures"],
        }
        kept = ("err", "status", "fee", "preBalances", "postBalances", "rewards")
        kept += ("preTokenBalances", "postTokenBalances")
        assert slim["meta"] == {name: whole["meta"][name] for name in kept}


def test_without_rewards_a_block_has_none_and_each_meta_says_null(rpc, real_ledger):
    config = {"maxSupportedTransactionVersion": 0, "rewards": False}
    block = rpc(HISTORICAL, "getBlock", 254170887, config)["result"]
    assert "rewards" not in block
    assert {json.dumps(entry["meta"]["rewards"]) for entry in block["transactions"]} == {"null"}


def test_a_versioned_transaction_needs_a_caller_that_knows_versions(rpc, real_ledger):
    error = rpc(HISTORICAL, "getBlock", 254170887)["error"]
    assert error["code"] == -32015
    assert error["message"] == (
        "Transaction version (0) is not supported by the requesting client. Please try the"
        " request again with the following configuration parameter:"
        ' "maxSupportedTransactionVersion": 0'
    )
    legacy = rpc(HISTORICAL, "getBlock", 55065000)["result"]["transactions"]
    assert all("version" not in entry for entry in legacy)
    told = rpc(HISTORICAL, "getBlock", 55065000, {"maxSupportedTransactionVersion": 1})["result"]
    assert {entry.pop("version") for entry in told["transactions"]} == {"legacy"}
    assert told["transactions"] == legacy


def test_old_blocks_have_no_fields_that_did_not_exist(rpc, real_ledger):
    block = rpc(HISTORICAL, "getBlock", 55065000)["result"]
    for entry in block["transactions"]:
        assert "computeUnitsConsumed" not in entry["meta"]
        assert "returnData" not in entry["meta"]


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("getBlock", [], "`params` should have at least 1 argument(s)"),
        ("getBlock", ["5"], 'Invalid params: invalid type: string "5", expected u64.'),
        ("getBlock", [True], "Invalid params: invalid type: boolean `true`, expected u64."),
        ("getBlock", [-1], "Invalid params: invalid value: integer `-1`, expected u64."),
        (
            "getBlock",
            [2**64],
            f"Invalid params: invalid type: floating point `{float(2**64)}`, expected u64.",
        ),
        ("getBlock", [1.5], "Invalid params: invalid type: floating point `1.5`, expected u64."),
        (
            "getBlock",
            [5, {"commitment": "processed"}],
            "Method does not support commitment below `confirmed`",
        ),
        ("getBlocks", [0, 600_000], "Slot range too large; max 500000"),
        ("getBlocksWithLimit", [0, 500_001], "Limit too large; max 500000"),
        ("getFirstAvailableBlock", [1], "Invalid parameters: No parameters were expected"),
    ],
)
def test_bad_params_are_told_in_the_standard_nodes_words(rpc, real_ledger, method, params, message):
    error = rpc(HISTORICAL, method, *params)["error"]
    assert (error["code"], error["message"]) == (-32602, message)


@pytest.mark.parametrize(
    ("config", "at", "found"),
    [
        (
            {"maxSupportedTransactionVersion": 256},
            "[1].maxSupportedTransactionVersion",
            "invalid value: integer `256`, expected u8",
        ),
        (
            {"encoding": "base64+zstd"},
            "[1].encoding",
            "unknown variant `base64+zstd`, expected one of `binary`, `base64`, `base58`, `json`,"
            " `jsonParsed`",
        ),
        (
            {"transactionDetails": "some"},
            "[1].transactionDetails",
            "unknown variant `some`, expected one of `full`, `accounts`, `signatures`, `none`",
        ),
        (5, "[1]", "invalid type: integer `5`, expected string or map"),
    ],
)
def test_what_the_nodes_text_does_not_say_of_a_config_is_in_the_data(
    rpc, real_ledger, config, at, found
):
    error = rpc(HISTORICAL, "getBlock", 5, config)["error"]
    enum = "untagged enum RpcEncodingConfigWrapper"
    assert error["message"] == f"Invalid params: data did not match any variant of {enum}."
    assert error["data"] == {"reason": "invalid_params", "at": at, "found": found}


def test_a_commitment_that_does_not_exist_is_refused(rpc, real_ledger):
    for method, params in (("getBlock", [5]), ("getSlot", []), ("getBlocks", [0])):
        error = rpc(HISTORICAL, method, *params, {"commitment": "rooted"})["error"]
        assert error["message"].startswith("Invalid params: unknown variant `rooted`")


def test_a_context_slot_that_the_ledger_has_not_reached_is_refused(rpc, real_ledger):
    for method, params in [("getSlot", []), ("getBlock", [43200]), ("getBlocks", [0, 1])]:
        error = rpc(HISTORICAL, method, *params, {"minContextSlot": 10**12})["error"]
        assert error["code"] == -32016
        assert error["data"]["contextSlot"] == 332254855
    assert rpc(HISTORICAL, "getSlot", {"minContextSlot": 1})["result"] == 332254855


def test_getblocks_takes_its_config_in_either_place(rpc, real_ledger):
    config = {"commitment": "finalized"}
    assert rpc(HISTORICAL, "getBlocks", 332254855, config)["result"] == [332254855]
    assert rpc(HISTORICAL, "getBlocks", 332254855, None, config)["result"] == [332254855]
    assert rpc(HISTORICAL, "getBlocks", 55065002, 55065000)["result"] == []


def test_the_bare_encoding_of_old_clients_is_understood(rpc, real_ledger):
    old = rpc(HISTORICAL, "getBlock", 147078735, "base64")["result"]
    assert old == rpc(HISTORICAL, "getBlock", 147078735, {"encoding": "base64"})["result"]
