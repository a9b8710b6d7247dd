"""The form of what is served: a node of today's, or the source's; and transactions without meta."""

import copy
import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from chain.encodings import b58encode
from chain.transactions import Config
from historical.recording.services.removal import remove_blocks
from tests.signing import signed
from tests.upstream import sample_blocks as sample
from upstream.protobuf import confirmed_block_pb2 as schema

from .conftest import import_path

HISTORICAL = "/historical"
V0 = {"maxSupportedTransactionVersion": 0}
ADDRESS = sample.message_json(sample.WIRES[0])["accountKeys"][0]
# The shapes of an answer that hold transactions.
SHAPES = [
    {"encoding": "json"},
    {"encoding": "jsonParsed"},
    {"encoding": "base64"},
    {"transactionDetails": "accounts"},
]

pytestmark = pytest.mark.django_db


_hashes = itertools.count(1)


@pytest.fixture(autouse=True)
def _no_neighbours(db: None) -> None:
    """The blocks of this folder's files are in the ledger, one right before the sample's."""
    remove_blocks(sample.SLOT - 10, sample.SLOT + 10)


def new_blockhash() -> str:
    """A block of another content needs another one: texts are cached by it."""
    return b58encode(next(_hashes).to_bytes(32))


def old_json() -> Any:
    """The sample's legacy transaction as a node of 2021 answered it."""
    block = copy.deepcopy(sample.block_json("json"))
    block["blockhash"] = new_blockhash()
    del block["transactions"][1:], block["numRewardPartitions"]
    (entry,) = block["transactions"]
    del entry["version"]
    meta = entry["meta"]
    for name in ("loadedAddresses", "returnData", "computeUnitsConsumed", "costUnits"):
        del meta[name]
    del meta["postTokenBalances"][0]["uiTokenAmount"]["uiAmountString"]
    del meta["innerInstructions"][0]["instructions"][0]["stackHeight"]
    for instruction in entry["transaction"]["message"]["instructions"]:
        del instruction["stackHeight"]
    return block


def old_protobuf() -> bytes:
    """The same as a node has it in its store."""
    block = sample.block_message()
    block.blockhash = new_blockhash()
    del block.transactions[1:]
    block.ClearField("num_partitions")
    meta = block.transactions[0].meta
    for name in ("return_data", "compute_units_consumed", "cost_units"):
        meta.ClearField(name)
    meta.return_data_none = True
    meta.inner_instructions[0].instructions[0].ClearField("stack_height")
    return bytes(block.SerializeToString())


def imported(folder: Path, content: bytes) -> None:
    path = folder / f"block-{sample.SLOT}"
    path.write_bytes(content)
    import_path(path)


def read(rpc: Any, shape: dict[str, str], **options: Any) -> list[Any]:
    """What the three methods answer."""
    config = {**V0, **options}
    block = rpc(HISTORICAL, "getBlock", sample.SLOT, {**config, **shape})["result"]
    del block["blockhash"]
    if "transactionDetails" in shape:
        return [block]
    signature = str(sample.block_json("json")["transactions"][0]["transaction"]["signatures"][0])
    one = rpc(HISTORICAL, "getTransaction", signature, {**config, **shape})["result"]
    full = {**config, **shape, "transactionDetails": "full"}
    page = rpc(HISTORICAL, "getTransactionsForAddress", ADDRESS, full)["result"]
    assert page["data"] == [one]
    return [block, one]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_old_answer_reads_as_the_same_block_of_a_nodes_store(rpc, tmp_path, shape):
    imported(tmp_path, json.dumps(old_json()).encode())
    from_json = read(rpc, shape)
    remove_blocks(sample.SLOT, sample.SLOT)
    imported(tmp_path, old_protobuf())
    assert from_json == read(rpc, shape)
    assert from_json == read(rpc, shape, form="current")


@pytest.mark.parametrize("details", ["full", "accounts", "signatures", "none"])
def test_the_parts_of_rewards_are_there_without_rewards(rpc, tmp_path, details):
    """As at a node: it leaves out the rewards alone."""
    imported(tmp_path, json.dumps(sample.block_json("json")).encode())
    config = {**V0, "transactionDetails": details, "rewards": False}
    block = rpc(HISTORICAL, "getBlock", sample.SLOT, config)["result"]
    assert "rewards" not in block
    assert block["numRewardPartitions"] == 3


def test_the_sources_form_is_there_on_request(rpc, tmp_path):
    imported(tmp_path, json.dumps(old_json()).encode())
    block, one = read(rpc, {"encoding": "json"}, form="source")
    (told,) = block["transactions"]
    assert told.pop("version") == "legacy"
    expected = old_json()
    del expected["blockhash"]
    assert {**block, "transactions": [told]} == expected
    assert one["meta"] == told["meta"]
    (current,) = read(rpc, {"encoding": "json"})[0]["transactions"]
    assert [each["stackHeight"] for each in current["transaction"]["message"]["instructions"]] == [
        1,
        1,
    ]
    assert current["meta"]["innerInstructions"][0]["instructions"][0]["stackHeight"] is None
    assert current["meta"]["loadedAddresses"] == {"writable": [], "readonly": []}
    (parsed,) = read(rpc, {"encoding": "jsonParsed"})[0]["transactions"]
    keys = parsed["transaction"]["message"]["accountKeys"]
    assert {key["source"] for key in keys} == {"transaction"}


def test_an_unknown_form_is_refused(rpc):
    error = rpc(HISTORICAL, "getBlock", 1, {"form": "old"})["error"]
    assert error["code"] == -32602 and "`current`" in error["message"]


def test_what_a_source_recorded_nowhere_is_null(rpc, tmp_path):
    block = old_json()
    meta = block["transactions"][0]["meta"]
    for name in ("preTokenBalances", "postTokenBalances", "logMessages", "status"):
        del meta[name]
    imported(tmp_path, json.dumps(block).encode())
    (told,) = read(rpc, {"encoding": "json"})[0]["transactions"]
    assert told["meta"]["postTokenBalances"] is None and told["meta"]["logMessages"] is None
    assert told["meta"]["status"] == {"Err": told["meta"]["err"]}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("config", [{}, V0, {**V0, "form": "source"}])
def test_a_transaction_without_meta_has_no_version(rpc, tmp_path, shape, config):
    stored = schema.ConfirmedBlock.FromString(old_protobuf())
    stored.transactions[0].ClearField("meta")
    imported(tmp_path, stored.SerializeToString())
    for answer in read(rpc, shape, **config):
        for entry in answer.get("transactions", [answer]):
            assert entry["meta"] is None and "version" not in entry


def test_mainnets_first_transactions_have_no_version(rpc, real_ledger):
    entries = rpc(HISTORICAL, "getBlock", 1, V0)["result"]["transactions"]
    assert entries and all(set(entry) == {"meta", "transaction"} for entry in entries)
    signature = entries[0]["transaction"]["signatures"][0]
    assert "version" not in rpc(HISTORICAL, "getTransaction", signature, V0)["result"]
    later = rpc(HISTORICAL, "getBlock", 55065000, V0)["result"]["transactions"]
    assert {entry["version"] for entry in later} == {"legacy"}


@pytest.mark.parametrize("details", ["full", "accounts"])
def test_the_version_refused_is_that_of_the_first_transaction_refused(rpc, tmp_path, details):
    """As the standard node, which renders one after the other; not the newest of the block."""
    block = {**sample.block_json("json"), "blockhash": new_blockhash()}
    unsigned = dataclasses.replace(sample.WIRES[0], version=1, config=Config())
    newest = signed(unsigned, sample.PAYER)
    block["transactions"].append(
        {
            **copy.deepcopy(block["transactions"][0]),
            "transaction": {
                "signatures": [b58encode(newest.signatures[0])],
                "message": sample.message_json(newest),
            },
            "version": 1,
        }
    )
    for order, refused_first in ((1, 0), (-1, 1)):
        one = {**block, "transactions": block["transactions"][::order]}
        imported(tmp_path, json.dumps({**one, "blockhash": new_blockhash()}).encode())
        for maximum, found in ((None, refused_first), (0, 1)):
            config = {"transactionDetails": details}
            if maximum is not None:
                config["maxSupportedTransactionVersion"] = maximum
            error = rpc(HISTORICAL, "getBlock", sample.SLOT, config)["error"]
            assert (error["code"], error["data"]["found"]) == (-32015, found)
        remove_blocks(sample.SLOT, sample.SLOT)
