"""manage.py import_snapshot: archives and account files into the archive."""

import contextlib
import io
import json

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.utils import timezone
from solders.pubkey import Pubkey

from rewind.baselines.models import Baseline
from rewind.models import AccountChange
from rewind.recording.services.recording import record_slots
from tests.rewind.samples import block
from tests.upstream.manifests import KEYS
from tests.upstream.test_snapshots import OWNER, STORAGES, account, archive, entry, file_of

# What the sample manifests have as the first of their blockhashes.
GENESIS = str(Pubkey.from_bytes(KEYS[0]))


def named(options):
    """With the chain of account files and of archives that tell none, unless a test names one."""
    return options if "--genesis" in options else (*options, "--genesis", GENESIS)


def run(path, *options):
    out = io.StringIO()
    call_command("import_snapshot", str(path), *named(options), stdout=out)
    return out.getvalue()


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "snapshot-100-x.tar.zst"
    path.write_bytes(zstandard.compress(archive(STORAGES)))
    return path


def test_an_archive_becomes_a_baseline(db, snapshot):
    first, proof = run(snapshot).splitlines()
    assert first == f"{snapshot}: 1 account imported, 1 closed ones left out"
    assert proof.startswith("  proven: all accounts sum to ")
    row = AccountChange.objects.get()
    assert (row.slot, row.kind, row.lamports, row.executable) == (100, 1, 20, True)
    again = run(snapshot, "--slot", "100")
    assert again == (
        f"{snapshot}: 0 accounts imported, 1 there already, 1 closed ones left out\n{proof}\n"
    )
    assert (Baseline.objects.get().slot, Baseline.objects.get().accounts) == (100, 1)


def test_a_manifest_that_cannot_be_followed_is_one_line_of_warning(db, snapshot, tmp_path):
    err = io.StringIO()
    call_command("import_snapshot", str(snapshot), *named(()), stdout=io.StringIO(), stderr=err)
    assert err.getvalue() == ""
    for storages in (STORAGES, {"95.8": STORAGES["95.8"] + b"\xff" * 200}):
        path = tmp_path / "unknown.tar"
        path.write_bytes(archive(storages, told=bytes(40)))
        with contextlib.suppress(CommandError):
            call_command("import_snapshot", str(path), *named(()), stdout=io.StringIO(), stderr=err)
    first, second = err.getvalue().splitlines()
    assert first == second
    assert first.startswith(f"{path}: the manifest cannot be followed (byte 33: it ends")
    assert first.endswith("each storage is read to the end of its file")


def test_only_the_accounts_of_an_owner_come_in(db, snapshot):
    run(snapshot, "--owner", str(Pubkey.new_unique()))
    assert not AccountChange.objects.exists()
    run(snapshot, "--owner", str(Pubkey.from_bytes(OWNER)))
    assert AccountChange.objects.count() == 1
    assert not Baseline.objects.filter(whole=True).exists()
    run(snapshot)
    assert Baseline.objects.get(slot=100).whole


def test_account_files_need_their_slot(db, tmp_path):
    path = tmp_path / "account.json"
    path.write_text(file_of())
    with pytest.raises(CommandError, match="give it with --slot"):
        run(path)
    assert run(tmp_path, "--slot", "7") == (
        f"{tmp_path}: 1 account imported\n  unproven: account files carry no hash of all accounts\n"
    )
    assert AccountChange.objects.get().slot == 7


def test_a_baseline_of_the_future_is_refused_once_slots_are_archived(db, snapshot, tmp_path):
    record_slots([block(50)], source="stream", now=timezone.now())
    file = tmp_path / "account.json"
    file.write_text(file_of())
    for path, options in ((snapshot, ()), (snapshot, ("--slot", "100")), (file, ("--slot", "51"))):
        with pytest.raises(CommandError, match="lies above the newest archived slot, 50"):
            run(path, *options)
    assert not Baseline.objects.exists()
    run(file, "--slot", "50")
    assert Baseline.objects.get().slot == 50


@pytest.mark.parametrize(
    ("name", "content", "options", "reason"),
    [
        ("absent.tar.zst", None, (), "No such file or directory"),
        ("a.tar", b"no tar", (), "expected a tar"),
        ("a.tar", archive({"9.1": entry(account(1)) + b"x"}), (), "the storage ends inside"),
        ("a.tar", archive(STORAGES), ("--slot", "7"), "is of slot 100, not 7"),
        ("a.tar", archive(STORAGES), ("--owner", "x"), "--owner x: no pubkey"),
        ("a.json", b"{}", ("--slot", "7"), "pubkey"),
        ("a.json", file_of().encode(), ("--slot", "-7"), "slot -7 is out of range"),
    ],
)
def test_what_cannot_be_imported_is_refused_whole(db, tmp_path, name, content, options, reason):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CommandError) as refusal:
        run(path, *options)
    assert reason in str(refusal.value)
    assert not AccountChange.objects.exists()


def test_real_accounts_come_in_whole(db, fixtures):
    run(fixtures / "accounts" / "orca-whirlpools" / "reset_position_range", "--slot", "5")
    ticks = fixtures / "accounts/orca-whirlpools/reset_position_range/fixed_tick_array_lower.json"
    told = json.loads(ticks.read_text())
    row = AccountChange.objects.get(pubkey=Pubkey.from_string(told["pubkey"]))
    assert len(row.data) == 9_988
    assert row.lamports == told["account"]["lamports"]
    assert str(row.owner.pubkey) == told["account"]["owner"]
    assert row.rent_epoch == told["account"]["rentEpoch"]
