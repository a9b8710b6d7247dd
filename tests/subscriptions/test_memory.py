"""A subscription that begins in the past: what is stored, then what happens, each once."""

import time
from typing import Any

import pytest

from tests.patience import PATIENCE_SECONDS
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


@pytest.mark.parametrize("near", [300, 3], ids=["near what is stored", "far behind it"])
def test_roots_and_an_account_since_a_slot_are_each_there_once(
    served: Served, near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from historical.services.bounds import newest_slot_or_none
    from subscriptions import reader

    monkeypatch.setattr(reader, "_NEAR_SLOTS", near)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (newest_slot_or_none() or 0) < 30:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    first = 5
    with served.socket() as socket:
        config = {"fromSlot": first, "encoding": "base64"}
        roots = socket.call("rootSubscribe", {"fromSlot": first})
        clock = socket.call("accountSubscribe", CLOCK, config)
        confirmed = socket.call("accountSubscribe", CLOCK, {**config, "commitment": "confirmed"})
        until = served.localnet.call("getSlot", {"commitment": "processed"}) + 20
        expected = list(range(first, until + 1))
        for number in (roots, clock, confirmed):
            messages = read(socket, number, until)
            assert [each["params"]["slot"] for each in messages] == expected
            assert {each["method"] for each in messages} <= {
                "rootNotification",
                "accountNotification",
            }
        assert messages[0]["params"]["transactionIndex"] is None


def test_an_indexer_that_is_killed_reads_on(served: Served) -> None:
    Indexer(served).runs(kills=12)


def test_what_was_never_stored_is_a_gap_and_some_kinds_have_no_memory(served: Served) -> None:
    with served.socket() as socket:
        number = socket.call("logsSubscribe", "all", {"fromSignature": "1" * 64})
        gap = socket.notice(number)
        assert gap["method"] == "gapNotification"
        assert gap["params"]["result"] == {"reason": "from_signature_unknown"}
        error = socket.error("programSubscribe", CLOCK, {"fromSlot": 1})
        assert error["data"]["reason"] == "no_memory"
