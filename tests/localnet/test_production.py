"""getBlockCommitment, getBlockProduction and getLargestAccounts."""

from django.conf import settings
from solders.pubkey import Pubkey

import localnet.servers.rpc  # noqa: F401  (registers the methods)
from config.environment.standard_methods import STANDARD_METHODS
from localnet.identities import LOCKED_STAKE
from localnet.methods.table import methods
from tests.localnet.wallets import SOL, wallet
from tests.localnet_process import Localnet

CONFIRMED = {"commitment": "confirmed"}


def test_a_block_has_the_stake_of_its_confirmations_until_it_is_final(localnet: Localnet) -> None:
    head = localnet.call("getSlot", {"commitment": "processed"})
    found = localnet.call("getBlockCommitment", head)
    votes = localnet.call("getVoteAccounts")["current"]
    staked = sum(each["activatedStake"] for each in votes)
    assert found["totalStake"] == staked
    # It may have become final since.
    assert found["commitment"] is None or sum(found["commitment"]) == staked
    assert found["commitment"] is None or len(found["commitment"]) == 32
    assert localnet.call("getBlockCommitment", 2**50)["commitment"] is None
    assert localnet.call("getBlockCommitment", 0)["commitment"] is None


def test_production_is_the_leaders_and_the_blocks(localnet: Localnet) -> None:
    last = localnet.call("getSlot", CONFIRMED)
    first = max(0, last - 30)
    asked = {"range": {"firstSlot": first, "lastSlot": last}, **CONFIRMED}
    found = localnet.call("getBlockProduction", asked)["value"]
    assert found["range"] == {"firstSlot": first, "lastSlot": last}
    assert sum(led for led, _ in found["byIdentity"].values()) == last - first + 1
    blocks = localnet.call("getBlocks", first, last, CONFIRMED)
    assert sum(made for _, made in found["byIdentity"].values()) == len(blocks)
    identity = next(iter(found["byIdentity"]))
    of_one = localnet.call("getBlockProduction", {**asked, "identity": identity})["value"]
    assert of_one["byIdentity"] == {identity: found["byIdentity"][identity]}
    whole = localnet.call("getBlockProduction")["value"]["range"]
    assert whole["firstSlot"] <= first <= whole["lastSlot"]
    for wrong, text in (
        ({"firstSlot": 5, "lastSlot": 4}, "lastSlot, 4, cannot be less than firstSlot, 5"),
        ({"firstSlot": 1, "lastSlot": 2**40}, f"lastSlot, {2**40}, is too large; max "),
    ):
        error = localnet.answer("getBlockProduction", {"range": wrong})["error"]
        assert error["code"] == -32602 and error["message"].startswith(text)
    assert localnet.answer("getBlockProduction", {"identity": "x"})["error"]["code"] == -32602


def test_the_largest_accounts_come_first(localnet: Localnet) -> None:
    rich = str(wallet(localnet, 900_000 * SOL).pubkey())
    found = localnet.call("getLargestAccounts", CONFIRMED)["value"]
    held = [each["lamports"] for each in found]
    assert len(found) <= 20 and held == sorted(held, reverse=True)
    circulating = localnet.call("getLargestAccounts", {**CONFIRMED, "filter": "circulating"})
    kept = localnet.call("getLargestAccounts", {**CONFIRMED, "filter": "nonCirculating"})
    assert rich in [each["address"] for each in circulating["value"]]
    assert [each["address"] for each in kept["value"]] == [str(LOCKED_STAKE)]


def test_localnet_and_the_ledger_speak_the_words_of_one_version(localnet: Localnet) -> None:
    version = localnet.call("getVersion")["solana-core"]
    assert version == settings.LEDGER_API_VERSION
    assert localnet.call("getBalance", str(Pubkey.default()))["context"]["apiVersion"] == version
    assert {each["version"] for each in localnet.call("getClusterNodes")} == {version}
    missing = set(STANDARD_METHODS) - {method.name for method in methods}
    assert not missing
