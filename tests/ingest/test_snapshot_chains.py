"""manage.py import_snapshot: the chain of an archive, its base, and reading it at once."""

import io
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from solders.pubkey import Pubkey

from ingest import chain_identity
from rewind.baselines.models import Baseline
from rewind.models import AccountChange
from rewind.recording.services.recording import record_slots
from tests.rewind.samples import block
from tests.upstream.manifests import KEYS, manifest
from tests.upstream.test_snapshots import OWNER, account, archive, entry, file_of, held

REWIND = "/rewind"
MAINNET = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
GENESIS = str(Pubkey.from_bytes(KEYS[0]))
# Of the fixtures of slot 1 and 4, as their manifests have it.
YOUNG = "8e8HsAXGpV5fNBf1c3AancsRjt1F7GKFZGziNMhiQoBR"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_node(settings: Any) -> None:
    """Whatever listens where localnet would is not of these tests' chains."""
    settings.UPSTREAM_RPC_URL = ""


def run(path: Path, *options: str) -> str:
    out = io.StringIO()
    call_command("import_snapshot", str(path), *options, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def refused(path: Path, *options: str) -> str:
    before = AccountChange.objects.count(), Baseline.objects.count()
    with pytest.raises(CommandError) as refusal:
        run(path, *options)
    assert (AccountChange.objects.count(), Baseline.objects.count()) == before
    return str(refusal.value)


def fixture(fixtures: Path, start: str) -> Path:
    (found,) = (fixtures / "snapshots").glob(f"{start}-*.tar.zst")
    return found


def told(storages: dict[str, bytes], slot: int, **change: Any) -> bytes:
    """An archive of a manifest of one's own; its blocks are those of all such archives."""
    lengths = {name: len(content) for name, content in storages.items()}
    change = {"capitalization": held(storages), "blockhashes": hashes(0, slot), **change}
    return archive(storages, slot=slot, told=manifest(lengths, slot=slot, **change))


def hashes(first: int, last: int) -> dict[int, bytes]:
    return {number: number.to_bytes(32) for number in range(first, last + 1)}


def snapshot(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


BASE = {"90.1": entry(account(1, lamports=50)) + entry(account(2, lamports=30))}
# Account 2 is closed, 3 is new.
MORE = {"95.1": entry(account(2, lamports=0)) + entry(account(3, lamports=7))}


def value_of(rpc: Any, key: int | bytes, slot: int, **config: Any) -> Any:
    pubkey = str(Pubkey.from_bytes(key.to_bytes(32) if isinstance(key, int) else key))
    return rpc(REWIND, "getAccountInfo", pubkey, {"slot": slot, "encoding": "base64", **config})


# The chain


def test_a_young_archive_tells_its_chain(fixtures):
    run(fixture(fixtures, "snapshot-1"))
    assert chain_identity.known() == YOUNG
    wrong = refused(fixture(fixtures, "snapshot-269"), "--genesis", "mainnet")
    assert f"its genesis hash is {MAINNET}, and the stored data comes from {YOUNG}" in wrong
    assert "links to no stored block" in refused(fixture(fixtures, "snapshot-269"))


def test_an_operator_who_names_another_chain_than_the_file_is_refused(fixtures):
    wrong = refused(fixture(fixtures, "snapshot-1"), "--genesis", "mainnet")
    assert f"its genesis hash is {YOUNG}, and not {MAINNET} as --genesis says" in wrong
    assert chain_identity.known() == ""


def test_an_old_archive_has_to_be_told_its_chain(fixtures):
    path = fixture(fixtures, "snapshot-269")
    assert "its chain is unknown" in refused(path)
    run(path, "--genesis", "mainnet")
    assert chain_identity.known() == MAINNET


def test_account_files_have_to_be_told_theirs(tmp_path):
    path = tmp_path / "account.json"
    path.write_text(file_of())
    assert "its chain is unknown" in refused(path, "--slot", "7")
    run(path, "--slot", "7", "--genesis", "mainnet")
    assert "add --genesis" in refused(path, "--slot", "8")


def test_an_archive_of_another_block_than_the_stored_one_is_refused(tmp_path):
    record_slots([block(90)], source="stream", now=timezone.now())
    forked = {**hashes(0, 89), 90: bytes([9]) * 32}
    path = snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90, blockhashes=forked))
    assert "its blockhash of slot 90 is" in refused(path)
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))


# The base


@pytest.mark.parametrize(
    ("base", "increment", "genesis"),
    [
        ("snapshot-1", "incremental-snapshot-1-4", ()),
        ("snapshot-269", "incremental-snapshot-269-307", ("--genesis", "mainnet")),
    ],
)
def test_a_real_increment_goes_over_its_base(rpc, fixtures, base, increment, genesis):
    path = fixture(fixtures, increment)
    slot = int(base.rpartition("-")[2])
    assert f"over the full one of slot {slot}, which is not here" in refused(path, *genesis)
    run(fixture(fixtures, base), *genesis)
    run(path)  # its recent blockhashes show the chain
    newest = Baseline.objects.get(base_slot=slot)
    assert newest.whole and newest.slot == int(increment.rpartition("-")[2])
    changed = AccountChange.objects.filter(slot=newest.slot).first()
    assert value_of(rpc, bytes(changed.pubkey), newest.slot)["result"]["value"]


def test_a_real_increment_under_the_name_of_a_full_one_is_refused(fixtures, tmp_path):
    path = tmp_path / "snapshot-4-x.tar.zst"
    shutil.copy(fixture(fixtures, "incremental-snapshot-1-4"), path)
    assert "an incremental snapshot by another name" in refused(path)


def test_an_increment_over_a_base_of_another_slot_is_refused(fixtures, tmp_path):
    run(fixture(fixtures, "snapshot-1"))
    path = snapshot(tmp_path, "incremental-snapshot-2-95-x.tar", told(MORE, 95))
    assert "is from another chain" in refused(path)
    young = {0: bytes(Pubkey.from_string(YOUNG))}
    content = told(MORE, 95, blockhashes=young)
    path = snapshot(tmp_path, "incremental-snapshot-2-95-x.tar", content)
    words = refused(path)
    assert "over the full one of slot 2, which is not here" in words
    assert "there are those of slots 1" in words


def test_an_increment_over_another_base_of_that_slot_is_refused(tmp_path):
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))
    other = {**hashes(0, 95), Baseline.objects.get().block_height + 1: bytes([9]) * 32}
    content = told(MORE, 95, blockhashes=other, capitalization=57)
    path = snapshot(tmp_path, "incremental-snapshot-90-95-x.tar", content)
    assert "another full one of slot 90 than what is here" in refused(path)


def test_an_increment_whose_lamports_do_not_add_up_is_refused(tmp_path):
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))
    path = snapshot(tmp_path, "incremental-snapshot-90-95-x.tar", told(MORE, 95, capitalization=58))
    assert "hold 57 lamports where its manifest says 58: it builds on another one" in refused(path)


def test_what_an_increment_closed_is_closed(rpc, tmp_path):
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))
    content = told(MORE, 95, capitalization=57)
    run(snapshot(tmp_path, "incremental-snapshot-90-95-x.tar", content))
    lamports = {
        (key, slot): (value_of(rpc, key, slot)["result"]["value"] or {}).get("lamports")
        for key in (1, 2, 3)
        for slot in (90, 95)
    }
    assert lamports == {
        (1, 90): 50, (1, 95): 50, (2, 90): 30, (2, 95): None, (3, 90): None, (3, 95): 7,
    }  # fmt: skip


def test_of_one_owner_the_base_has_to_be_of_that_owner_or_whole(tmp_path):
    mine, other = str(Pubkey.from_bytes(OWNER)), str(Pubkey.new_unique())
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)), "--owner", mine)
    content = told(MORE, 95, capitalization=57)
    path = snapshot(tmp_path, "incremental-snapshot-90-95-x.tar", content)
    for options in ((), ("--owner", other), ("--owner", mine, "--owner", other)):
        assert "which is not here with the same accounts" in refused(path, *options)
    run(path, "--owner", mine)
    assert not Baseline.objects.filter(whole=True).exists()


# Reading it


def test_a_baseline_is_read_at_once_at_its_own_slot(rpc, tmp_path):
    too_new = value_of(rpc, 1, 90)["error"]
    assert too_new["data"]["reason"] == "slot_too_new"
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))
    content = told(MORE, 95, capitalization=57)
    run(snapshot(tmp_path, "incremental-snapshot-90-95-x.tar", content))
    answer = value_of(rpc, 1, 90)["result"]
    assert answer["value"]["lamports"] == 50 and answer["context"]["slot"] == 90
    newer, older = value_of(rpc, 1, 96)["error"], value_of(rpc, 1, 89)["error"]
    assert newer["data"] == {"reason": "slot_too_new", "slot": 96, "latestSlot": 95}
    assert older["data"] == {"reason": "slot_too_old", "slot": 89, "earliestSlot": 90}
    between = value_of(rpc, 1, 92)["error"]["data"]
    assert (between["reason"], between["gapStart"], between["gapEnd"]) == (
        "slot_in_archive_gap",
        91,
        94,
    )
    tolerated = value_of(rpc, 1, 92, tolerateGaps=True)["result"]
    assert tolerated["value"]["lamports"] == 50
    assert tolerated["context"]["gap"]["fromSlot"] == 91


def test_inside_the_slot_of_a_baseline_nothing_is_known(rpc, tmp_path):
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))
    pubkey = str(Pubkey.from_bytes((1).to_bytes(32)))
    config = {"slot": 90, "transactionIndex": 3}
    error = rpc(REWIND, "getAccountInfo", pubkey, config)["error"]
    assert error["data"]["reason"] == "slot_in_archive_gap"


def test_several_accounts_and_their_difference_are_read_too(rpc, tmp_path):
    run(snapshot(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))
    keys = [str(Pubkey.from_bytes(number.to_bytes(32))) for number in (1, 2, 4)]
    answer = rpc(REWIND, "getMultipleAccounts", keys, {"slot": 90})["result"]
    assert [value and value["lamports"] for value in answer["value"]] == [50, 30, None]
