"""Skipped slots, forks that die, and what they leave behind: nothing."""

import itertools

from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, balance, landed, on_a_nonce, pay, send, wallet
from tests.localnet_process import Localnet, running_localnet


def chain_of(localnet: Localnet, start: int) -> list[dict[str, int]]:
    """Slot and parent of every finalized block."""
    config = {"transactionDetails": "none", "maxSupportedTransactionVersion": 0}
    return [
        {"slot": slot, **localnet.call("getBlock", slot, config)}
        for slot in localnet.call("getBlocks", start, localnet.call("getSlot"))
    ]


def assert_linked(blocks: list[dict[str, int]]) -> None:
    for before, block in itertools.pairwise(blocks):
        assert block["parentSlot"] == before["slot"]
        assert block["previousBlockhash"] == before["blockhash"]
        assert block["blockHeight"] == before["blockHeight"] + 1


def test_skipped_slots_have_no_block_and_the_chain_stays_linked() -> None:
    with running_localnet(LOCALNET_SKIP_PERCENT=40, LOCALNET_SLOT_MS=15) as localnet:
        newest = localnet.wait_for_slot(60)
        blocks = chain_of(localnet, 0)
        assert_linked(blocks)
        produced = {block["slot"] for block in blocks}
        skipped = sorted(set(range(newest)) - produced)
        assert 5 < len(skipped) < 50
        error = localnet.answer("getBlock", skipped[0])["error"]
        assert error["code"] == -32007
        assert error["message"] == (
            f"Slot {skipped[0]} was skipped, or missing due to ledger jump to recent snapshot"
        )
        error = localnet.answer("getBlock", newest + 10_000)["error"]
        assert error == {
            "code": -32004,
            "message": f"Block not available for slot {newest + 10_000}",
        }


def test_slots_are_skipped_on_demand(localnet: Localnet) -> None:
    head = localnet.call("getSlot", {"commitment": "processed"})
    assert localnet.call("setFaults", {"skipSlots": 5})["skipSlots"] == 5
    localnet.wait_for_slot(head + 20)
    blocks = chain_of(localnet, max(head - 2, 0))
    assert_linked(blocks)
    assert max(block["slot"] - block["parentSlot"] for block in blocks[1:]) >= 6
    assert localnet.call("getFaults")["skipSlots"] == 0


def test_a_dying_fork_leaves_no_trace_and_its_transactions_land_after_it() -> None:
    with running_localnet() as localnet:
        sender, receiver = wallet(localnet), Pubkey.new_unique()
        transaction = on_a_nonce(localnet, sender, pay(sender, receiver, SOL))
        before = balance(localnet, sender.pubkey())
        parent = localnet.call("getSlot", {"commitment": "processed"})
        # A fork that lasts until all has been seen of it.
        localnet.call("setFaults", {"forkSlots": 1_000})
        localnet.wait(lambda: localnet.call("getFaults")["forkSlots"] <= 998, "on the fork")
        signature = send(localnet, transaction)
        on_fork = landed(localnet, signature, "processed")
        assert on_fork["confirmationStatus"] == "processed"
        assert balance(localnet, receiver, "processed") == SOL
        assert balance(localnet, receiver, "confirmed") == 0
        localnet.call("setFaults", {"forkSlots": 1})
        status = landed(localnet, signature)
        assert status["slot"] > on_fork["slot"]
        assert balance(localnet, receiver, "finalized") == SOL
        assert balance(localnet, sender.pubkey(), "finalized") == before - SOL - 5_000
        blocks = chain_of(localnet, parent)
        assert_linked(blocks)
        assert on_fork["slot"] not in {block["slot"] for block in blocks}
        listed = localnet.call("getSignaturesForAddress", str(receiver))
        assert [(each["slot"], each["signature"]) for each in listed] == [
            (status["slot"], signature)
        ]


def test_a_fault_that_makes_no_sense_is_refused(localnet: Localnet) -> None:
    error = localnet.answer("setFaults", {"losePercent": 101})["error"]
    assert error == {"code": -32602, "message": "losePercent: expected 0 to 100, found 101.0"}
    for wrong, text in [
        ({"tpu": "fast"}, "unknown variant `fast`, expected one of `ok`, `slow`, `refuse`"),
        ({"skipSlot": 1}, "unknown field `skipSlot`"),
    ]:
        error = localnet.answer("setFaults", wrong)["error"]
        assert (error["code"], error["message"]) == (-32602, f"Invalid params: {text}.")
    assert localnet.answer("setFaults", {"skipSlots": -1})["error"]["code"] == -32602
