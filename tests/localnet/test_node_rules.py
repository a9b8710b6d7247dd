"""What only the newest node answers, on localnet."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.node_version import BASE58_REFUSED, NEWEST
from localnet.identities import VALIDATORS
from tests.localnet_process import Localnet

UNKNOWN = str(Pubkey(bytes([7]) * 32))
ABSENT = str(Signature.default())


def refusal(localnet: Localnet, method: str, *params: Any) -> tuple[int, str]:
    error = localnet.answer(method, *params)["error"]
    return error["code"], error["message"]


def test_the_schedule_is_by_vote_account_on_request(localnet: Localnet) -> None:
    by_identity = localnet.call("getLeaderSchedule")
    by_vote = localnet.call("getLeaderSchedule", {"keyByVoteAccount": True})
    assert by_vote.keys() <= {str(each.vote) for each in VALIDATORS}
    identities = {str(each.identity.pubkey()): str(each.vote) for each in VALIDATORS}
    assert {identities[key]: slots for key, slots in by_identity.items()} == by_vote
    one = next(iter(by_identity))
    config = {"identity": one, "keyByVoteAccount": True}
    assert localnet.call("getLeaderSchedule", config) == {identities[one]: by_identity[one]}
    config = {"identity": one, "keyByVoteAccount": None}
    assert localnet.call("getLeaderSchedule", None, config) == {one: by_identity[one]}


@pytest.mark.parametrize("more", [{}, {"keyByVoteAccount": True}])
def test_who_leads_no_slot_is_an_error(localnet: Localnet, more: dict[str, Any]) -> None:
    text = f"Node {UNKNOWN} was not in the leader schedule for specified epoch"
    config = {"identity": UNKNOWN, **more}
    assert refusal(localnet, "getLeaderSchedule", config) == (-32022, text)
    # A schedule that is not known is null, whoever is looked for.
    assert localnet.call("getLeaderSchedule", 10**9, config) is None


def test_rewards_are_of_32_addresses_at_most(localnet: Localnet) -> None:
    many = [UNKNOWN] * 33
    too_many = (-32602, "Too many inputs provided; max 32")
    assert refusal(localnet, "getInflationReward", many) == too_many
    assert refusal(localnet, "getInflationReward", many[:32])[1] != too_many[1]


def test_statuses_and_transactions_await_a_slot(localnet: Localnet) -> None:
    ahead = {"minContextSlot": 10**9}
    for method, first in (("getSignatureStatuses", [ABSENT]), ("getTransaction", ABSENT)):
        error = localnet.answer(method, first, ahead)["error"]
        assert error["code"] == -32016 and error["data"]["contextSlot"] < 10**9
    config = {"minContextSlot": 0, "commitment": "finalized"}
    assert localnet.call("getSignatureStatuses", [ABSENT], config)["value"] == [None]
    assert localnet.call("getTransaction", ABSENT, config) is None


def test_base58_is_refused_to_who_reads_version_1(localnet: Localnet) -> None:
    config = {"encoding": "base58", "maxSupportedTransactionVersion": 1}
    for method, first in (("getTransaction", ABSENT), ("getBlock", 10**9)):
        assert refusal(localnet, method, first, config) == (-32602, BASE58_REFUSED)

    async def subscribe() -> dict[str, Any]:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(localnet.websocket_url) as socket,
        ):
            await socket.send_json(
                {"jsonrpc": "2.0", "id": 1, "method": "blockSubscribe", "params": ["all", config]}
            )
            answer: dict[str, Any] = json.loads(await socket.receive_str())
            return answer

    error = asyncio.run(subscribe())["error"]
    assert (error["code"], error["message"]) == (-32602, BASE58_REFUSED)


def test_the_chains_beginning_and_its_certificate(localnet: Localnet) -> None:
    assert localnet.call("getBlockTime", 0) > 1_700_000_000
    assert localnet.call("getAgGenesisCert") is None
    assert localnet.call("getVersion") == {
        "feature-set": NEWEST.feature_set,
        "solana-core": NEWEST.name,
    }
