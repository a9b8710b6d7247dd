"""Blocks and transactions in every encoding and at every commitment."""

import base64
import json
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.rpc.responses import GetBlockResp, GetTransactionResp
from solders.signature import Signature

from chain.encodings import b58decode
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet

V0 = {"maxSupportedTransactionVersion": 0}


@pytest.fixture(scope="module")
def sender(localnet: Localnet) -> Keypair:
    return wallet(localnet)


@pytest.fixture(scope="module")
def sent(localnet: Localnet, sender: Keypair) -> tuple[str, int, bytes]:
    """Signature, slot and wire bytes of a finalized transaction."""
    transaction = signed(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender)
    signature = send(localnet, transaction)
    return signature, landed(localnet, signature)["slot"], bytes(transaction)


def test_a_transaction_is_given_in_each_encoding(
    localnet: Localnet, sent: tuple[str, int, bytes]
) -> None:
    signature, slot, wire = sent

    def ask(encoding: str) -> Any:
        found = localnet.call("getTransaction", signature, {"encoding": encoding, **V0})
        assert found["slot"] == slot
        assert found["version"] == 0
        assert found["transactionIndex"] == 0
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": found})
        assert GetTransactionResp.from_json(body).value is not None
        return found["transaction"]

    text, name = ask("base64")
    assert (base64.b64decode(text), name) == (wire, "base64")
    text, name = ask("base58")
    assert (b58decode(text), name) == (wire, "base58")
    assert ask("json")["message"]["instructions"][0]["programIdIndex"] == 2
    parsed = ask("jsonParsed")["message"]["instructions"][0]
    assert parsed["parsed"]["type"] == "transfer"
    assert parsed["parsed"]["info"]["lamports"] == SOL
    config = {"encoding": "base64+zstd", **V0}
    error = localnet.answer("getTransaction", signature, config)["error"]
    assert error["code"] == -32602 and "RpcEncodingConfigWrapper" in error["message"]


@pytest.mark.parametrize("encoding", ["json", "jsonParsed", "base58", "base64"])
@pytest.mark.parametrize("details", ["full", "accounts", "signatures", "none"])
def test_a_block_is_given_in_each_form(
    localnet: Localnet, sent: tuple[str, int, bytes], encoding: str, details: str
) -> None:
    signature, slot, _ = sent
    config = {"encoding": encoding, "transactionDetails": details, **V0}
    block = localnet.call("getBlock", slot, config)
    assert (
        GetBlockResp.from_json(json.dumps({"jsonrpc": "2.0", "id": 1, "result": block})).value
        is not None
    )
    assert block["rewards"][0]["rewardType"] == "Fee"
    if details == "signatures":
        assert block["signatures"] == [signature]
    elif details == "accounts":
        (entry,) = block["transactions"]
        assert entry["transaction"]["signatures"] == [signature]
        assert entry["transaction"]["accountKeys"][0]["signer"] is True
        assert entry["meta"]["rewards"] == []
    assert ("transactions" in block) == (details in ("full", "accounts"))
    assert "rewards" not in localnet.call("getBlock", slot, {**config, "rewards": False})


def test_a_block_of_versioned_transactions_wants_a_caller_who_knows_them(
    localnet: Localnet, sent: tuple[str, int, bytes]
) -> None:
    error = localnet.answer("getBlock", sent[1])["error"]
    assert error["code"] == -32015
    assert error["message"].startswith("Transaction version (0) is not supported")


def test_history_has_nothing_below_confirmed(localnet: Localnet) -> None:
    refused = {
        "code": -32602,
        "message": "Method does not support commitment below `confirmed`",
    }
    processed = {"commitment": "processed"}
    key = str(Pubkey.new_unique())
    for method, *params in (
        ("getBlock", 0),
        ("getBlocks", 0, 5),
        ("getBlocksWithLimit", 0, 5),
        ("getTransaction", str(Signature.new_unique())),
        ("getSignaturesForAddress", key),
    ):
        assert localnet.answer(method, *params, processed)["error"] == refused, method


def test_a_confirmed_block_is_the_one_that_gets_finalized(
    localnet: Localnet, sender: Keypair
) -> None:
    signature = send(localnet, signed(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender))
    slot = landed(localnet, signature, "confirmed")["slot"]
    config = {"commitment": "confirmed", **V0}
    confirmed = localnet.call("getBlock", slot, config)
    listed = localnet.call("getBlocks", slot, slot, {"commitment": "confirmed"})
    assert listed == [slot]
    found = localnet.call("getTransaction", signature, config)
    landed(localnet, signature)
    assert localnet.call("getBlock", slot, V0) == confirmed
    assert localnet.call("getTransaction", signature, V0) == found
    assert localnet.call("getBlocksWithLimit", slot, 1) == [slot]
    assert localnet.call("getBlockTime", slot) == confirmed["blockTime"]


def test_a_batch_is_answered_in_order(localnet: Localnet) -> None:
    methods = ["getSlot", "getHealth", "nothing", "getGenesisHash"]
    answers = localnet.post(
        [
            {"jsonrpc": "2.0", "id": number, "method": method}
            for number, method in enumerate(methods)
        ]
    )
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3]
    assert answers[1]["result"] == "ok"
    assert answers[2]["error"]["code"] == -32601


KEY = str(Pubkey.new_unique())


@pytest.mark.parametrize(
    ("method", "params", "code", "text"),
    [
        ("getBalance", ["x"], -32602, "Invalid param: "),
        ("getBalance", [], -32602, "`params` should have at least 1 argument(s)"),
        (
            "getAccountInfo",
            [KEY, {"encoding": "base32"}],
            -32602,
            "Invalid params: unknown variant",
        ),
        ("getMultipleAccounts", [[KEY] * 101], -32602, "Too many inputs provided; max 100"),
        ("getSlot", [{"minContextSlot": 10**9}], -32016, "Minimum context slot"),
        (
            "getProgramAccounts",
            [KEY, {"filters": [{}]}],
            -32602,
            "Invalid params: invalid value: map",
        ),
        (
            "getProgramAccounts",
            [KEY, {"filters": [{"memcmp": {"offset": 0, "bytes": "0OIl"}}]}],
            -32602,
            "Invalid param: Base58DecodeError(InvalidCharacter { character: '0', index: 0 })",
        ),
        (
            "getProgramAccounts",
            [KEY, {"filters": [{"dataSize": 1}] * 5}],
            -32602,
            "Too many filters",
        ),
        ("getTokenAccountBalance", [KEY], -32602, "Invalid param: could not find account"),
        ("getTokenSupply", [str(Pubkey.default())], -32602, "Invalid param: not a Token mint"),
        ("getTokenAccountsByOwner", [KEY, {}], -32602, "Invalid params: invalid value: map"),
        (
            "getTokenAccountsByOwner",
            [KEY, {"programId": KEY}],
            -32602,
            "Invalid param: unrecognized Token program id",
        ),
        ("getSignatureStatuses", [[]] * 1 + [{}] * 2, -32602, "Invalid parameters: Expected from"),
        ("getSignaturesForAddress", [KEY, {"limit": 0}], -32602, "Invalid limit; max 1000"),
        ("getTokenLargestAccounts", [KEY], -32602, "Invalid param: could not find mint"),
        (
            "getTokenAccountsByOwner",
            [KEY, {"mint": str(Pubkey.default())}],
            -32602,
            "Invalid param: Token mint could not be unpacked",
        ),
        (
            "getTokenSupply",
            ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"],
            -32602,
            "Invalid param: not a Token mint",
        ),
        ("getBlocks", [0, {"minContextSlot": 2**62}], -32016, "Minimum context slot"),
        ("getBlocksWithLimit", [0, 1, {"minContextSlot": 2**62}], -32016, "Minimum context slot"),
        ("getBlocksWithLimit", [2**63, 1], None, None),
        ("getInflationReward", [[KEY], {"minContextSlot": 2**62}], -32016, "Minimum context slot"),
        ("getInflationReward", [[KEY], {"epoch": 2**62}], -32004, "Block not available for slot"),
        ("getInflationReward", [[KEY], {"commitment": "processed"}], -32602, "Method does not"),
        ("getBlocks", [0, 10**18], None, None),
        ("getBlocksWithLimit", [0, 500_001], -32602, "Limit too large; max 500000"),
        ("getSlotLeaders", [0, 5_001], -32602, "Invalid limit; max 5000"),
        ("getSlotLeaders", [10**9, 1], -32602, "Invalid slot range: leader schedule"),
        ("requestAirdrop", [KEY, 2**63], -32602, "airdrop request failed"),
    ],
)
def test_bad_params_are_refused_in_the_nodes_words(
    localnet: Localnet, method: str, params: list[Any], code: int | None, text: str | None
) -> None:
    answer = localnet.answer(method, *params)
    if code is None:
        assert "result" in answer
    else:
        assert answer["error"]["code"] == code
        assert answer["error"]["message"].startswith(text or "")


def test_base58_is_for_short_data_only(localnet: Localnet) -> None:
    token_program_data = "3gvYRKWyXRR9xKWe1ZjPhLY5ZJRN7KDB4rFZFGoJfFk2"
    error = localnet.answer("getAccountInfo", token_program_data)["error"]
    assert error["code"] == -32600
    assert "less than 128 bytes" in error["message"]
    config = {"encoding": "base58", "dataSlice": {"offset": 0, "length": 4}}
    value = localnet.call("getAccountInfo", token_program_data, config)["value"]
    text, name = value["data"]
    assert (b58decode(text), name) == (b"\3\0\0\0", "base58")
    whole = localnet.call("getAccountInfo", token_program_data, {"encoding": "base64+zstd"})
    assert whole["value"]["data"][1] == "base64+zstd"


def test_the_leader_schedule_says_who_leads(localnet: Localnet) -> None:
    info = localnet.call("getEpochInfo")
    schedule = localnet.call("getLeaderSchedule")
    assert len(schedule) == 4
    slots = sorted(slot for leads in schedule.values() for slot in leads)
    assert slots == list(range(info["slotsInEpoch"]))
    nodes = {node["pubkey"]: node for node in localnet.call("getClusterNodes")}
    assert nodes.keys() == schedule.keys()
    first = info["absoluteSlot"] - info["slotIndex"]
    leaders = localnet.call("getSlotLeaders", first, 40)
    for index, leader in enumerate(leaders):
        assert index in schedule[leader]
        assert leaders[index - index % 4] == leader  # a turn is four slots
    assert {node["tpuQuic"] for node in nodes.values()} == {f"127.0.0.1:{localnet.tpu_port}"}
    (identity,) = {localnet.call("getIdentity")["identity"]} & nodes.keys()
    only = localnet.call("getLeaderSchedule", None, {"identity": identity})
    assert only == {identity: schedule[identity]}
    assert localnet.call("getLeaderSchedule", 10**9) is None


def test_no_lamports_appear_or_vanish_but_the_burned_half_of_fees(localnet: Localnet) -> None:
    sender = wallet(localnet)

    def supply() -> tuple[int, int]:
        answer = localnet.call("getSupply")
        return answer["value"]["total"], answer["context"]["slot"]

    before, first = supply()
    transaction = signed(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender)
    landed(localnet, send(localnet, transaction))
    after, last = supply()
    fees = sum(
        entry["meta"]["fee"]
        for slot in localnet.call("getBlocks", first + 1, last)
        for entry in localnet.call("getBlock", slot, V0)["transactions"]
    )
    assert fees >= 5_000
    assert before - after == fees // 2
