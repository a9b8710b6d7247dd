"""A localnet under load that is killed again and again: its chain stays whole."""

import os
import random
import time

import pytest
from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, encoded, latest_blockhash, pay, signed, wallet
from tests.localnet_process import Localnet, running_localnet

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "90"))
V0 = {"maxSupportedTransactionVersion": 0}


def test_whatever_was_final_before_a_kill_is_there_after_it() -> None:
    chance = random.Random(5)
    with running_localnet(LOCALNET_SLOT_MS=30, LOCALNET_SKIP_PERCENT=10) as localnet:
        senders = [wallet(localnet, 100_000 * SOL) for _ in range(2)]
        final: dict[str, int] = {}
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            until = time.monotonic() + chance.uniform(0.2, 1.5)
            sent: list[str] = []
            blockhash = latest_blockhash(localnet)
            while time.monotonic() < until:
                payments = [pay(each, Pubkey.new_unique(), SOL // 1_000) for each in senders * 15]
                calls = [
                    {
                        "jsonrpc": "2.0",
                        "id": number,
                        "method": "sendTransaction",
                        "params": [
                            encoded(signed(localnet, [each], payer, blockhash=blockhash)),
                            {"encoding": "base64", "skipPreflight": True},
                        ],
                    }
                    for number, (payer, each) in enumerate(zip(senders * 15, payments, strict=True))
                ]
                sent += [answer["result"] for answer in localnet.post(calls)]
                final |= finalized(localnet, sent[-256:])
            localnet.kill()
            localnet.start()
            known = list(final)
            for start in range(0, len(known), 256):
                page = known[start : start + 256]
                assert finalized(localnet, page) == {each: final[each] for each in page}
        check_chain(localnet)


def finalized(localnet: Localnet, signatures: list[str]) -> dict[str, int]:
    """Which of them are final, and in which slot."""
    found = localnet.call("getSignatureStatuses", signatures, {"searchTransactionHistory": True})[
        "value"
    ]
    return {
        signature: status["slot"]
        for signature, status in zip(signatures, found, strict=True)
        if status and status["confirmationStatus"] == "finalized"
    }


def check_chain(localnet: Localnet) -> None:
    """Every block stands on the one before it, and no write version was given twice."""
    before = None
    newest_version = 0
    for slot in localnet.call("getBlocks", localnet.call("getFirstAvailableBlock")):
        block = localnet.call("getBlock", slot, V0)
        if before is not None:
            assert block["previousBlockhash"] == before["blockhash"]
            assert block["blockHeight"] == before["blockHeight"] + 1
        before = block
        for write in localnet.call("getAccountWrites", slot):
            assert write["writeVersion"] > newest_version
            newest_version = write["writeVersion"]
