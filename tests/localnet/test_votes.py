"""Votes of the validators: transactions in each block, credits, and what reads them."""

import asyncio
import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.parsed.cursor import Cursor
from chain.parsed.vote import parse_vote
from chain.units import UnixTimestamp
from localnet.identities import VALIDATORS
from localnet.votes import Tower, tower_sync
from tests.localnet.wallets import SOL
from tests.localnet_process import Localnet, running_localnet
from tests.patience import PATIENCE_SECONDS

VOTE = "Vote111111111111111111111111111111111111111"
V0 = {"maxSupportedTransactionVersion": 0}


@pytest.fixture(scope="module")
def voting() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_VOTES="true", LOCALNET_SLOT_MS=20) as localnet:
        localnet.wait_for_slot(60)
        yield localnet


def votes_of(localnet: Localnet, slot: int) -> list[dict[str, Any]]:
    block = localnet.call("getBlock", slot, {**V0, "encoding": "jsonParsed"})
    found = []
    for each in block["transactions"]:
        assert each["meta"]["err"] is None, each["meta"]
        (instruction,) = each["transaction"]["message"]["instructions"]
        if instruction["programId"] == VOTE:
            found.append(instruction["parsed"])
    return found


def credits_of(localnet: Localnet) -> list[int]:
    return [
        sum(now - before for _, now, before in each["epochCredits"])
        for each in localnet.call("getVoteAccounts")["current"]
    ]


def test_each_block_has_a_vote_of_each_validator_for_its_parent(voting: Localnet) -> None:
    for slot in voting.call("getBlocks", 40, 50):
        parent = voting.call("getBlock", slot, {**V0, "transactionDetails": "none"})["parentSlot"]
        votes = votes_of(voting, slot)
        assert [each["type"] for each in votes] == ["towersync"] * len(VALIDATORS)
        assert {each["info"]["voteAccount"] for each in votes} == {
            str(each.vote) for each in VALIDATORS
        }
        for each in votes:
            assert each["info"]["towerSync"]["lockouts"][-1]["slot"] == parent


def test_vote_accounts_have_what_was_voted(voting: Localnet) -> None:
    before = credits_of(voting)
    assert len(before) == len(VALIDATORS) and min(before) > 0
    newest = voting.call("getSlot")
    found = voting.call("getVoteAccounts", {"votePubkey": str(VALIDATORS[1].vote)})
    assert found["delinquent"] == []
    (one,) = found["current"]
    assert newest - 2 < one["lastVote"] and 0 < one["rootSlot"] < one["lastVote"]
    assert (one["commission"], one["inflationRewardsCommissionBps"]) == (0, 0)
    voting.wait_for_slot(newest + 10)
    assert all(now > then for now, then in zip(credits_of(voting), before, strict=True))
    distance = {"delinquentSlotDistance": 0}
    assert len(voting.call("getVoteAccounts", distance)["delinquent"]) == len(VALIDATORS)
    (sample,) = voting.call("getRecentPerformanceSamples", 1)
    assert sample["numNonVoteTransactions"] == 0 < sample["numTransactions"]


def test_votes_are_told_by_web_socket(voting: Localnet) -> None:
    async def story() -> list[dict[str, Any]]:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(voting.websocket_url) as socket,
        ):
            await socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "voteSubscribe"})
            told = [await socket.receive_json(timeout=PATIENCE_SECONDS) for _ in range(9)]
        return [each["params"]["result"] for each in told if "params" in each]

    told = asyncio.run(story())
    assert {each["votePubkey"] for each in told} == {str(each.vote) for each in VALIDATORS}
    last = told[-1]
    assert last["slots"] == sorted(last["slots"]) and last["timestamp"] > 0
    voting.wait_for_slot(last["slots"][-1] + 2)
    landed = voting.call("getTransaction", last["signature"], V0)
    assert landed["meta"]["err"] is None
    assert landed["transaction"]["message"]["accountKeys"][-1] == VOTE


def test_they_go_on_after_a_fork_and_a_kill(voting: Localnet) -> None:
    voting.call("setFaults", {"forkSlots": 3, "skipSlots": 2})
    first = voting.call("getSlot", {"commitment": "processed"})
    voting.wait_for_slot(first + 15)
    voting.kill()
    voting.start()
    second = voting.call("getSlot", {"commitment": "processed"})
    last = voting.wait_for_slot(second + 15)
    for slot in voting.call("getBlocks", first, last):
        assert len(votes_of(voting, slot)) == len(VALIDATORS)


def test_a_chain_is_without_votes_by_default(localnet: Localnet) -> None:
    localnet.wait_for_slot(5)
    accounts = localnet.call("getVoteAccounts")
    assert accounts["delinquent"] == [] and len(accounts["current"]) == len(VALIDATORS)
    assert all(each["epochCredits"] == [] for each in accounts["current"])


@given(st.lists(st.integers(1, 90), min_size=1, max_size=80), st.integers(0, 2**40))
def test_a_tower_is_read_as_it_was_written(steps: list[int], start: int) -> None:
    tower, slot = Tower([], None), start
    for step in steps:
        slot += step
        tower.vote(slot)
        assert len(tower.votes) <= 31 and tower.votes[-1] == [slot, 1]
        counts = [count for _, count in tower.votes]
        assert counts == sorted(counts, reverse=True)
        assert len(set(counts)) == len(counts)
        assert tower.root is None or tower.root < tower.votes[0][0]
    written = tower_sync(tower, bytes(range(32)), UnixTimestamp(slot))
    kind, info = parse_vote(["vote", "voter"], Cursor(written))
    vote = info["towerSync"]
    assert kind == "towersync" and vote["root"] == tower.root
    lockouts = [[each["slot"], each["confirmation_count"]] for each in vote["lockouts"]]
    assert lockouts == tower.votes
    assert (vote["hash"], vote["timestamp"]) == (str(Pubkey(bytes(range(32)))), slot)


def test_a_vote_account_that_is_given_is_listed_without_stake(tmp_path: Path) -> None:
    identity = bytes(Keypair().pubkey())
    votes = struct.pack("<QQI", 1, 10**9, 1)  # one, for a slot far ahead
    state = b"".join(
        (
            struct.pack("<I", 1) + identity + identity + bytes((50,)) + votes + b"\0",
            struct.pack("<QQ", 1, 0) + identity + bytes(32 * 48) + struct.pack("<Q?", 31, True),
            struct.pack("<QQq", 0, 0, 0),
        )
    )
    key = Keypair().pubkey()
    account = {
        "lamports": SOL,
        "data": [base64.b64encode(state.ljust(3_731, b"\0")).decode(), "base64"],
        "owner": "Vote111111111111111111111111111111111111111",
        "executable": False,
    }
    (tmp_path / "vote.json").write_text(json.dumps({"pubkey": str(key), "account": account}))
    with running_localnet("--account-dir", str(tmp_path)) as chain:
        current = chain.call("getVoteAccounts")["current"]
        assert len(current) == len(VALIDATORS) + 1
        found = chain.call("getVoteAccounts", {"votePubkey": str(key)})
        assert found["delinquent"] == []
        shown = found["current"][0]
        assert (shown["activatedStake"], shown["epochVoteAccount"]) == (0, False)
        assert (shown["commission"], shown["lastVote"]) == (50, 10**9)


def test_logs_of_all_are_without_votes(voting: Localnet) -> None:
    async def logs(wanted: str) -> list[str]:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(voting.websocket_url) as socket,
        ):
            await socket.send_json(
                {"jsonrpc": "2.0", "id": 1, "method": "logsSubscribe", "params": [wanted]}
            )
            await socket.receive_json(timeout=PATIENCE_SECONDS)
            voting.wait_for_slot(voting.call("getSlot") + 2)
            voting.call("requestAirdrop", str(Keypair().pubkey()), SOL)
            found = await socket.receive_json(timeout=PATIENCE_SECONDS)
        first: list[str] = found["params"]["result"]["value"]["logs"]
        return first

    assert asyncio.run(logs("all"))[0] == "Program 11111111111111111111111111111111 invoke [1]"
    assert asyncio.run(logs("allWithVotes"))[0] == f"Program {VOTE} invoke [1]"
