"""The hashes of localnet's banks, computed again, against its validators' votes."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.bank_votes import votes_in
from chain.lattice import LatticeHash, account_lattice, bank_hash
from chain.transactions import decode_wire
from localnet.identities import VALIDATORS
from tests.localnet.geyser_client import Client
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from upstream.protobuf import geyser_pb2 as schema

V0 = {"maxSupportedTransactionVersion": 0, "encoding": "base64"}


@pytest.fixture(scope="module")
def voting() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_VOTES="true", LOCALNET_SLOT_MS=40) as localnet:
        yield localnet


class Replayed:
    """The chain's accounts and bank hashes, from its blocks and account writes, slot by slot."""

    def __init__(self, localnet: Localnet) -> None:
        self._localnet = localnet
        self._states: dict[str, bytes] = {}
        self._total = LatticeHash()
        self.bank_hash = bytes(32)
        self.slot = -1
        self.votes: dict[int, dict[bytes, set[bytes]]] = {}

    def take(self, slot: int) -> None:
        found: dict[str, bytes] = {}
        for write in self._localnet.call("getAccountWrites", slot):
            found[write["pubkey"]] = account_lattice(
                bytes(Pubkey.from_string(write["pubkey"])),
                write["lamports"],
                bytes(Pubkey.from_string(write["owner"])),
                base64.b64decode(write["data"][0]),
                executable=write["executable"],
            )
        for pubkey, state in found.items():
            if pubkey in self._states:
                self._total.take(self._states[pubkey])
            self._total.add(state)
        self._states |= found
        block = self._localnet.call("getBlock", slot, V0)
        wires = [
            decode_wire(base64.b64decode(each["transaction"][0])) for each in block["transactions"]
        ]
        self.bank_hash = bank_hash(
            self.bank_hash,
            sum(len(wire.signatures) for wire in wires),
            bytes(Hash.from_string(block["blockhash"])),
            bytes(self._total),
        )
        self.slot = slot
        for wire in wires:
            for vote in votes_in(wire):
                self.votes.setdefault(vote.slot, {}).setdefault(vote.bank_hash, set()).add(
                    vote.vote_account
                )


def mixed_load(localnet: Localnet) -> None:
    """Transfers, new accounts, one that is emptied, one that fails, an airdrop."""
    payer = wallet(localnet)
    poor = wallet(localnet, SOL // 100)
    for number in range(5):
        send(localnet, signed(localnet, [pay(payer, Keypair().pubkey(), SOL + number)], payer))
    failing = signed(localnet, [pay(poor, payer.pubkey(), SOL)], poor)
    send(localnet, failing, skipPreflight=True)
    last = signed(localnet, [pay(poor, payer.pubkey(), SOL // 100 - 10_000)], poor)
    send(localnet, last, skipPreflight=True)
    landed(localnet, str(last.signatures[0]))


def replayed(localnet: Localnet) -> tuple[Replayed, dict[int, bytes]]:
    """What the chain comes to up to now, and each block's hash."""
    chain, hashes = Replayed(localnet), {}
    for slot in localnet.call("getBlocks", 0, localnet.call("getSlot")):
        chain.take(slot)
        hashes[slot] = chain.bank_hash
    return chain, hashes


def compare(chain: Replayed, hashes: dict[int, bytes], least: int) -> None:
    known = {slot: voted for slot, voted in chain.votes.items() if slot in hashes}
    assert len(known) >= least
    for slot, voted in known.items():
        assert list(voted) == [hashes[slot]], slot
        assert voted[hashes[slot]] == {bytes(each.vote) for each in VALIDATORS}


def test_validators_vote_for_the_hash_that_the_accounts_come_to(voting: Localnet) -> None:
    mixed_load(voting)
    voting.wait_for_slot(voting.call("getSlot") + 6)
    chain, hashes = replayed(voting)
    compare(chain, hashes, 5)


def test_accounts_and_clocks_that_are_set_are_in_the_hash() -> None:
    with running_localnet(LOCALNET_VOTES="true", LOCALNET_EPOCH_SLOTS=32) as localnet:
        mixed_load(localnet)
        localnet.call("setFaults", {"forkSlots": 2})
        localnet.call("setClock", {"unixTimestamp": 4_000_000_000})
        localnet.call("warpToEpoch", 2)
        localnet.wait_for_slot(70)
        chain, hashes = replayed(localnet)
        compare(chain, hashes, 8)


def test_a_restart_goes_on_with_the_sum() -> None:
    with running_localnet(LOCALNET_VOTES="true") as localnet:
        mixed_load(localnet)
        localnet.kill()
        localnet.start()
        mixed_load(localnet)
        localnet.stop()
        localnet.start()
        localnet.wait_for_slot(localnet.call("getSlot") + 6)
        chain, hashes = replayed(localnet)
        compare(chain, hashes, 10)


@pytest.mark.parametrize("fault", ["loseWrite", "corruptWrite"])
def test_a_write_that_is_lost_or_altered_on_the_stream_alone(fault: str) -> None:
    with running_localnet() as localnet:
        payer, to = wallet(localnet), Keypair().pubkey()
        client = Client(localnet.geyser_port)
        names: Any = {"all": {}}
        keys, slots = {str(payer.pubkey()), str(to)}, list[int]()
        accounts = {"ours": {"account": [str(payer.pubkey()), str(to)]}}
        client.ask(schema.SubscribeRequest(accounts=accounts, blocks_meta=names))
        for number, is_struck in enumerate((False, True, False)):
            if is_struck:
                localnet.call("setFaults", {fault: 1})
            sent = signed(localnet, [pay(payer, to, SOL + number)], payer)
            send(localnet, sent)
            slot = landed(localnet, str(sent.signatures[0]))["slot"]
            slots.append(slot)
            assert struck(localnet, client.rest(), slot, keys) == is_struck
        assert localnet.call("getFaults")[fault] == 0
        client.close()
        # A replay is as the chain.
        again = Client(localnet.geyser_port)
        again.send(
            schema.SubscribeRequest(accounts=accounts, blocks_meta=names, from_slot=min(slots))
        )
        updates = again.rest()
        assert not any(struck(localnet, updates, slot, keys) for slot in slots)
        again.close()


def struck(localnet: Localnet, updates: list[Any], slot: int, keys: set[str]) -> bool:
    """Whether the stream differs from the chain in a write of the slot."""
    (block,) = (each.block_meta for each in updates if each.block_meta.slot == slot)
    streamed = {
        (each.account.account.write_version, each.account.account.lamports)
        for each in updates
        if each.WhichOneof("update_oneof") == "account" and each.account.slot == slot
    }
    true = {
        (write["writeVersion"], write["lamports"])
        for write in localnet.call("getAccountWrites", slot)
        if write["pubkey"] in keys
    }
    assert block.slot == slot
    return streamed != true
