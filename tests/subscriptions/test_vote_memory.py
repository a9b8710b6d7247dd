"""Votes since a slot, on a chain whose validators vote."""

from collections.abc import Iterator

import pytest

from tests.localnet_process import Localnet, running_localnet
from tests.patience import wait
from tests.subscriptions.conftest import Served
from tests.subscriptions.test_memory import read


@pytest.fixture
def localnet() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_VOTES="true") as running:
        yield running


@pytest.mark.parametrize("near", [300, 3], ids=["near what is stored", "far behind it"])
def test_votes_are_each_there_once(
    served: Served, near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every transaction of a vote that the chain has, in order."""
    from historical.blocks.services.bounds import first_available_block, newest_slot_or_none
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", near)
    first = first_available_block()  # slot 0, if it is fast enough
    wait(lambda: (newest_slot_or_none() or 0) >= first + 25, "25 slots stored")
    with served.socket() as socket:
        votes = socket.call("voteSubscribe", {"fromSlot": first})
        until = served.localnet.call("getSlot", {"commitment": "processed"}) + 10
        messages = read(socket, votes, until + 1)
    gaps: set[int] = set()
    found = []
    for message in messages:
        params = message["params"]
        result = params["result"]
        if message["method"] == "gapNotification":
            assert result["fromSlot"] <= result["toSlot"]
            gaps.update(range(result["fromSlot"], result["toSlot"] + 1))
        elif params["slot"] <= until:
            assert result["votePubkey"] and result["slots"] and result["hash"]
            found.append((params["slot"], params["transactionIndex"], result["signature"]))
    served.localnet.wait(lambda: served.localnet.call("getSlot") >= until, "all final")
    expected = []
    for slot in sorted(set(range(first, until + 1)) - gaps):
        block = served.localnet.call(
            "getBlock", slot, {"maxSupportedTransactionVersion": 0, "rewards": False}
        )
        for index, entry in enumerate(block["transactions"]):
            message = entry["transaction"]["message"]
            if "Vote111111111111111111111111111111111111111" in message["accountKeys"]:
                expected.append((slot, index, entry["transaction"]["signatures"][0]))
    assert expected
    assert found == expected
