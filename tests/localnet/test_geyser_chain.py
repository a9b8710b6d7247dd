"""The Geyser stream of a running localnet: what it tells is what the node's JSON-RPC tells."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b64encode
from tests.localnet.geyser_client import Client
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from upstream.geyser.messages import transaction_of
from upstream.protobuf import geyser_pb2 as schema

FINALIZED = schema.SlotStatus.SLOT_FINALIZED


@pytest.fixture
def stream(localnet: Localnet) -> Iterator[Client]:
    client = Client(localnet.geyser_port)
    yield client
    client.close()


def everything(**fields: Any) -> Any:
    request = schema.SubscribeRequest(**fields)
    for filters in (request.accounts, request.transactions, request.entry, request.blocks_meta):
        filters["all"].SetInParent()
    request.slots["all"].interslot_updates = True
    request.blocks["all"].include_accounts = True
    return request


def until_finalized(client: Client, slot: int) -> dict[str, list[Any]]:
    """All updates by kind, up to the slot's last status."""
    found: dict[str, list[Any]] = {}
    for update in client.updates:
        assert update.HasField("created_at")
        kind = update.WhichOneof("update_oneof")
        found.setdefault(kind, []).append(getattr(update, kind))
        if kind == "slot" and update.slot.slot == slot and update.slot.status == FINALIZED:
            return found
    raise AssertionError("the stream ended")


def test_a_block_comes_whole_and_as_the_node_tells_it(localnet: Localnet, stream: Client) -> None:
    alice, bob = wallet(localnet), Keypair().pubkey()
    # From a whole slot on: the transactions may still land in the one that is being made.
    stream.send(everything(from_slot=localnet.call("getSlot", {"commitment": "processed"})))
    good = signed(localnet, [pay(alice, bob, SOL)], alice)
    bad = signed(localnet, [pay(alice, bob, 100 * SOL)], alice)
    sent = [send(localnet, each, skipPreflight=True) for each in (good, bad)]
    slot = max(landed(localnet, each)["slot"] for each in sent)
    updates = until_finalized(stream, slot)

    config = {"encoding": "base64", "maxSupportedTransactionVersion": 0}
    told = localnet.call("getBlock", slot, config)
    (meta,) = [each for each in updates["block_meta"] if each.slot == slot]
    (block,) = [each for each in updates["block"] if each.slot == slot]
    entries = [each for each in updates["entry"] if each.slot == slot]
    transactions = [each.transaction for each in updates["transaction"] if each.slot == slot]
    writes = [each.account for each in updates["account"] if each.slot == slot]

    assert meta.blockhash == block.blockhash == told["blockhash"]
    assert meta.parent_slot == told["parentSlot"]
    assert meta.parent_blockhash == told["previousBlockhash"]
    assert str(Pubkey(entries[-1].hash)) == told["blockhash"]
    assert [each.index for each in entries] == list(range(meta.entries_count))
    assert sum(each.executed_transaction_count for each in entries) == len(transactions)
    assert [each.index for each in transactions] == list(range(meta.executed_transaction_count))
    for info, expected in zip(transactions, told["transactions"], strict=True):
        record = transaction_of(info)
        assert b64encode(record.wire) == expected["transaction"][0]
        assert record.meta == expected["meta"]

    # Every write of the slot came, and a block has the last one of each account.
    last = {each.pubkey: each for each in sorted(writes, key=lambda each: each.write_version)}
    assert {each.pubkey: each for each in block.accounts} == last
    assert len({each.write_version for each in writes}) == len(writes)
    by_transaction = {
        signature: {each.pubkey for each in writes if each.txn_signature == signature}
        for signature in (bytes(Signature.from_string(each)) for each in sent)
    }
    expected_writes = ({bytes(alice.pubkey()), bytes(bob)}, {bytes(alice.pubkey())})
    for signature, wanted in zip(sent, expected_writes, strict=True):
        got = by_transaction[bytes(Signature.from_string(signature))]
        if localnet.call("getSignatureStatuses", [signature])["value"][0]["slot"] == slot:
            assert got == wanted


def test_a_stream_that_comes_back_misses_nothing(localnet: Localnet, stream: Client) -> None:
    stream.send(everything(commitment=schema.CommitmentLevel.PROCESSED))
    stream.rest()
    localnet.call("setFaults", {"dropStreams": True})
    assert stream.end()[0] is grpc.StatusCode.UNAVAILABLE
    start = localnet.call("getSlot", {"commitment": "finalized"})
    alice = wallet(localnet)
    again = Client(localnet.geyser_port)
    try:
        again.send(everything(from_slot=start))
        now = localnet.call("getSlot", {"commitment": "processed"})
        updates = until_finalized(again, now)
    finally:
        again.close()
    blocks = localnet.call("getBlocks", start, now)
    metas = {each.slot: each for each in updates["block_meta"]}
    assert [slot for slot in sorted(metas) if slot <= now] == blocks
    for slot in blocks:
        indexes = [each.transaction.index for each in updates["transaction"] if each.slot == slot]
        assert indexes == list(range(metas[slot].executed_transaction_count))
    funded = [each for each in updates["account"] if each.account.pubkey == bytes(alice.pubkey())]
    assert [each.account.lamports for each in funded] == [10 * SOL]


def test_a_stream_can_begin_before_a_restart() -> None:
    def shown(localnet: Localnet, start: int, end: int) -> list[list[tuple[str, bytes]]]:
        """What a stream tells of each slot, in order, without the moment and the late statuses."""
        client = Client(localnet.geyser_port)
        try:
            client.send(everything(from_slot=start))
            found: dict[int, list[tuple[str, bytes]]] = {slot: [] for slot in range(start, end + 1)}
            for update in client.updates:
                kind = update.WhichOneof("update_oneof")
                body = getattr(update, kind)
                slot = body.slot
                if kind == "slot" and slot == end and body.status == FINALIZED:
                    return list(found.values())
                if kind != "slot" and slot in found:
                    found[slot].append((kind, body.SerializeToString(deterministic=True)))
        finally:
            client.close()
        raise AssertionError("the stream ended")

    with running_localnet() as localnet:
        start = localnet.wait_for_slot(2)
        alice = wallet(localnet)
        sent = [
            send(localnet, signed(localnet, [pay(alice, Keypair().pubkey(), SOL)], alice))
            for _ in range(4)
        ]
        end = max(landed(localnet, each)["slot"] for each in sent)
        localnet.wait_for_slot(end)
        before = shown(localnet, start, end)
        assert sum(kind == "transaction" for slot in before for kind, _ in slot) >= len(sent)
        for stop in (localnet.stop, localnet.kill):
            stop()
            localnet.start()
            assert shown(localnet, start, end) == before
