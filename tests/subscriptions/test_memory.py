"""A subscription that begins in the past: what is stored, then what happens, each once."""

from typing import Any

import pytest

from subscriptions import reader
from tests.patience import wait
from tests.subscriptions.conftest import Served
from tests.subscriptions.indexer import Indexer
from tests.subscriptions.socket_client import Socket

CLOCK = "SysvarC1ock11111111111111111111111111111111"


def read(socket: Socket, number: int, until: int) -> list[dict[str, Any]]:
    """The subscription's messages up to a slot."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["params"]["slot"] < until:
        found.append(socket.notice(number))
    return found


def slots_of(messages: list[dict[str, Any]]) -> list[int]:
    """The slots that were notified or reported as missing, in the order of the messages; a busy
    machine may lose some.
    """
    found: list[int] = []
    for message in messages:
        params = message["params"]
        if message["method"] == "gapNotification":
            found += range(params["result"]["fromSlot"], params["result"]["toSlot"] + 1)
        else:
            found.append(params["slot"])
    return found


@pytest.mark.parametrize("near", [300, 3], ids=["near what is stored", "far behind it"])
def test_roots_and_an_account_since_a_slot_are_each_there_once(
    served: Served, near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from historical.blocks.services.bounds import first_available_block, newest_slot_or_none
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", near)
    # The chain is older than what is stored where other tests were slow.
    first = max(5, first_available_block())
    wait(lambda: (newest_slot_or_none() or 0) >= first + 25, "25 slots stored")
    with served.socket() as socket:
        config = {"fromSlot": first, "encoding": "base64"}
        roots = socket.call("rootSubscribe", {"fromSlot": first})
        clock = socket.call("accountSubscribe", CLOCK, config)
        confirmed = socket.call("accountSubscribe", CLOCK, {**config, "commitment": "confirmed"})
        until = served.localnet.call("getSlot", {"commitment": "processed"}) + 20
        expected = list(range(first, until + 1))
        for number in (roots, clock, confirmed):
            messages = read(socket, number, until)
            found = slots_of(messages)
            assert found[: len(expected)] == expected
            assert {each["method"] for each in messages} <= {
                "rootNotification",
                "accountNotification",
                "gapNotification",
            }
            assert messages[0]["method"] != "gapNotification", "the first is stored"
        assert messages[0]["params"]["transactionIndex"] is None


def test_an_indexer_that_is_killed_reads_on(served: Served) -> None:
    Indexer(served).runs(kills=12)


def test_what_was_never_stored_is_a_gap(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_FINDING_SECONDS", 1.0)
    with served.socket() as socket:
        number = socket.call("logsSubscribe", "all", {"fromSignature": "1" * 64})
        gap = socket.notice(number)
        assert gap["method"] == "gapNotification"
        assert gap["params"]["result"] == {"reason": "from_signature_unknown"}
