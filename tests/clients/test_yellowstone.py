"""Yellowstone's own npm client against localnet's stream: all that it decodes is what happened."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.signature import Signature

from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet

from .conftest import Node

PROCESSED, CONFIRMED, FINALIZED = 0, 1, 2


@pytest.fixture(scope="module")
def localnet() -> Iterator[Localnet]:
    with running_localnet() as running:
        # The client starts after what it is to see has happened.
        running.call("setFaults", {"replaySlots": 10_000})
        yield running


@pytest.fixture(scope="module")
def sent(localnet: Localnet) -> dict[str, Any]:
    """A wallet that sent two transactions; the second failed."""
    alice, bob = wallet(localnet), Keypair()
    good = signed(localnet, [pay(alice, bob.pubkey(), SOL)], alice)
    bad = signed(localnet, [pay(alice, bob.pubkey(), 100 * SOL)], alice)
    signatures = [send(localnet, each, skipPreflight=True) for each in (good, bad)]
    slots = [landed(localnet, each)["slot"] for each in signatures]
    return {"wallet": alice.pubkey(), "signatures": signatures, "slots": slots}


@pytest.fixture(scope="module")
def answer(localnet: Localnet, sent: dict[str, Any], node: Node) -> Any:
    given = {
        "url": localnet.geyser_url,
        "wallet": str(sent["wallet"]),
        "fromSlot": min(sent["slots"]),
        "untilSlot": max(sent["slots"]) + 3,
    }
    return json.loads(node("yellowstone.mjs", json.dumps(given)))


def test_the_unary_calls_tell_where_the_chain_stands(answer: Any, localnet: Localnet) -> None:
    assert answer["ping"] == 7
    assert "localnet" in answer["version"]
    assert 0 < answer["slot"] <= localnet.call("getSlot", {"commitment": "processed"})
    assert 0 < answer["height"] <= answer["slot"]
    assert answer["valid"] is True
    told = localnet.call("getBlock", int(answer["latest"]["slot"]), {"transactionDetails": "none"})
    assert told["blockhash"] == answer["latest"]["blockhash"]
    assert int(answer["latest"]["lastValidBlockHeight"]) == told["blockHeight"] + 150
    assert answer["pongs"] == [9]


def test_transactions_are_the_ones_that_the_node_tells(
    answer: Any, localnet: Localnet, sent: dict[str, Any]
) -> None:
    by_signature = {
        each["encoded"]["transaction"]["signatures"][0]: each for each in answer["transactions"]
    }
    config = {"encoding": "json", "maxSupportedTransactionVersion": 0}
    for signature, failed in zip(sent["signatures"], (False, True), strict=True):
        streamed = by_signature[signature]
        told = localnet.call("getTransaction", signature, config)
        assert streamed["slot"] == told["slot"]
        assert streamed["isVote"] is False
        assert streamed["encoded"]["version"] == told["version"]
        # The client's encoder is older than costUnits.
        assert told["meta"].pop("costUnits") > 0
        assert streamed["encoded"]["meta"] == told["meta"]
        assert without_heights(streamed["encoded"]["transaction"]) == without_heights(
            told["transaction"]
        )
        assert (told["meta"]["err"] is not None) == failed
    statuses = {each["signature"]: each["err"] for each in answer["statuses"]}
    good, bad = (bytes(Signature.from_string(each)).hex() for each in sent["signatures"])
    assert statuses[good] is None
    assert "InstructionError" in json.dumps(statuses[bad])


def test_account_writes_are_the_wallets(answer: Any, sent: dict[str, Any]) -> None:
    writes = {each["signature"]: each for each in answer["accounts"]}
    for signature, lamports in zip(
        sent["signatures"], (9 * SOL - 5_000, 9 * SOL - 10_000), strict=True
    ):
        write = writes[bytes(Signature.from_string(signature)).hex()]
        assert write["pubkey"] == bytes(sent["wallet"]).hex()
        assert write["owner"] == bytes(32).hex()
        assert int(write["lamports"]) == lamports
        assert write["rentEpoch"] == str(2**64 - 1)
        assert write["data"] == ""


def test_blocks_and_slots_are_the_ones_that_the_node_tells(
    answer: Any, localnet: Localnet, sent: dict[str, Any]
) -> None:
    slot = sent["slots"][0]
    told = localnet.call("getBlock", slot, {"maxSupportedTransactionVersion": 0})
    (block,) = [each for each in answer["blocks"] if each["slot"] == slot]
    (meta,) = [each for each in answer["metas"] if each["slot"] == slot]
    entries = [each for each in answer["entries"] if each["slot"] == slot]
    assert block["blockhash"] == meta["blockhash"] == told["blockhash"]
    assert block["parentBlockhash"] == told["previousBlockhash"]
    assert (block["blockTime"], block["blockHeight"]) == (told["blockTime"], told["blockHeight"])
    assert block["transactions"] == meta["count"] == len(told["transactions"])
    assert block["entries"] == block["entriesCount"] == len(entries)
    assert block["accounts"] == block["updatedAccounts"] > 0
    assert [each["pubkey"] for each in block["rewards"]] == [
        each["pubkey"] for each in told["rewards"]
    ]
    statuses = [each["status"] for each in answer["slots"] if each["slot"] == slot]
    assert statuses == [PROCESSED, CONFIRMED, FINALIZED]


def without_heights(transaction: Any) -> Any:
    """Without stackHeight, which the client's own encoder leaves null at the top."""
    message = transaction["message"]
    instructions = [
        {name: value for name, value in each.items() if name != "stackHeight"}
        for each in message["instructions"]
    ]
    return {**transaction, "message": {**message, "instructions": instructions}}
