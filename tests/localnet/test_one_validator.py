"""A chain of one validator, as solana-test-validator's is: its leader, accounts and key files."""

import base64
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from chain import addresses
from chain.units import UnixTimestamp
from localnet.identities import FAUCET, LOCKED_STAKE, VALIDATORS
from localnet.votes import Tower, tower_sync
from tests.localnet.wallets import SOL, landed, latest_blockhash, pay, signed, wallet
from tests.localnet_process import Localnet, new_localnet

SLOT_HASHES = "SysvarS1otHashes111111111111111111111111111"
CONFIRMED = {"commitment": "confirmed"}
ONE = VALIDATORS[0]
IDENTITY, VOTE = str(ONE.identity.pubkey()), str(ONE.vote)
LOCKED = Pubkey.new_unique()


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledger")


@pytest.fixture(scope="module")
def chain(ledger: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Localnet]:
    """It is given a stake that is locked up until epoch 1,000; its validator does not vote."""
    files = tmp_path_factory.mktemp("accounts")
    key = bytes(Pubkey.new_unique())
    meta = struct.pack("<IQ", 1, 0) + key + key + struct.pack("<qQ", 0, 1_000) + bytes(32)
    account = {
        "lamports": 7 * SOL,
        "data": [base64.b64encode(meta.ljust(200, b"\0")).decode(), "base64"],
        "owner": "Stake11111111111111111111111111111111111111",
        "executable": False,
    }
    (files / "stake.json").write_text(json.dumps({"pubkey": str(LOCKED), "account": account}))
    with new_localnet() as running:
        running.start(
            "--ledger",
            str(ledger),
            "--validators",
            "1",
            "--account-dir",
            str(files),
            "--rpc-pubsub-enable-vote-subscription",
            "--bind-address",
            "127.0.0.1",
        )
        running.wait_for_slot(2)
        yield running


def test_it_leads_every_slot(chain: Localnet) -> None:
    assert chain.call("getIdentity") == {"identity": IDENTITY}
    assert chain.call("getSlotLeader") == IDENTITY
    assert set(chain.call("getSlotLeaders", 0, 64)) == {IDENTITY}
    (slots,) = chain.call("getLeaderSchedule").values()
    assert slots == list(range(chain.call("getEpochInfo")["slotsInEpoch"]))
    assert list(chain.call("getBlockProduction")["value"]["byIdentity"]) == [IDENTITY]
    (node,) = chain.call("getClusterNodes")
    ports = [node[name] for name in ("gossip", "serveRepair", "tpuForwardsQuic", "tpuVote", "tvu")]
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_its_accounts_are_those_of_a_test_validator(chain: Localnet) -> None:
    (voting,) = chain.call("getVoteAccounts")["current"]
    assert (voting["votePubkey"], voting["nodePubkey"], voting["commission"]) == (VOTE, IDENTITY, 0)
    shown = chain.call("getAccountInfo", VOTE, {"encoding": "jsonParsed"})["value"]
    info = shown["data"]["parsed"]["info"]
    assert info["authorizedVoters"] == [{"authorizedVoter": VOTE, "epoch": 0}]
    assert info["authorizedWithdrawer"] == VOTE
    largest = {each["address"] for each in chain.call("getLargestAccounts")["value"]}
    assert {VOTE, IDENTITY, str(FAUCET.pubkey())} <= largest


def test_what_is_locked_up_does_not_circulate(chain: Localnet) -> None:
    supply = chain.call("getSupply", CONFIRMED)["value"]
    # One of the file, and one that every chain begins with.
    assert set(supply["nonCirculatingAccounts"]) == {str(LOCKED), str(LOCKED_STAKE)}
    balances = [
        chain.call("getBalance", key, CONFIRMED)["value"]
        for key in supply["nonCirculatingAccounts"]
    ]
    assert supply["nonCirculating"] == sum(balances) == supply["total"] - supply["circulating"]
    for wanted, there in (("nonCirculating", True), ("circulating", False)):
        found = chain.call("getLargestAccounts", {**CONFIRMED, "filter": wanted})["value"]
        assert ({"address": str(LOCKED), "lamports": 7 * SOL} in found) == there


def test_its_keys_lie_in_the_ledger(chain: Localnet, ledger: Path) -> None:
    for name, pubkey in (
        ("validator", IDENTITY),
        ("vote-account", VOTE),
        ("faucet", str(FAUCET.pubkey())),
    ):
        text = (ledger / f"{name}-keypair.json").read_text()
        assert str(Keypair.from_json(text).pubkey()) == pubkey


def test_a_vote_lands_by_a_packet_and_nothing_else_does(chain: Localnet) -> None:
    host, port = chain.call("getClusterNodes")[0]["tpuVote"].rsplit(":", 1)
    payer = wallet(chain)
    paid = signed(chain, [pay(payer, Pubkey.new_unique(), SOL)], payer)
    sent = vote(chain)
    with socket.socket(type=socket.SOCK_DGRAM) as packets:
        for packet in (b"", b"\1" * 1_232, bytes(paid), bytes(sent)):
            packets.sendto(packet, (host, int(port)))
    landed(chain, str(sent.signatures[0]), "confirmed")
    (voting,) = chain.call("getVoteAccounts", CONFIRMED)["current"]
    assert voting["votePubkey"] == VOTE
    statuses = chain.call("getSignatureStatuses", [str(paid.signatures[0])])["value"]
    assert statuses == [None]


def vote(chain: Localnet) -> Transaction:
    """A vote for the newest block that the chain's SlotHashes name."""
    shown = chain.call("getAccountInfo", SLOT_HASHES, {"encoding": "base64", **CONFIRMED})
    slot, bank_hash = struct.unpack_from("<Q32s", base64.b64decode(shown["value"]["data"][0]), 8)
    tower = Tower([], None)
    tower.vote(slot)
    data = tower_sync(tower, bank_hash, UnixTimestamp(chain.call("getClock")["unixTimestamp"]))
    accounts = [AccountMeta(ONE.vote, False, True), AccountMeta(ONE.vote, True, False)]
    return Transaction.new_signed_with_payer(
        [Instruction(addresses.VOTE, data, accounts)],
        ONE.identity.pubkey(),
        [ONE.identity, ONE.voter],
        Hash.from_string(latest_blockhash(chain)),
    )


def test_it_stays_alone_and_votes_when_it_is_told_to(chain: Localnet, ledger: Path) -> None:
    chain.stop()
    arguments = ("--ledger", str(ledger))
    with pytest.raises(AssertionError, match="the chain's validators are 1, not 4: only --reset"):
        chain.start(*arguments, "--validators", "4")
    chain.start(*arguments, "--votes")
    chain.wait_for_slot(chain.call("getSlot", {"commitment": "processed"}) + 3)
    (voting,) = chain.call("getVoteAccounts")["current"]
    assert 0 < voting["lastVote"] < chain.call("getSlot", {"commitment": "processed"})
    block = chain.call("getBlock", chain.call("getSlot"), {"transactionDetails": "accounts"})
    (cast,) = block["transactions"]
    signers = [each["pubkey"] for each in cast["transaction"]["accountKeys"] if each["signer"]]
    assert signers == [IDENTITY, VOTE]
