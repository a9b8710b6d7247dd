"""Yellowstone gRPC for customers: what streams are sent, and what calls answer."""

import json
from typing import Any

import grpc
import pytest
from solders.hash import Hash
from solders.message import MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from tests.localnet.wallets import SOL, latest_blockhash, pay, send, signed, wallet
from tests.patience import wait
from tests.yellowstone.conftest import Geyser, Request
from upstream.protobuf import geyser_pb2 as schema

CLOCK = "SysvarC1ock11111111111111111111111111111111"
SYSVARS = "Sysvar1111111111111111111111111111111111111"
SYSTEM = "11111111111111111111111111111111"
FINALIZED = schema.CommitmentLevel.FINALIZED
CONFIRMED = schema.CommitmentLevel.CONFIRMED


def kinds(updates: list[Any]) -> set[str]:
    return {each.WhichOneof("update_oneof") for each in updates}


def test_the_calls_say_where_the_chain_is(geyser: Geyser) -> None:
    before = geyser.localnet.call("getSlot", {"commitment": "finalized"})
    request = schema.GetSlotRequest(commitment=FINALIZED)
    # On a busy machine the service is some slots behind the chain, and catches up.
    wait(lambda: geyser.call("GetSlot", request).slot >= before, "the chain's slot")
    found = geyser.call("GetSlot", request)
    assert geyser.call("GetSlot", schema.GetSlotRequest()).slot >= found.slot
    height = geyser.call("GetBlockHeight", schema.GetBlockHeightRequest()).block_height
    assert height >= found.slot - 20
    latest = geyser.call("GetLatestBlockhash", schema.GetLatestBlockhashRequest())
    assert latest.last_valid_block_height >= height + 150
    valid = schema.IsBlockhashValidRequest(blockhash=latest.blockhash)
    assert geyser.call("IsBlockhashValid", valid).valid
    node = geyser.localnet.call("isBlockhashValid", latest.blockhash, {"commitment": "processed"})
    assert node["value"] is True
    other = schema.IsBlockhashValidRequest(blockhash=str(Pubkey.new_unique()))
    assert not geyser.call("IsBlockhashValid", other).valid
    assert geyser.call("Ping", schema.PingRequest(count=7)).count == 7
    version = json.loads(geyser.call("GetVersion", schema.GetVersionRequest()).version)
    assert version["version"]["package"] == "tidemark"
    replay = geyser.call("SubscribeReplayInfo", schema.SubscribeReplayInfoRequest())
    assert replay.first_available <= 1
    for request, name in (
        (schema.IsBlockhashValidRequest(blockhash="x"), "IsBlockhashValid"),
        (schema.GetSlotRequest(commitment=9), "GetSlot"),  # type: ignore[arg-type]
    ):
        with pytest.raises(grpc.RpcError) as error:
            geyser.call(name, request)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_each_filter_gets_its_updates_by_name(geyser: Geyser) -> None:
    localnet = geyser.localnet
    payer, to = wallet(localnet, 100 * SOL), Pubkey.new_unique()
    key = str(payer.pubkey())
    request = Request(
        accounts={
            "mine": {"account": [key, str(to)]},
            "system": {"owner": [SYSTEM], "filters": [{"lamports": {"gt": 5}}, {"datasize": 0}]},
            "clock": {"account": [CLOCK]},
            "none": {"account": [CLOCK], "owner": [SYSTEM]},
        },
        slots={"all": {}, "own": {"filter_by_commitment": True}, "inter": {"interslot_updates": 1}},
        transactions={
            "named": {"account_include": [str(to)]},
            "both": {"account_required": [str(to), key], "failed": False, "vote": False},
            "without": {"account_include": [str(to)], "account_exclude": [key]},
        },
        transactions_status={"status": {"account_required": [str(to)]}},
        blocks={"block": {"account_include": [str(to)], "include_accounts": True}},
        blocks_meta={"meta": {}},
        commitment=CONFIRMED,
    )
    with geyser.subscribed(request) as stream:
        stream.until(lambda update: update.HasField("block_meta"))
        signature = send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
        found = stream.until(lambda update: update.HasField("transaction"))
        slot = found[-1].transaction.slot
        found += stream.until(
            lambda update: update.HasField("slot") and update.slot.slot == slot + 5
        )
    assert kinds(found) == {
        "account",
        "slot",
        "transaction",
        "transaction_status",
        "block",
        "block_meta",
    }
    accounts = [each for each in found if each.HasField("account")]
    paid = next(each for each in accounts if each.account.account.pubkey == bytes(to))
    assert set(paid.filters) == {"mine", "system"}
    assert paid.account.slot == slot and paid.account.account.lamports == SOL
    assert paid.created_at.seconds > 0
    assert {name for each in accounts for name in each.filters} == {"mine", "system", "clock"}
    (ran,) = [each for each in found if each.HasField("transaction")]
    assert set(ran.filters) == {"named", "both"}
    assert paid.account.account.txn_signature == ran.transaction.transaction.signature
    assert signature == str(Signature(ran.transaction.transaction.signature))
    (status,) = [each for each in found if each.HasField("transaction_status")]
    assert status.transaction_status.signature == ran.transaction.transaction.signature
    block = next(each.block for each in found if each.HasField("block") and each.block.slot == slot)
    assert len(block.transactions) == 1 and block.executed_transaction_count >= 1
    assert [bytes(each.pubkey) for each in block.accounts] == [bytes(to)]
    assert block.updated_account_count > 1
    statuses = [(set(each.filters), each.slot.status) for each in found if each.HasField("slot")]
    assert ({"all", "own", "inter"}, 1) in statuses
    assert ({"all", "inter"}, 0) in statuses and ({"all", "inter"}, 2) in statuses
    assert any(names == {"inter"} and status == 5 for names, status in statuses)


def test_version_1_comes_with_its_settings_live_and_from_the_past(geyser: Geyser) -> None:
    localnet = geyser.localnet
    payer, to = wallet(localnet, 100 * SOL), Pubkey.new_unique()
    asked = TransactionConfig(
        priority_fee=7, compute_unit_limit=50_000, loaded_accounts_data_size_limit=1 << 20
    )
    blockhash = Hash.from_string(latest_blockhash(localnet))
    message = MessageV1.try_compile(payer.pubkey(), [pay(payer, to, SOL)], blockhash, asked)
    transaction = VersionedTransaction(message, [payer])
    named = {"t": {"account_include": [str(to)]}}
    request = Request(transactions=named, blocks_meta={"m": {}}, commitment=FINALIZED)
    with geyser.subscribed(request) as stream:
        stream.until(lambda update: update.HasField("block_meta"))
        send(localnet, transaction)
        live = stream.until(lambda update: update.HasField("transaction"))[-1].transaction
    past = Request(transactions=named, commitment=FINALIZED, from_slot=live.slot)
    with geyser.subscribed(past) as stream:
        again = next(iter(stream)).transaction
    assert again == live
    found = live.transaction.transaction
    assert list(found.signatures) == [bytes(each) for each in transaction.signatures]
    settings = found.message.config
    assert found.message.versioned and not settings.HasField("heap_size")
    assert (settings.priority_fee, settings.compute_unit_limit) == (7, 50_000)
    assert settings.loaded_accounts_data_size_limit == 1 << 20
    assert live.transaction.meta.fee == 5_007


def test_blocks_have_all_that_localnets_own_have(geyser: Geyser) -> None:
    localnet = geyser.localnet
    payer = wallet(localnet, 100 * SOL)
    request = Request(
        blocks={"b": {"include_transactions": True, "include_accounts": True}},
        commitment=FINALIZED,
    )
    with geyser.subscribed(request) as stream:
        next(iter(stream))
        send(localnet, signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer))
        found = stream.until(lambda update: update.block.executed_transaction_count)
    block = found[-1].block
    theirs = localnet.call("getBlock", block.slot, {"maxSupportedTransactionVersion": 0})
    assert block.blockhash == theirs["blockhash"]
    assert len(block.transactions) == len(theirs["transactions"])
    assert len(block.accounts) == block.updated_account_count
    assert block.block_height.block_height == theirs["blockHeight"]


def test_data_are_sliced_and_filters_are_replaced(geyser: Geyser) -> None:
    request = Request(
        accounts={"clock": {"account": [CLOCK]}},
        accounts_data_slice=[{"offset": 0, "length": 8}, {"offset": 32, "length": 4}],
    )
    with geyser.subscribed(request) as stream:
        update = next(iter(stream))
        assert len(update.account.account.data) == 12
        assert int.from_bytes(update.account.account.data[:8], "little") == update.account.slot
        stream.send(Request(ping={"id": 42}))
        assert stream.until(lambda update: update.HasField("pong"))[-1].pong.id == 42
        stream.send(Request(blocks_meta={"other": {}}))
        stream.until(lambda update: update.HasField("block_meta"))
        found = [next(iter(stream)) for _ in range(5)]
        assert kinds(found) == {"block_meta"}


def test_all_accounts_and_transactions_without_any_condition(geyser: Geyser) -> None:
    request = Request(accounts={"a": {}}, transactions={"t": {}})
    payer = wallet(geyser.localnet, 100 * SOL)
    with geyser.subscribed(request) as stream:
        next(iter(stream))
        send(geyser.localnet, signed(geyser.localnet, [pay(payer, payer.pubkey(), SOL)], payer))
        found = stream.until(lambda update: update.HasField("transaction"))
    assert kinds(found) == {"account", "transaction"}


def test_messages_are_compressed_as_the_client_does(geyser: Geyser) -> None:
    request = Request(blocks={"b": {"include_accounts": True}})
    ping = schema.PingRequest(count=3)
    for encoding in (grpc.Compression.Gzip, grpc.Compression.NoCompression):
        with geyser.subscribed(request, compression=encoding) as stream:
            assert next(iter(stream)).block.accounts
        assert geyser.call("Ping", ping, compression=encoding).count == 3


def test_bad_filters_are_refused_with_the_reason(geyser: Geyser) -> None:
    for request, why in (
        (Request(accounts={"a": {"account": ["x"]}}), "accounts.a: account: 'x' is no pubkey"),
        (Request(accounts={"a": {"filters": [{}]}}), "a filter without memcmp"),
        (Request(commitment=7), "no commitment has the number 7"),  # type: ignore[arg-type]
    ):
        with geyser.subscribed(request) as stream:
            refusal = stream.refusal()
        assert refusal.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert why in refusal.details()
