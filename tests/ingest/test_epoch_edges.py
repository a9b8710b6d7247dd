"""Stake that is delegated and deactivated around the edges of short epochs, some of whose first and
last slots are skipped: replays verify it, and each slot's sysvars are as the chain wrote them.
"""

import base64
import random
import time
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain import addresses
from tests.conftest import Rpc
from tests.ingest.following import caught_up, follower, worker
from tests.ingest.stored_chain import archived_to
from tests.localnet.wallets import SOL, landed, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.real.workload import deactivated, delegated, opened

EPOCH_SLOTS, EPOCHS = 32, 3


def around_edges(localnet: Localnet) -> dict[str, str]:
    """Signature → transaction, base64, over some epochs, more of them near their edges."""
    chance, payer = random.Random(1), wallet(localnet, 1_000 * SOL)
    vote = Pubkey.from_string(localnet.call("getVoteAccounts")["current"][0]["votePubkey"])
    stakes: list[Pubkey] = []
    sent: dict[str, str] = {}

    def submit(instructions: list[Any], *signers: Keypair) -> None:
        transaction = signed(localnet, instructions, payer, *signers)
        name = send(localnet, transaction, skipPreflight=True)
        sent[name] = base64.b64encode(bytes(transaction)).decode()

    while (slot := newest(localnet)) < EPOCHS * EPOCH_SLOTS:
        if (slot + 4) % EPOCH_SLOTS < 8 or chance.random() < 0.1:
            stake = Keypair()
            delegation = delegated(payer, stake.pubkey(), vote)
            submit([*opened(payer, stake), delegation], stake)
            stakes.append(stake.pubkey())
            if len(stakes) > 3:
                submit([deactivated(payer, stakes.pop(0))])
        time.sleep(0.04)
    landed(localnet, next(reversed(sent)), "finalized")
    return sent


def newest(localnet: Localnet) -> int:
    return int(localnet.call("getSlot", {"commitment": "processed"}))


@pytest.mark.django_db(transaction=True)
def test_what_happens_there_is_verified(empty_redis: None, rpc: Rpc) -> None:
    given = {"LOCALNET_SLOT_MS": 40, "LOCALNET_EPOCH_SLOTS": 32, "LOCALNET_SKIP_PERCENT": 20}
    with running_localnet(**given) as localnet:
        with worker(), follower(localnet.geyser_url, localnet.url):
            archived_to(3)
            sent = around_edges(localnet)
            caught_up(localnet)
        archived_to(EPOCHS * EPOCH_SLOTS)
        places = set()
        for name, transaction in sent.items():
            config = {"anchor": {"signature": name, "position": "before"}}
            ran = rpc("/rewind", "simulateHistoricalTransaction", transaction, config)["result"]
            assert (ran["value"]["fidelity"], ran["value"]["fidelityFields"]) == ("verified", [])
            places.add(ran["value"]["fidelityAt"]["slot"] // EPOCH_SLOTS)
        assert len(places) >= EPOCHS
        written: dict[str, Any] = {}
        for slot in localnet.call("getBlocks", 4, EPOCHS * EPOCH_SLOTS):
            for each in localnet.call("getAccountWrites", slot):
                written[each["pubkey"]] = each["data"]
            for key in (addresses.CLOCK, addresses.STAKE_HISTORY, addresses.EPOCH_REWARDS):
                found = rpc("/rewind", "getAccountInfo", str(key), {"slot": slot})["result"]
                if str(key) in written:
                    assert found["value"]["data"] == written[str(key)], (slot, str(key))
