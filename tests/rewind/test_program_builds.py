"""The shelf of program builds: kept by commands and the admin, used where the archive has none."""

import io
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.blocks import SlotRecord
from historical.transactions.services.recorded_transactions import recorded
from rewind.recording.services import filters
from rewind.replay.models import ProgramBuild
from rewind.replay.services.replay import replay
from simulator.missing_rules import features_to_ask_for
from staff.models import AuditEntry
from tests.conftest import Rpc
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import (
    call,
    code_of,
    own_place,
    refused,
    simulated,
    stored,
    upgradeable,
    with_write,
)
from tests.simulator.elf import LOGS, RETURNS_DATA, SUCCEEDS, fails_with

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

PROGRAM, FINAL, TARGET = (Pubkey(bytes([number]) * 32) for number in (80, 81, 77))
SHELF = "/admin/rewind/programbuild"


def without(record: SlotRecord, keys: Collection[Pubkey]) -> SlotRecord:
    """The slot as an archive has it that never saw these accounts."""
    kept = [each for each in record.account_writes or [] if Pubkey(each.pubkey) not in keys]
    return replace(record, account_writes=kept)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """In slot 2 both programs are called; the archive never saw either of them, and begins in slot
    1, so that it does not know that they were not there.
    """
    final = Account(10**9, LOGS, addresses.LOADER_2, True, 2**64 - 1)
    made = LittleChain(tmp_path, given={**upgradeable(PROGRAM, RETURNS_DATA, slot=0), FINAL: final})
    first = made.records[0]
    made.block(made.payment(TARGET, SOL))
    # What the chain began with, but for the programs, as a write of its first archived slot.
    lacking = {PROGRAM, code_of(PROGRAM), FINAL}
    begun = without(first, lacking).account_writes or []
    made.records[1] = replace(
        made.records[1], account_writes=[*begun, *(made.records[1].account_writes or [])]
    )
    for feature in {*features_to_ask_for()} - {Pubkey(write.pubkey) for write in begun}:
        made.records[1] = with_write(made.records[1], feature, None)
    made.block(made.signed([call(PROGRAM), call(FINAL)], made.payers[0]))
    made.block(made.payment(TARGET, SOL))
    yield made
    made.close()


@pytest.fixture
def archived(chain: LittleChain) -> LittleChain:
    stored(chain.records[1:])
    return chain


def imported(folder: Path, program: Pubkey, code: bytes, *options: str) -> str:
    file = folder / "program.so"
    file.write_bytes(code)
    out = io.StringIO()
    call_command("import_program", str(file), "--program", str(program), *options, stdout=out)
    return out.getvalue()


def listed(*options: str) -> str:
    out = io.StringIO()
    call_command("program_builds", *options, stdout=out)
    return out.getvalue()


# --- the shelf ------------------------------------------------------------------------------------


def test_builds_are_imported_listed_and_removed(tmp_path: Path) -> None:
    told = imported(tmp_path, PROGRAM, LOGS, "--from-slot", "10", "--to-slot", "19")
    assert f"build of {PROGRAM} from slot 10" in told
    assert imported(tmp_path, PROGRAM, LOGS, "--from-slot", "10", "--to-slot", "19") == told
    imported(tmp_path, PROGRAM, SUCCEEDS, "--from-slot", "20", "--loader", "final")
    first, second = sorted(listed().splitlines(), key=lambda line: "now" in line)
    assert "10 to 19" in first and "BPFLoaderUpgradeable" in first and "program.so" in first
    assert "20 to now" in second and "BPFLoader2" in second
    number = first.split()[0]
    assert listed("--remove", number) == "1 removed\n"
    assert first not in listed() and second in listed()
    with pytest.raises(CommandError, match="no such build"):
        listed("--remove", number)


@pytest.mark.parametrize(
    ("code", "options", "why"),
    [
        (b"text", ["--from-slot", "1"], "no ELF file"),
        (LOGS[:200], ["--from-slot", "1"], "the engine cannot load it"),
        (LOGS, ["--from-slot", "9", "--to-slot", "8"], "slot 8 lies before slot 9"),
        (LOGS, ["--from-slot", "-1"], "no slot"),
        (LOGS, ["--from-slot", "15"], "there is a build from slot 10 to 19"),
        (LOGS, ["--from-slot", "1", "--to-slot", "10"], "there is a build from slot 10 to 19"),
        (SUCCEEDS, ["--from-slot", "10", "--to-slot", "19"], "there is a build from slot 10 to 19"),
    ],
    ids=["text", "cut", "ends first", "negative", "inside", "reaches in", "other code"],
)
def test_what_is_no_build_of_those_slots_is_refused(
    tmp_path: Path, code: bytes, options: list[str], why: str
) -> None:
    imported(tmp_path, PROGRAM, LOGS, "--from-slot", "10", "--to-slot", "19")
    with pytest.raises(CommandError, match=why):
        imported(tmp_path, PROGRAM, code, *options)
    assert ProgramBuild.objects.count() == 1


def test_the_admin_shows_the_shelf_and_removes_from_it(admin_client: Any, tmp_path: Path) -> None:
    empty = admin_client.get(f"{SHELF}/").content.decode()
    assert "manage.py import_program" in empty
    imported(tmp_path, PROGRAM, LOGS, "--from-slot", "10", "--to-slot", "19")
    build = ProgramBuild.objects.get()
    page = admin_client.get(f"{SHELF}/").content.decode()
    assert str(PROGRAM) in page and "10 to 19" in page
    assert (
        bytes(build.digest).hex()
        in admin_client.get(f"{SHELF}/{build.pk}/change/").content.decode()
    )
    admin_client.post(f"{SHELF}/{build.pk}/delete/", {"post": "yes"})
    assert not ProgramBuild.objects.exists()
    assert AuditEntry.objects.filter(subject_type="rewind.programbuild").exists()


def test_who_may_only_look_removes_nothing(client: Any, tmp_path: Path) -> None:
    from django.contrib.auth.models import Permission

    imported(tmp_path, PROGRAM, LOGS, "--from-slot", "10")
    build = ProgramBuild.objects.get()
    looks = User.objects.create_user("looks", is_staff=True)
    looks.user_permissions.add(Permission.objects.get(codename="view_programbuild"))
    client.force_login(looks)
    assert client.get(f"{SHELF}/{build.pk}/change/").status_code == 200
    assert client.post(f"{SHELF}/{build.pk}/delete/", {"post": "yes"}).status_code == 403
    assert ProgramBuild.objects.exists()


# --- replays --------------------------------------------------------------------------------------


def test_a_program_without_a_record_is_taken_from_the_shelf(
    archived: LittleChain, rpc: Rpc, tmp_path: Path
) -> None:
    sent = archived.sent[1]
    record = recorded(sent.signatures[0])
    assert record is not None
    assert refused(rpc, sent, anchor=own_place(sent))["data"]["reason"] == "state_not_recorded"
    assert replay(record).verdict.reason == "program_build_unknown"
    imported(tmp_path, PROGRAM, RETURNS_DATA, "--from-slot", "1")
    assert replay(record).verdict.reason == "program_build_unknown"
    imported(tmp_path, FINAL, LOGS, "--from-slot", "2", "--to-slot", "2", "--loader", "final")
    value = simulated(rpc, sent, anchor=own_place(sent))
    assert (value["fidelity"], value["err"]) == ("verified", None)
    assert value["returnData"] is None and len(value["logs"]) > 4
    # Of other slots the shelf says nothing.
    assert refused(rpc, sent, slot=3)["data"]["reason"] == "state_not_recorded"


def test_a_build_of_another_time_diverges(archived: LittleChain, rpc: Rpc, tmp_path: Path) -> None:
    sent = archived.sent[1]
    imported(tmp_path, PROGRAM, RETURNS_DATA, "--from-slot", "1")
    imported(tmp_path, FINAL, fails_with(3), "--from-slot", "1", "--loader", "final")
    value = simulated(rpc, sent, anchor=own_place(sent))
    assert value["fidelity"] == "diverged" and "err" in value["fidelityFields"]


def test_the_archives_own_record_comes_before_the_shelf(
    chain: LittleChain, rpc: Rpc, tmp_path: Path
) -> None:
    """Slot 0 is what the chain began with."""
    stored(chain.records)
    for program, loader in ((PROGRAM, "upgradeable"), (FINAL, "final")):
        imported(tmp_path, program, fails_with(3), "--from-slot", "0", "--loader", loader)
    sent = chain.sent[1]
    assert simulated(rpc, sent, anchor=own_place(sent))["fidelity"] == "verified"


def test_a_record_that_came_by_no_transaction_comes_behind_the_shelf(
    chain: LittleChain, rpc: Rpc, tmp_path: Path
) -> None:
    """Such as today's build in an archive of old slots: no deployment put it there. On mainnet's
    old slots a difference is laid to it.
    """
    today = Account(10**9, SUCCEEDS, addresses.LOADER_2, True, 2**64 - 1)
    chain.records[1] = with_write(chain.records[1], FINAL, today)
    stored(chain.records[1:])
    imported(tmp_path, PROGRAM, RETURNS_DATA, "--from-slot", "1")
    sent = chain.sent[1]
    filters.apply_defaults(filters.MAINNET_GENESIS_HASH)
    value = simulated(rpc, sent, anchor=own_place(sent))
    assert (value["fidelity"], value["fidelityReason"]) == ("diverged", "program_build_unknown")
    imported(tmp_path, FINAL, LOGS, "--from-slot", "1", "--loader", "final")
    assert simulated(rpc, sent, anchor=own_place(sent))["fidelity"] == "verified"


def test_code_that_is_seen_later_tells_since_when_it_was_there(
    chain: LittleChain, rpc: Rpc
) -> None:
    """Its account says that it was deployed before the transaction: nothing changed it since."""
    given = upgradeable(PROGRAM, RETURNS_DATA, slot=0)
    only = chain.signed([call(PROGRAM)], chain.payers[0])
    for key in (PROGRAM, code_of(PROGRAM)):
        chain.records[3] = with_write(chain.records[3], key, given[key], by=chain.sent[2])
    stored(chain.records[1:])
    assert simulated(rpc, only, slot=1)["err"] is None
    assert simulated(rpc, only, slot=2)["returnData"] is not None


def test_code_that_was_deployed_later_tells_nothing(chain: LittleChain, rpc: Rpc) -> None:
    given = upgradeable(PROGRAM, RETURNS_DATA, slot=2)
    only = chain.signed([call(PROGRAM)], chain.payers[0])
    for key in (PROGRAM, code_of(PROGRAM)):
        chain.records[3] = with_write(chain.records[3], key, given[key], by=chain.sent[2])
    stored(chain.records[1:])
    assert refused(rpc, only, slot=1)["data"]["reason"] == "state_not_recorded"
