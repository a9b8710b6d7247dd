"""Stakes and voters from a snapshot's manifest, for the check of proofs."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chain.electorates import read_electorates
from chain.verify_proof import verify
from tests.chain.proofs import text
from tests.chain.recorded_proofs import recorded_proof, snapshot_path
from tests.rewind.test_verify_proof import alone
from tests.upstream.manifests import KEYS, OLD, Age, manifest
from tests.upstream.test_snapshots import account, archive, entry, lattice


def run(path: Path, *options: str) -> tuple[bytes, str]:
    """What the command prints, and what it says beside it."""
    out, err = io.StringIO(), io.StringIO()
    call_command("snapshot_stakes", str(path), *options, stdout=out, stderr=err)
    return out.getvalue().encode(), err.getvalue()


def test_a_real_slot_is_proven_by_the_stakes_of_a_real_snapshot(fixtures, tmp_path):
    proof, stakes = tmp_path / "proof.json", tmp_path / "stakes.json"
    document = recorded_proof(fixtures, tmp_path)
    proof.write_bytes(text(document))
    assert verify(proof).code == 4
    for slot in (600, 700):
        printed, said = run(snapshot_path(fixtures, slot))
        stakes.write_bytes(printed)
        outcome = verify(proof, stakes)
        assert outcome.code == 0, outcome
        assert "trusted: that the stakes and voters given are those of epoch 4" in outcome.lines
        assert "checked: the bank's hash from the manifest's parts" in said
    printed, _ = run(snapshot_path(fixtures), "--epoch", "3")
    stakes.write_bytes(printed)
    assert verify(proof, stakes).code == 2
    proof.write_bytes(text({**document, "signatureCount": 3}))
    assert verify(proof, stakes).code == 1


STORAGES = {"90.1": entry(account(1, lamports=50)) + entry(account(2, lamports=30))}


def snapshot(folder: Path, **change: Any) -> Path:
    lengths = {name: len(content) for name, content in STORAGES.items()}
    made = manifest(lengths, slot=90, **{"lattice": lattice(STORAGES), **change})
    path = folder / "snapshot-90-x.tar"
    path.write_bytes(archive(STORAGES, slot=90, told=made))
    return path


def test_voters_and_the_epochs_slots_come_with_the_stakes(tmp_path):
    printed, said = run(snapshot(tmp_path))
    (found,) = read_electorates(printed)
    # The warm-up: 32 slots, 64, 128, then epoch 3.
    assert (found.epoch, found.slots) == (3, (224, 479))
    assert set(found.stakes) == set(KEYS[:3])
    assert found.voters is not None and set(found.voters) == set(KEYS[:2])
    assert "trusted: the stakes and voters of epoch 3, as the snapshot has them" in said


def test_a_snapshot_that_is_still_being_downloaded_will_do(fixtures, tmp_path):
    whole = snapshot_path(fixtures)
    part = tmp_path / whole.name
    part.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert run(part) == run(whole)


@pytest.mark.parametrize(
    ("change", "options", "reason"),
    [
        ({"of_bank": bytes(32)}, (), "the manifest's parts make the bank hash"),
        ({}, ("--epoch", "7"), "it has the stakes of other epochs: 3"),
    ],
)
def test_what_does_not_hold_is_refused(tmp_path, change, options, reason):
    with pytest.raises(CommandError, match=reason):
        run(snapshot(tmp_path, **change), *options)


@pytest.mark.parametrize("age", [OLD, Age(delta_hash=bytes([5]) * 32)])
def test_a_hash_of_an_older_kind_is_not_checked_and_that_is_said(tmp_path, age):
    _, said = run(snapshot(tmp_path, age=age))
    assert "not checked: the bank's hash, which is of an older kind" in said


@pytest.mark.parametrize("content", [b"", b"x" * 2_000])
def test_what_is_no_snapshot_is_refused(tmp_path, content):
    path = tmp_path / "snapshot-90-x.tar"
    path.write_bytes(content)
    with pytest.raises(CommandError):
        run(path)
    with pytest.raises(CommandError, match="No such file"):
        run(tmp_path / "absent.tar")


def test_a_reader_needs_five_packages_alone(fixtures, tmp_path):
    path = str(snapshot_path(fixtures))
    done = alone(tmp_path, "upstream.snapshot_stakes", path, content=b"")
    assert (done.returncode, done.stdout) == (0, run(Path(path))[0]), done.stderr
    done = alone(tmp_path, "upstream.snapshot_stakes", str(tmp_path), content=b"")
    assert (done.returncode, done.stdout) == (1, b"")
