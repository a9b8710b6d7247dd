"""Snapshots that localnet writes hold its accounts, and declare what these sum up to."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.lattice import LatticeHash, account_lattice, bank_hash
from localnet.bank import BLOCKHASH_AGE
from localnet.genesis import STAKE_LAMPORTS
from localnet.identities import VALIDATORS
from rewind.baselines.models import Baseline
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from upstream.archives.snapshot_manifest import Manifest
from upstream.archives.snapshots import Snapshot


@pytest.fixture(scope="module")
def voting() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_VOTES="true", LOCALNET_SLOT_MS=40) as localnet:
        yield localnet


def read(made: dict[str, Any], over: dict[bytes, AccountWrite]) -> tuple[Manifest, Snapshot]:
    """The archive's accounts come over the given ones."""
    with Snapshot(Path(made["path"])) as snapshot:
        for stored in snapshot:
            assert stored.slot == made["slot"]
            over[stored.account.pubkey] = stored.account
        assert (snapshot.slot, snapshot.warning) == (made["slot"], None)
        assert snapshot.named_hash == bytes(Hash.from_string(made["hash"]))
        assert snapshot.manifest is not None and snapshot.manifest.tail_fault is None
        return snapshot.manifest, snapshot


def check(manifest: Manifest, made: dict[str, Any], held: dict[bytes, AccountWrite]) -> None:
    total = LatticeHash()
    for each in held.values():
        total.add(
            account_lattice(
                each.pubkey, each.lamports, each.owner, each.data, executable=each.executable
            )
        )
    assert bytes(total) == manifest.lattice
    assert str(Hash(total.checksum)) == made["hash"]
    bank = manifest.bank
    assert bank.capitalization == sum(each.lamports for each in held.values())
    assert bank.hash == bank_hash(
        bank.parent_hash, bank.signature_count, manifest.blockhash, bytes(total)
    )


def test_a_full_one_and_an_increment_sum_up(voting: Localnet) -> None:
    voting.wait_for_slot(40)
    held: dict[bytes, AccountWrite] = {}
    assert voting.answer("getHighestSnapshotSlot")["error"]["code"] == -32008
    full = voting.call("createSnapshot")
    newest = {"full": full["slot"], "incremental": None}
    assert voting.call("getHighestSnapshotSlot") == newest
    manifest, snapshot = read(full, held)
    assert snapshot.declared_base is None
    # As Agave 4.4 writes it; what is whole is what the sum says.
    assert manifest.lengths == {} and not snapshot.names_storages
    check(manifest, full, held)
    block = voting.call("getBlock", full["slot"], {"transactionDetails": "none", "rewards": False})
    assert str(Hash(manifest.blockhash)) == block["blockhash"]
    assert manifest.bank.parent_slot == block["parentSlot"]
    assert manifest.bank.block_height == block["blockHeight"]
    if block["blockHeight"] < BLOCKHASH_AGE:  # later than that it is not in the queue of hashes
        assert manifest.genesis_hash == bytes(Hash.from_string(voting.call("getGenesisHash")))
    for stakes in manifest.epoch_stakes:
        assert stakes.stakes == {bytes(each.vote): STAKE_LAMPORTS for each in VALIDATORS}
        assert stakes.voters == {bytes(each.vote): bytes(each.vote) for each in VALIDATORS}

    # One account is new, one is closed.
    payer, new = wallet(voting), Keypair().pubkey()
    balance = voting.call("getBalance", str(payer.pubkey()), {"commitment": "confirmed"})["value"]
    closing = signed(voting, [pay(payer, new, balance - 5_000)], payer)
    send(voting, closing)
    slot = landed(voting, str(closing.signatures[0]))["slot"]
    voting.wait_for_slot(slot + 40)
    more = voting.call("createSnapshot", {"baseSlot": full["slot"]})
    newest = {"full": full["slot"], "incremental": more["slot"]}
    assert voting.call("getHighestSnapshotSlot") == newest
    assert more["baseSlot"] == full["slot"] < more["slot"]
    changed: dict[bytes, AccountWrite] = {}
    manifest, snapshot = read(more, changed)
    assert snapshot.declared_base == full["slot"]
    assert changed[bytes(payer.pubkey())].lamports == 0
    assert changed[bytes(new)].lamports == balance - 5_000
    assert len(changed) < len(held)
    left = {key: each for key, each in {**held, **changed}.items() if each.lamports}
    check(manifest, more, left)
    assert voting.call("getAccountInfo", str(Pubkey(bytes(new))))["value"]["lamports"] >= SOL // 2


@pytest.mark.django_db
def test_both_are_imported_as_proven(voting: Localnet, settings: Any) -> None:
    settings.UPSTREAM_RPC_URL = ""
    full = voting.call("createSnapshot")
    voting.wait_for_slot(full["slot"] + 40)
    more = voting.call("createSnapshot", {"baseSlot": full["slot"]})
    for made in (full, more):
        out = io.StringIO()
        call_command(
            "import_snapshot",
            made["path"],
            "--genesis",
            voting.call("getGenesisHash"),
            stdout=out,
            stderr=io.StringIO(),
        )
        assert f"proven: all accounts sum to {made['hash']}" in out.getvalue()
        assert Baseline.objects.get(slot=made["slot"]).whole


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"baseSlot": 1}, "there is no full snapshot of slot 1"),
        ({"base": 1}, "base"),
        ({"baseSlot": -1}, "expected u64"),
    ],
)
def test_what_cannot_be_written_is_refused(
    voting: Localnet, config: dict[str, Any], message: str
) -> None:
    error = voting.answer("createSnapshot", config)["error"]
    assert error["code"] == -32602
    assert message in error["message"]
