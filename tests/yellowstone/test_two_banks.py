"""Yellowstone gRPC for customers: a slot that the node executes twice, and bank_id."""

from typing import Any

import pytest
from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, pay, send, signed, wallet
from tests.patience import wait
from tests.yellowstone.conftest import Geyser, Request
from upstream.protobuf import geyser_pb2 as schema

OF_NO_BANK = (
    schema.SlotStatus.SLOT_FIRST_SHRED_RECEIVED,
    schema.SlotStatus.SLOT_COMPLETED,
    schema.SlotStatus.SLOT_DEAD,
)
CONFIRMED = schema.CommitmentLevel.CONFIRMED


def bank_of(update: Any) -> int:
    kind = update.WhichOneof("update_oneof")
    return int(getattr(update, kind).bank_id)


def everything(commitment: Any) -> Any:
    return Request(
        accounts={"a": {}},
        transactions={"t": {}},
        transactions_status={"x": {}},
        slots={"s": {"interslot_updates": True}},
        blocks={"b": {}},
        blocks_meta={"m": {}},
        entry={"e": {}},
        commitment=commitment,
    )


@pytest.mark.parametrize("is_later", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("commitment", schema.CommitmentLevel.values())
def test_a_slot_is_its_final_bank_whose_id_is_handed_on(
    geyser: Geyser, commitment: Any, is_later: bool
) -> None:
    localnet = geyser.localnet
    localnet.call("setFaults", {"bankIds": "all"})
    since = localnet.call("getSlot", {"commitment": "processed"}) + 1
    payer = wallet(localnet, 100 * SOL)
    with geyser.subscribed(everything(commitment)) as stream:
        stream.until(lambda update: update.HasField("block_meta"))
        localnet.call(
            "setFaults", {"twoBanks": 4, "twoBanksLater": is_later, "twoBanksFreeze": True}
        )
        send(localnet, signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer))
        found = stream.until(lambda update: update.block_meta.executed_transaction_count)
        last = found[-1].block_meta.slot
        found += stream.until(lambda update: update.block_meta.slot > last + 6)
    named: dict[int, set[int]] = {}
    metas: dict[int, list[Any]] = {}
    for update in found:
        kind = update.WhichOneof("update_oneof")
        slot = getattr(update, kind).slot
        if kind == "slot" and update.slot.status in OF_NO_BANK:
            assert not update.slot.HasField("bank_id")
        elif kind != "slot":
            named.setdefault(slot, set()).add(bank_of(update))
        if kind == "block_meta":
            metas.setdefault(slot, []).append(update.block_meta)
    assert localnet.call("getFaults")["twoBanks"] == 0
    wait(lambda: localnet.call("getSlot") >= max(metas), "the blocks to be final")
    for slot, blocks in metas.items():
        block = localnet.call("getBlock", slot, {"transactionDetails": "none", "rewards": False})
        # The one that was dropped was processed as well: in which order depends on what had come
        # when the slot was announced, but the final one is always sent last.
        is_processed = commitment == schema.CommitmentLevel.PROCESSED
        assert blocks[-1].blockhash == block["blockhash"]
        assert len(blocks) == 1 or is_processed
        banks = {each.bank_id for each in blocks}
        assert slot <= since or (named[slot] == banks and 0 not in banks)
    assert max(metas) > since
