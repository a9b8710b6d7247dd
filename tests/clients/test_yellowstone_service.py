"""Yellowstone's own npm client against the service: it is sent what localnet's own stream has."""

import json
from typing import Any

from solders.keypair import Keypair

from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.yellowstone.conftest import Geyser, geyser, limited, localnet

from .conftest import Node

__all__ = ["geyser", "limited", "localnet"]


def test_the_npm_client_gets_what_happened_since_a_slot(geyser: Geyser, node: Node) -> None:
    chain = geyser.localnet
    alice, bob = wallet(chain), Keypair()
    good = signed(chain, [pay(alice, bob.pubkey(), SOL)], alice)
    bad = signed(chain, [pay(alice, bob.pubkey(), 100 * SOL)], alice)
    signatures = [send(chain, each, skipPreflight=True) for each in (good, bad)]
    slots = [landed(chain, each)["slot"] for each in signatures]
    given = {
        "url": f"http://127.0.0.1:{geyser.port}",
        "token": geyser.key,
        "wallet": str(alice.pubkey()),
        "fromSlot": min(slots) - 1,
        "untilSlot": max(slots) + 3,
        "onlyMine": True,
    }
    answer: Any = json.loads(node("yellowstone.mjs", json.dumps(given)))
    assert answer["ping"] == 7 and answer["valid"] is True and answer["pongs"] == [9]
    assert "tidemark" in answer["version"]
    found = [each["encoded"]["transaction"]["signatures"][0] for each in answer["transactions"]]
    assert sorted(found) == sorted(map(str, signatures))
    assert [bool(each["err"]) for each in answer["statuses"]] == [False, True]
    blocks = {each["slot"]: each for each in answer["blocks"]}
    assert sorted(blocks) == list(range(min(blocks), max(blocks) + 1))
    assert min(blocks) == given["fromSlot"]
    for slot, block in blocks.items():
        theirs = chain.call("getBlock", slot, {"maxSupportedTransactionVersion": 0})
        assert block["blockhash"] == theirs["blockhash"]
        assert block["blockHeight"] == theirs["blockHeight"]
        assert block["transactions"] == len(theirs["transactions"])
    mine = [each for each in answer["accounts"] if each["slot"] in slots]
    assert {each["pubkey"] for each in mine} == {bytes(alice.pubkey()).hex()}
    assert int(mine[-1]["lamports"]) == chain.call("getBalance", given["wallet"])["value"]
