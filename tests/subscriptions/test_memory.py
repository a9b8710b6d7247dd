"""A subscription that begins in the past: what is stored, then what happens, each once."""

import threading
import time
from typing import Any

import pytest
from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.patience import PATIENCE_SECONDS
from tests.subscriptions.conftest import Served
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
    localnet = served.localnet
    payer, to = wallet(localnet, 1_000 * SOL), Pubkey.new_unique()
    sent: list[str] = []
    stopping = threading.Event()

    def pay_on() -> None:
        while not stopping.is_set():
            instruction = pay(payer, to, SOL // 100 + len(sent))
            sent.append(send(localnet, signed(localnet, [instruction], payer)))
            time.sleep(0.02)

    first = send(localnet, signed(localnet, [pay(payer, to, SOL)], payer))
    landed(localnet, first, "finalized")
    thread = threading.Thread(target=pay_on)
    thread.start()
    seen: list[tuple[int, int, str]] = []
    gaps: list[tuple[int, int]] = []
    last = first

    def take(socket: Socket, number: int) -> str:
        """The next transaction's signature; a busy machine may lose slots, which is reported."""
        while True:
            notice = socket.notice(number)
            params = notice["params"]
            if notice["method"] == "gapNotification":
                gaps.append((params["result"]["fromSlot"], params["result"]["toSlot"]))
                continue
            signature: str = params["result"]["value"]["signature"]
            seen.append((params["slot"], params["transactionIndex"], signature))
            return signature

    mention = {"mentions": [str(to)]}
    try:
        for turn in range(12):
            with served.socket() as socket:
                number = socket.call("logsSubscribe", mention, {"fromSignature": last})
                for _ in range(turn % 5 + 1):
                    last = take(socket, number)
    finally:
        stopping.set()
        thread.join()
    with served.socket() as socket:
        number = socket.call("logsSubscribe", mention, {"fromSignature": last})
        end = send(localnet, signed(localnet, [pay(payer, to, 2 * SOL)], payer))
        sent.append(end)
        while last != end:
            last = take(socket, number)
    assert seen == sorted(set(seen), key=lambda each: each[:2])
    statuses: list[Any] = []
    for start in range(0, len(sent), 200):
        history = {"searchTransactionHistory": True}
        found = localnet.call("getSignatureStatuses", sent[start : start + 200], history)
        statuses += found["value"]
    slots = {name: status["slot"] for name, status in zip(sent, statuses, strict=True)}
    known = {each[2] for each in seen}
    missing = [slot for name, slot in slots.items() if name not in known]
    assert known <= set(sent)
    assert all(any(low <= slot <= high for low, high in gaps) for slot in missing)


def test_what_was_never_stored_is_a_gap_and_some_kinds_have_no_memory(served: Served) -> None:
    with served.socket() as socket:
        number = socket.call("logsSubscribe", "all", {"fromSignature": "1" * 64})
        gap = socket.notice(number)
        assert gap["method"] == "gapNotification"
        assert gap["params"]["result"] == {"reason": "from_signature_unknown"}
        error = socket.error("programSubscribe", CLOCK, {"fromSlot": 1})
        assert error["data"]["reason"] == "no_memory"
