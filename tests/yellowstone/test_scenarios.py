"""What Yellowstone's own scenarios assert of a stream (docs/testing.md), on a chain with payments:
of each slot its content, its block, its block's meta, then its status; all of them fit together.
"""

from collections import defaultdict
from typing import Any

import pytest
from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.yellowstone.conftest import Geyser, Request
from tests.yellowstone.test_replay import stored_up_to
from upstream.protobuf import geyser_pb2 as schema

SLOT_HISTORY = bytes(Pubkey.from_string("SysvarS1otHistory11111111111111111111111111"))
_PLACES = {"account": 0, "transaction": 0, "entry": 0, "block": 1, "block_meta": 2, "slot": 3}


def everything(commitment: int, **fields: Any) -> Any:
    request = Request(commitment=commitment, **fields)  # type: ignore[arg-type]
    for each in (request.accounts, request.transactions, request.entry, request.blocks_meta):
        each["x"].SetInParent()
    block = request.blocks["x"]
    block.include_transactions = block.include_accounts = block.include_entries = True
    request.slots["x"].interslot_updates = True
    return request


def slot_of(update: Any) -> int:
    return int(getattr(update, update.WhichOneof("update_oneof")).slot)


def paid(geyser: Geyser) -> int:
    """The slot of the last of some payments."""
    localnet = geyser.localnet
    alice = wallet(localnet, 10 * SOL)
    for _ in range(3):
        done = send(localnet, signed(localnet, [pay(alice, Pubkey.new_unique(), SOL)], alice))
    return int(landed(localnet, done)["slot"])


@pytest.mark.parametrize("commitment", [0, 1, 2], ids=["processed", "confirmed", "finalized"])
@pytest.mark.parametrize("begins", ["now", "in the past"])
def test_a_slot_is_whole_and_in_order(geyser: Geyser, commitment: int, begins: str) -> None:
    request = everything(commitment)
    if begins == "in the past":
        geyser.localnet.wait_for_slot(12)  # the past has a beginning
        last = paid(geyser)
        stored_up_to(last)
        request.from_slot = first = last - 8
    with geyser.subscribed(request) as stream:
        if begins == "now":
            first = slot_of(stream.until(lambda each: each.HasField("block"))[-1]) + 1
            last = paid(geyser)
        found = stream.until(lambda each: each.HasField("block") and each.block.slot > last + 3)
    slots: dict[int, list[Any]] = defaultdict(list)
    for update in found:
        if first <= slot_of(update) <= last:
            slots[slot_of(update)].append(update)
    assert sorted(slots) == list(range(first, last + 1))
    assert sum(check(updates, commitment) for updates in slots.values()) > 2


def check(updates: list[Any], commitment: int) -> int:
    """Of one slot: how many transactions it has."""
    level = [
        each for each in updates if not each.HasField("slot") or each.slot.status == commitment
    ]
    places = [_PLACES[each.WhichOneof("update_oneof")] for each in level]
    assert places == sorted(places)
    of_kind: dict[str, list[Any]] = defaultdict(list)
    for each in level:
        kind = each.WhichOneof("update_oneof")
        of_kind[kind].append(getattr(each, kind))
    (block,), (meta,), (status,) = of_kind["block"], of_kind["block_meta"], of_kind["slot"]
    assert block.blockhash == meta.blockhash and status.parent == meta.parent_slot
    transactions = [each.transaction for each in of_kind["transaction"]]
    assert len(transactions) == meta.executed_transaction_count == block.executed_transaction_count
    assert list(block.transactions) == transactions
    assert len(of_kind["entry"]) == meta.entries_count == len(block.entries)
    accounts = [each.account for each in of_kind["account"]]
    assert sorted(each.pubkey for each in block.accounts) == sorted(e.pubkey for e in accounts)
    # It is written last of all: who has it missed nothing.
    assert SLOT_HISTORY in {each.pubkey for each in accounts}
    signatures = {each.txn_signature for each in accounts if each.HasField("txn_signature")}
    assert signatures <= {each.signature for each in transactions}
    statuses = [each.slot for each in updates if each.HasField("slot")]
    assert len({each.status for each in statuses}) == len(statuses)
    assert all(each.HasField("parent") for each in statuses if each.status <= 2)
    return len(transactions)


def test_a_slot_goes_through_every_status_at_each_commitment(geyser: Geyser) -> None:
    names = {"PROCESSED", "CONFIRMED", "FINALIZED", "FIRST_SHRED_RECEIVED", "COMPLETED"}
    expected = {schema.SlotStatus.Value(f"SLOT_{each}") for each in (*names, "CREATED_BANK")}
    for commitment in schema.CommitmentLevel.values():
        request = Request(commitment=commitment, slots={"all": {"interslot_updates": True}})
        with geyser.subscribed(request) as stream:
            of_slot: dict[int, set[int]] = defaultdict(set)

            def is_over(update: Any, of_slot: dict[int, set[int]] = of_slot) -> bool:
                of_slot[update.slot.slot].add(update.slot.status)
                return expected <= of_slot[update.slot.slot]

            stream.until(is_over)
