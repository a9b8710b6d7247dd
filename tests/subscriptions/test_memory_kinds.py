"""Slots, their lives, blocks with an address, votes and signatures since a slot."""

import json
from collections import Counter
from typing import Any

import pytest
from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, landed, on_a_nonce, pay, send, signed, wallet
from tests.patience import wait
from tests.subscriptions.conftest import Served
from tests.subscriptions.test_memory import read, slots_of

_KNOWN_LATER = ["createdBank", "frozen", "optimisticConfirmation", "root"]


@pytest.fixture(params=[300, 3], ids=["near what is stored", "far behind it"])
def first(served: Served, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """A slot with 25 stored ones above it."""
    from historical.blocks.services.bounds import first_available_block, newest_slot_or_none
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", request.param)
    wait(lambda: newest_slot_or_none() is not None, "a slot stored")
    found = first_available_block() + 1
    wait(lambda: (newest_slot_or_none() or 0) >= found + 25, "25 slots stored")
    return found


def test_slots_are_each_there_once(served: Served, first: int) -> None:
    with served.socket() as socket:
        number = socket.call("slotSubscribe", {"fromSlot": first})
        until = served.localnet.call("getSlot", {"commitment": "processed"}) + 15
        messages = read(socket, number, until)
        expected = list(range(first, until + 1))
        assert slots_of(messages)[: len(expected)] == expected
        for message in messages:
            if message["method"] == "slotNotification":
                result, slot = message["params"]["result"], message["params"]["slot"]
                assert result["slot"] == slot
                assert result["parent"] < slot and first - 1 <= result["root"] <= slot


def test_what_is_known_of_a_slots_life_is_there_once(served: Served, first: int) -> None:
    with served.socket() as socket:
        number = socket.call("slotsUpdatesSubscribe", {"fromSlot": first})
        until = served.localnet.call("getSlot", {"commitment": "processed"}) + 10
        seen: Counter[tuple[int, str]] = Counter()
        gaps: set[int] = set()
        while seen[until, "root"] == 0:
            message = socket.notice(number)
            result = message["params"]["result"]
            if message["method"] == "gapNotification":
                gaps.update(range(result["fromSlot"], result["toSlot"] + 1))
                continue
            seen[result["slot"], result["type"]] += 1
            if result["type"] == "frozen":
                assert result["stats"]["numSuccessfulTransactions"] >= 0
            assert result["timestamp"] > 1_000_000_000_000
    for slot in set(range(first, until + 1)) - gaps:
        assert [seen[slot, name] for name in _KNOWN_LATER] == [1, 1, 1, 1], slot
    assert set(seen.values()) == {1}


def test_blocks_with_an_address_are_stored_as_they_happened(served: Served, first: int) -> None:
    localnet = served.localnet
    payer, to = wallet(localnet, 100 * SOL), Pubkey.new_unique()
    wanted = {"mentionsAccountOrProgram": str(to)}
    shown: dict[str, Any] = {"maxSupportedTransactionVersion": 0, "showRewards": True}
    configs: list[dict[str, Any]] = [
        {**shown, "encoding": "json"},
        {**shown, "encoding": "base64", "transactionDetails": "full", "commitment": "confirmed"},
        {**shown, "encoding": "jsonParsed", "transactionDetails": "accounts"},
    ]
    with served.socket() as socket:
        live = [socket.call("blockSubscribe", wanted, config) for config in configs]
        for number in range(3):
            signature = send(localnet, signed(localnet, [pay(payer, to, SOL + number)], payer))
            slot = landed(localnet, signature, "finalized")["slot"]
            happened = [socket.result(each) for each in live]
            assert [each["value"]["slot"] for each in happened] == [slot] * 3
        from historical.blocks.services.bounds import newest_slot_or_none

        wait(lambda: (newest_slot_or_none() or 0) >= slot, "the last block stored")
        for config, last in zip(configs, happened, strict=True):
            again = socket.call("blockSubscribe", wanted, {**config, "fromSlot": first})
            stored = [socket.notice(again)["params"] for _ in range(3)]
            assert [len(each["result"]["value"]["block"]["transactions"]) for each in stored] == [
                1
            ] * 3
            assert stored[-1]["slot"] == slot
            assert json.dumps(stored[-1]["result"], sort_keys=True) == json.dumps(
                last, sort_keys=True
            )


def test_a_signature_long_past_is_answered_at_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from historical.transactions.services.recorded_transactions import place_of
    from livefeed import slots

    monkeypatch.setattr(slots, "_KEPT_SIGNATURES", 2)
    localnet = served.localnet
    payer = wallet(localnet, 100 * SOL)
    transaction = signed(localnet, [pay(payer, Pubkey.new_unique(), SOL)], payer)
    signature = send(localnet, transaction)
    slot = landed(localnet, signature, "finalized")["slot"]
    wait(lambda: place_of(transaction.signatures[0]), "the transaction stored")
    place = place_of(transaction.signatures[0])
    assert place is not None
    with served.socket() as socket:
        roots = socket.call("rootSubscribe")
        while socket.result(roots) < slot + 10:
            pass  # the feed forgets
        for level in ("processed", "finalized"):
            config = {"fromSlot": 0, "commitment": level, "enableReceivedNotification": True}
            found = socket.call("signatureSubscribe", signature, config)
            assert socket.result(found)["value"] == "receivedSignature"
            params = socket.notice(found)["params"]
            assert params["result"] == {"context": {"slot": slot}, "value": {"err": None}}
            assert (params["slot"], params["transactionIndex"]) == place
            reason = socket.error("signatureUnsubscribe", found)["data"]["reason"]
            assert reason == "subscription_unknown", "it ended"
        later = on_a_nonce(localnet, payer)
        awaited = socket.call(
            "signatureSubscribe",
            str(later.signatures[0]),
            {"fromSlot": 0, "commitment": "confirmed"},
        )
        send(localnet, later)
        assert socket.result(awaited)["value"] == {"err": None}
