"""manage.py import_snapshot: accounts are those that a snapshot's hashes cover, or are refused."""

import io
import json
import struct
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain.lattice import LatticeHash, bank_hash
from rewind.baselines.errors import (
    NoSum,
    OtherAccounts,
    OtherStakes,
    WrongBankHash,
    WrongSum,
)
from rewind.baselines.models import Baseline, EpochStake
from rewind.errors import BadBaseline
from rewind.models import AccountChange
from rewind.proof.store import epoch_stakes, proof_runs
from rewind.proof.store.epoch_stakes import Stake, StakeOrigin
from rewind.recording.services.recording import record_slots
from tests.examples import examples
from tests.ingest.test_snapshot_chains import fixture, hashes, told
from tests.rewind.samples import block, signature
from tests.rewind.samples import write as written
from tests.upstream.manifests import KEYS, NEW, manifest
from tests.upstream.test_snapshots import (
    OWNER,
    account,
    archive,
    entry,
    held,
    lattice,
    newest,
)
from upstream.archives.errors import BadSnapshot

pytestmark = pytest.mark.django_db
GENESIS = str(Pubkey.from_bytes((0).to_bytes(32)))
MINE = str(Pubkey.from_bytes(OWNER))


@pytest.fixture(autouse=True)
def no_node(settings: Any) -> None:
    """Whatever listens where localnet would is not of these tests' chains."""
    settings.UPSTREAM_RPC_URL = ""


def run(path: Path, *options: str) -> str:
    out = io.StringIO()
    call_command("import_snapshot", str(path), *options, stdout=out, stderr=io.StringIO())
    return out.getvalue().splitlines()[1].strip()


def refused(path: Path, *options: str) -> BaseException:
    """The fault for which nothing of it was imported."""
    before = rows()
    with pytest.raises(CommandError) as refusal:
        run(path, *options)
    assert rows() == before
    assert "nothing of it was imported" in str(refusal.value)
    assert refusal.value.__cause__ is not None
    return refusal.value.__cause__


def rows() -> tuple[list[Any], list[Any], int]:
    return (
        sorted(AccountChange.objects.values_list("pubkey", "slot", "lamports"), key=repr),
        list(Baseline.objects.values_list("slot", "source", "proven", "lattice")),
        EpochStake.objects.count(),
    )


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def full(storages: dict[str, bytes], slot: int = 90, **change: Any) -> bytes:
    """An archive whose manifest declares its accounts."""
    return told(storages, slot, **{"lattice": lattice(storages), **change})


def over(
    base: dict[str, bytes], storages: dict[str, bytes], slot: int = 95, **change: Any
) -> bytes:
    """The same of an increment over a base."""
    declared = {"lattice": lattice(base, storages), "capitalization": held(base, storages)}
    return told(storages, slot, **{**declared, **change})


# Account 1 is in two storages, 2 twice in one; 3 is closed.
BASE = {
    "88.1": entry(account(1, lamports=9, data=b"old")) + entry(account(3, lamports=4)),
    "90.1": entry(account(1, lamports=50))
    + entry(account(2, lamports=1))
    + entry(account(2, lamports=30, data=b"x" * 300))
    + entry(account(3, lamports=0)),
}
# 2 is closed, 4 is new, 3 comes back.
MORE = {
    "94.1": entry(account(4, lamports=5, data=b"first")),
    "95.1": entry(account(2, lamports=0))
    + entry(account(4, lamports=7))
    + entry(account(3, lamports=2, executable=True)),
}
DECLARED: dict[str, Any] = {"lattice": lattice(BASE), "capitalization": held(BASE)}


# Real ones


def test_a_real_snapshot_and_its_increment_are_proven(fixtures):
    base, more = fixture(fixtures, "snapshot-1"), fixture(fixtures, "incremental-snapshot-1-4")
    for path, slot in ((base, 1), (more, 4)):
        named = path.name.removesuffix(".tar.zst").rpartition("-")[2]
        shown = run(path)
        found = Baseline.objects.get(slot=slot)
        assert shown == (
            f"proven: all accounts sum to {named}, the bank's hash is {found.bank_hash}"
        )
        assert (found.proven, found.why_unproven, found.parent_slot) == (True, "", slot - 1)
        assert Hash(LatticeHash(bytes(found.lattice)).checksum) == Hash.from_string(named)
        made = bank_hash(
            bytes(found.parent_hash),
            found.signature_count,
            bytes(found.blockhash),
            bytes(found.lattice),
        )
        assert found.bank_hash == Hash(made)
    assert run(base) == run(base)


def test_coverage_and_the_admin_say_what_is_proven(rpc, admin_client, fixtures):
    run(fixture(fixtures, "snapshot-1"))
    run(fixture(fixtures, "incremental-snapshot-1-4"))
    Baseline.objects.filter(slot=1).update(proven=False, why_unproven="made up")
    banks = {each.slot: str(each.bank_hash) for each in Baseline.objects.all()}
    first = {"slot": 1, "proven": False, "whyUnproven": "made up", "bankHash": banks[1]}
    second = {"slot": 4, "baseSlot": 1, "proven": True, "bankHash": banks[4]}
    for window, listed in (({}, [second, first]), ({"toSlot": 3}, [first]), ({"fromSlot": 5}, [])):
        assert rpc("/rewind", "getRewindCoverage", window)["result"]["baselines"] == listed
    text = admin_client.get("/admin/rewind/baseline/").content.decode()
    assert "unproven" in text and "made up" in text and ">proven<" in text


def test_a_real_snapshot_of_the_older_kind_is_imported_as_unproven(fixtures):
    for start in ("snapshot-269", "incremental-snapshot-269-307"):
        assert run(fixture(fixtures, start), "--genesis", "mainnet") == (
            "unproven: neither its name nor its manifest has the lattice hash of its accounts: a"
            " hash of the older kind, of a merkle tree, says nothing here"
        )
    assert [each.proven for each in Baseline.objects.all()] == [False, False]
    assert set(EpochStake.objects.values_list("epoch", "stake")) == {
        (0, 999_999_997_717_120),
        (1, 999_999_997_717_120),
    }


def members(path: Path) -> list[tuple[str, bytes]]:
    plain = zstandard.ZstdDecompressor().stream_reader(path.open("rb"))
    with tarfile.open(fileobj=io.BytesIO(plain.read())) as tar:
        return [
            (each.name, tar.extractfile(each).read())  # type: ignore[union-attr]
            for each in tar
            if each.isfile()
        ]


def packed(members: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def covered(storage: bytes) -> list[tuple[int, int]]:
    """Runs of bytes that are in an account's hash: pubkey, lamports, owner, executable, data."""
    found, at = [], 0
    while at + 136 <= len(storage):
        _, length, pubkey = struct.unpack_from("<QQ32s", storage, at)
        if not any(pubkey) and not length and not any(storage[at : at + 136]):
            break
        found += [(at + 16, 32), (at + 48, 8), (at + 64, 32), (at + 96, 1), (at + 136, length)]
        at += 136 + length + -length % 8
    return [run for run in found if run[1]]


@pytest.mark.parametrize("start", ["snapshot-1", "incremental-snapshot-1-4"])
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_flipped_bit_in_any_account_is_refused(fixtures, tmp_path, start, data):
    path = fixture(fixtures, start)
    whole = members(path)
    places = [
        (number, first, length)
        for number, (name, content) in enumerate(whole)
        if name.startswith("accounts/")
        for first, length in covered(content)
    ]
    number, first, length = data.draw(st.sampled_from(places))
    at = first + data.draw(st.integers(0, length - 1))
    bit = data.draw(st.integers(0, 7))
    name, content = whole[number]
    flipped = content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]
    whole[number] = (name, flipped)
    with transaction.atomic():
        if start.startswith("incremental"):
            run(fixture(fixtures, "snapshot-1"))
        fault = refused(write(tmp_path, path.name.removesuffix(".zst"), packed(whole)))
        transaction.set_rollback(True)
    # Of lamports the capitalization says it first, and 2 is not a bool.
    assert isinstance(fault, BadBaseline | BadSnapshot)
    if isinstance(fault, BadSnapshot):
        assert first % 8 == 0 and length == 1
    elif not isinstance(fault, WrongSum):
        assert length in (8, 32)


# Made ones

NUMBERS = st.integers(1, 6)
STATES = st.builds(
    lambda number, lamports, data, executable, mine: replace_owner(
        account(number, lamports=lamports, data=data, executable=executable), mine
    ),
    NUMBERS,
    st.integers(0, 3) | st.integers(0, 2**40),
    st.binary(max_size=40),
    st.booleans(),
    st.booleans(),
)


def replace_owner(each: Any, mine: bool) -> Any:
    return each if mine else each._replace(owner=bytes([9]) * 32)


def storages(first: int, last: int) -> st.SearchStrategy[dict[str, bytes]]:
    names = st.integers(first, last).map(lambda slot: f"{slot}.1")
    content = st.lists(STATES, max_size=5).map(lambda some: b"".join(map(entry, some)))
    return st.dictionaries(names, content, max_size=4)


@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(storages(80, 90), storages(91, 95), st.booleans(), st.booleans(), st.data())
def test_made_snapshots_are_proven_and_not_with_another_account(
    tmp_path, base, more, few_of_base, few_of_more, data
):
    chosen = [("--owner", MINE) if few else () for few in (few_of_base, few_of_more)]
    if few_of_base and not few_of_more:
        chosen[1] = chosen[0]
    with transaction.atomic():
        name = f"snapshot-90-{Hash(LatticeHash(lattice(base)).checksum)}.tar"
        shown = run(write(tmp_path, name, full(base)), *chosen[0])
        assert shown.startswith(f"proven: all accounts sum to {name[12:-4]}, the bank's hash is")
        wrong = {**more, "95.2": entry(account(7, lamports=data.draw(st.integers(1, 9))))}
        declared = {"lattice": lattice(base, more), "capitalization": held(base, wrong)}
        path = write(tmp_path, "incremental-snapshot-90-95-x.tar", over(base, wrong, **declared))
        if not few_of_base:
            fault = refused(path, *chosen[1])
            assert isinstance(fault, WrongSum)
            assert fault.declared == LatticeHash(lattice(base, more)).checksum
            assert fault.found == LatticeHash(lattice(base, wrong)).checksum
        write(tmp_path, "incremental-snapshot-90-95-x.tar", over(base, more))
        shown = run(path, *chosen[1])
        if few_of_base:
            assert shown == "unproven: its base, of slot 90, is not here with all accounts"
        else:
            checksum = LatticeHash(lattice(base, more)).checksum
            assert shown.startswith(f"proven: all accounts sum to {Hash(checksum)},")
        transaction.set_rollback(True)


def test_the_name_says_it_where_the_manifest_cannot_be_followed(tmp_path):
    name = f"snapshot-90-{Hash(LatticeHash(lattice(BASE)).checksum)}.tar"
    path = write(tmp_path, name, archive(BASE, slot=90, told=b"unknown"))
    assert run(path, "--genesis", GENESIS) == f"proven: all accounts sum to {name[12:-4]}"
    path = write(tmp_path, "snapshot-90-x.tar", archive(BASE, slot=90, told=b"unknown"))
    assert run(path, "--genesis", GENESIS).startswith("unproven: neither its name nor its man")


def test_where_the_name_was_changed_the_manifest_decides(tmp_path):
    other = Hash(bytes([7]) * 32)
    assert run(write(tmp_path, f"snapshot-90-{other}.tar", full(BASE))).startswith("proven: ")
    for name in ("mine.tar", f"snapshot-90-{'z' * 44}.tar", f"snapshot-90-{'1' * 40}.tar"):
        assert run(write(tmp_path, name, full(BASE))).startswith("proven: ")
    false = full(BASE, lattice=lattice(MORE))
    name = f"snapshot-90-{Hash(LatticeHash(lattice(BASE)).checksum)}.tar"
    fault = refused(write(tmp_path, name, false))
    assert isinstance(fault, WrongSum)
    assert "an account is missing, altered or there twice" in str(fault)
    assert str(Hash(LatticeHash(lattice(MORE)).checksum)) in str(fault)


def test_a_bank_hash_over_the_accounts_is_enough(tmp_path):
    """A tail that cannot be followed, under another name."""
    lengths = {name: len(content) for name, content in BASE.items()}
    whole = manifest(lengths, slot=90, blockhashes=hashes(0, 90), **DECLARED)
    tail = b"\x01" + lattice(BASE)
    assert tail in whole
    cut = whole[: whole.index(tail)] + b"\x02" + bytes(99)
    path = write(tmp_path, "mine.tar", archive(BASE, slot=90, told=cut))
    assert run(path).startswith("proven: all accounts sum to ")
    other = cut.replace(bytes([0xAA]) * 32, bytes([0xAB]) * 32)
    path = write(tmp_path, "other.tar", archive(BASE, slot=90, told=other))
    assert run(path).startswith("unproven: ")


# Those that name no storages


def unnamed(storages: dict[str, bytes], slot: int = 90, **declared: Any) -> bytes:
    """An archive whose manifest names no storages, as since Agave 4.4."""
    declared = {"lattice": lattice(storages), "capitalization": held(storages), **declared}
    return archive(
        storages, slot=slot, told=manifest({}, slot=slot, blockhashes=hashes(0, slot), **declared)
    )


@pytest.mark.parametrize("slot", [600, 700])
def test_a_real_snapshot_that_names_no_storages_is_proven_and_whole(fixtures, slot):
    (path,) = (fixtures / "agave-4.4.0").glob(f"snapshot-{slot}-*.tar.zst")
    banks = json.loads((fixtures / "agave-4.4.0" / "banks.json").read_bytes())
    named = path.name.removesuffix(".tar.zst").rpartition("-")[2]
    found = banks[str(slot)]["bankHash"]
    shown = run(path, "--genesis", banks["0"]["blockhash"])
    assert shown == f"proven: all accounts sum to {named}, the bank's hash is {found}"
    baseline = Baseline.objects.get()
    assert (baseline.slot, baseline.whole, str(baseline.bank_hash)) == (slot, True, found)


def test_a_full_one_and_an_increment_without_storages_are_whole(tmp_path):
    base = write(tmp_path, "snapshot-90-x.tar", unnamed(BASE))
    assert run(base).startswith("proven: ")
    declared = {"lattice": lattice(BASE, MORE), "capitalization": held(BASE, MORE)}
    more = write(tmp_path, "incremental-snapshot-90-95-x.tar", unnamed(MORE, 95, **declared))
    assert run(more).startswith("proven: ")
    assert [each.whole for each in Baseline.objects.all()] == [True, True]


def test_some_accounts_of_a_proven_one_are_not_whole(tmp_path):
    path = write(tmp_path, "snapshot-90-x.tar", unnamed(BASE))
    assert run(path, "--owner", MINE).startswith("proven: ")
    assert not Baseline.objects.get().whole
    assert run(path).startswith("proven: ")
    assert Baseline.objects.get().whole


def test_without_storages_and_without_a_sum_nothing_is_imported(tmp_path):
    for name in ("mine.tar", f"snapshot-90-{Hash.default()}.tar"):
        assert isinstance(refused(write(tmp_path, name, unnamed(BASE, lattice=None))), NoSum)
    # Its bank's hash is enough.
    whole = manifest({}, slot=90, blockhashes=hashes(0, 90), **DECLARED)
    cut = whole[: whole.index(b"\x01" + lattice(BASE))] + b"\x02" + bytes(99)
    path = write(tmp_path, "mine.tar", archive(BASE, slot=90, told=cut))
    assert run(path).startswith("proven: ")
    assert Baseline.objects.get().whole


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(storages(80, 90), st.data())
def test_without_storages_an_account_that_is_not_there_is_found(tmp_path, some, data):
    """One left out, doubled with another state, or a storage that is away or cut short."""
    declared = {"lattice": lattice(some), "capitalization": held(some)}
    changed = {**some, "90.2": entry(account(99, lamports=7))}
    whole = {name: content for name, content in some.items() if content}
    if whole and data.draw(st.booleans()):
        name = data.draw(st.sampled_from(sorted(whole)))
        length = 136 + int.from_bytes(whole[name][8:16], "little")
        cut = whole[name][length + -length % 8 :]
        changed = {**some, name: data.draw(st.sampled_from([b"", cut]))}
    path = write(tmp_path, "snapshot-90-x.tar", unnamed(changed, **declared))
    with transaction.atomic():
        if lattice(changed) == lattice(some):  # what is away had been superseded or closed
            assert run(path).startswith("proven: ")
        else:
            refused(path)
        transaction.set_rollback(True)


@pytest.mark.parametrize("forks", [(), ((90, 2), (89, 1)), ((91, 1),)])
@pytest.mark.parametrize("delta_hash", [bytes(32), bytes([5]) * 32])
def test_the_banks_hash_has_its_hard_forks_and_what_it_once_had(tmp_path, forks, delta_hash):
    age = replace(NEW, delta_hash=delta_hash)
    path = write(tmp_path, "mine.tar", full(BASE, forks=forks, age=age))
    assert run(path).startswith("proven: ")
    path = write(tmp_path, "other.tar", full(BASE, forks=forks, age=age, of_bank=bytes(32)))
    fault = refused(path)
    assert isinstance(fault, WrongBankHash)
    assert fault.declared == bytes(32)
    assert fault.found == bytes(Baseline.objects.get().bank_hash)


def test_of_chosen_owners_states_that_were_superseded_are_read_again(tmp_path):
    other = str(Pubkey.new_unique())
    assert run(write(tmp_path, "mine.tar", full(BASE)), "--owner", other).startswith("proven: ")
    found = Baseline.objects.get()
    assert (found.proven, found.whole, found.accounts) == (True, False, 0)
    assert bytes(found.lattice) == lattice(BASE)


def test_over_a_base_whose_sum_is_not_known_nothing_is_proven(tmp_path):
    run(write(tmp_path, "snapshot-90-x.tar", full(BASE)))
    Baseline.objects.update(lattice=None, proven=False)
    path = write(tmp_path, "incremental-snapshot-90-95-x.tar", over(BASE, MORE))
    assert run(path) == "unproven: the sum of its base, of slot 90, is not known"
    run(tmp_path / "snapshot-90-x.tar")
    assert run(path).startswith("proven: ")
    assert [each.proven for each in Baseline.objects.all()] == [True, True]


def test_a_base_of_the_older_kind_carries_an_increment_of_the_newer(tmp_path):
    run(write(tmp_path, "snapshot-90-x.tar", told(BASE, 90)))
    path = write(tmp_path, "incremental-snapshot-90-95-x.tar", over(BASE, MORE))
    assert run(path).startswith("proven: ")


def test_a_write_at_the_end_of_the_bases_slot_stands_for_the_base(tmp_path):
    run(write(tmp_path, "snapshot-90-x.tar", full(BASE)))
    first = written(77, signature(90, 0), version=1)
    last = account(1, lamports=50)._replace(write_version=9)
    record_slots([block(90, writes=[first, last])], source="stream", now=timezone.now())
    record_slots([block(99, parent=90)], source="stream", now=timezone.now())
    assert AccountChange.objects.get(pubkey=last.pubkey).kind == AccountChange.Kind.WRITE
    path = write(tmp_path, "incremental-snapshot-90-95-x.tar", over(BASE, MORE))
    assert run(path).startswith("proven: ")


def test_a_proven_one_is_not_mixed_with_other_accounts(tmp_path):
    false = {"90.1": BASE["90.1"] + entry(account(2, lamports=30, data=b"y" * 300))}
    run(write(tmp_path, "false.tar", told(false, 90)))
    fault = refused(write(tmp_path, "true.tar", full(BASE)))
    assert isinstance(fault, OtherAccounts)
    assert (fault.slot, fault.pubkey) == (90, str(Pubkey.from_bytes((2).to_bytes(32))))


@pytest.mark.parametrize("extra", [entry(account(9)), entry(account(3, lamports=8))])
def test_nor_with_an_account_that_it_does_not_have(tmp_path, extra):
    run(write(tmp_path, "false.tar", told({**BASE, "90.2": extra}, 90)))
    fault = refused(write(tmp_path, "true.tar", full(BASE)))
    assert isinstance(fault, OtherAccounts)
    assert (fault.slot, fault.pubkey) == (90, None)


def test_one_that_was_imported_before_sums_were_kept_is_proven_when_it_comes_again(tmp_path):
    path = write(tmp_path, "mine.tar", full(BASE))
    run(path)
    Baseline.objects.update(lattice=None, proven=False)
    assert run(path).startswith("proven: ")
    assert Baseline.objects.get().proven


def test_a_proven_row_is_not_replaced_by_an_unproven_one(tmp_path):
    run(write(tmp_path, "mine.tar", full(BASE)))
    assert run(write(tmp_path, "mine.tar", told(BASE, 90))).startswith("unproven: ")
    assert Baseline.objects.get().proven


def test_two_snapshots_bring_the_same_stakes(tmp_path):
    run(write(tmp_path, "snapshot-90-x.tar", full(BASE)))
    assert {
        (bytes(each.vote_account), each.stake, each.voter and bytes(each.voter))
        for each in EpochStake.objects.filter(epoch=3)
    } == {
        (KEYS[0], 5_000_000, KEYS[6]),
        (KEYS[1], 5_000_000, KEYS[7]),
        (KEYS[2], 5_000_000, None),
    }
    other = over(BASE, MORE, stakes={0: 5_000_000, 1: 6_000_000})
    path = write(tmp_path, "incremental-snapshot-90-95-x.tar", other)
    fault = refused(path)
    assert isinstance(fault, OtherStakes)
    assert (fault.epoch, fault.source) == (3, "snapshot-90-x.tar")
    run(path, "--replace-stakes")
    assert dict(EpochStake.objects.values_list("vote_account", "stake")) == {
        Pubkey.from_bytes(KEYS[0]): 5_000_000,
        Pubkey.from_bytes(KEYS[1]): 6_000_000,
    }


def test_stakes_of_a_proven_one_take_the_place_of_an_unproven_ones(tmp_path):
    run(write(tmp_path, "snapshot-90-x.tar", told(BASE, 90, stakes={0: 1})))
    run(write(tmp_path, "snapshot-90-y.tar", full(BASE)))
    assert EpochStake.objects.filter(stake=5_000_000).count() == 3
    fault = refused(write(tmp_path, "z.tar", told(BASE, 90, stakes={0: 1})))
    assert isinstance(fault, OtherStakes)


def computed_from(slot: int, voter: bytes | None = KEYS[6], **lamports: int) -> None:
    """The stakes of epoch 3 as if the archive had computed them."""
    stakes = {KEYS[0]: 5_000_000, KEYS[1]: 5_000_000, KEYS[2]: 5_000_000}
    stakes.update({KEYS[int(name[1:])]: each for name, each in lamports.items()})
    voters = {KEYS[0]: voter, KEYS[1]: KEYS[7]}
    epoch_stakes.keep(
        StakeOrigin(computed_slot=slot),
        3,
        {key: Stake(each, voters.get(key)) for key, each in stakes.items()},
    )


@pytest.mark.parametrize(
    "other", [{"_1": 5_000_001}, {"voter": KEYS[5]}], ids=["lamports", "voter"]
)
def test_a_snapshot_does_not_replace_stakes_that_follow_from_proven_accounts(tmp_path, other):
    computed_from(70, **other)
    proof_runs.mark(70, 70, proof_runs.PROVEN, "")
    path = write(tmp_path, "snapshot-90-x.tar", full(BASE))
    fault = refused(path)
    assert isinstance(fault, OtherStakes)
    assert fault.source == "the archive's own accounts at the end of slot 70"
    run(path, "--replace-stakes")
    assert set(EpochStake.objects.values_list("stake", "computed_slot")) == {(5_000_000, None)}


def test_of_stakes_from_unproven_accounts_a_proven_snapshots_take_the_place(tmp_path):
    computed_from(70, _1=5_000_001)
    run(write(tmp_path, "snapshot-90-x.tar", full(BASE)))
    assert set(EpochStake.objects.values_list("stake", "computed_slot")) == {(5_000_000, None)}


def test_a_snapshot_that_agrees_with_what_was_computed_leaves_it(tmp_path):
    computed_from(70)
    run(write(tmp_path, "snapshot-90-x.tar", full(BASE)))
    origin = epoch_stakes.origin_of(3)
    assert origin is not None
    assert (origin.computed_slot, origin.baseline) == (70, None)


def test_the_newest_states_are_those_of_the_maker():
    assert {each.lamports for each in newest(BASE).values()} == {50, 30, 0}
