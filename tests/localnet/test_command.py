"""The localnet command's options: accounts, programs and clones, where a chain begins, its pace."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from localnet.account_files import BadAccountFile, account_at
from localnet.cloning import CloneFailed, clone, cluster_url
from localnet.program_files import BadProgram, program_accounts
from simulator import defaults
from tests.localnet.wallets import SOL, done, wallet
from tests.localnet_process import Localnet, new_localnet

MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
CONFIRMED = {"commitment": "confirmed"}
OURS, FILES_OWN = Pubkey.new_unique(), Pubkey.new_unique()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An account's file, and a program's with a keypair for it."""
    folder = tmp_path_factory.mktemp("files")
    account = {
        "lamports": 3 * SOL,
        "data": ["aGVsbG8=", "base64"],
        "owner": str(Pubkey.default()),
        "executable": False,
        "rentEpoch": 361,
    }
    (folder / "account.json").write_text(json.dumps({"pubkey": str(FILES_OWN), "account": account}))
    (folder / "memo.so").write_bytes(memo_code())
    (folder / "keypair.json").write_text(Keypair().to_json())
    (folder / "text.so").write_text("no ELF")
    return folder


def memo_code() -> bytes:
    found = defaults.programs()[MEMO].data
    at = found.find(b"\x7fELF")
    if at < 0:
        code = Pubkey.from_bytes(found[4:36])
        found = defaults.programs()[code].data
        at = found.find(b"\x7fELF")
    return bytes(found[at:])


@pytest.fixture(scope="module")
def given(files: Path, localnet: Localnet) -> Iterator[tuple[Localnet, Keypair, Pubkey]]:
    """A chain with all of it: a wallet and a program are cloned from the other localnet."""
    owner = wallet(localnet, 7 * SOL)
    localnet.wait_for_slot(localnet.call("getSlot", {"commitment": "processed"}))
    program = Pubkey.new_unique()
    with new_localnet() as running:
        running.start(
            "--account",
            str(OURS),
            str(files / "account.json"),
            "--account",
            "-",
            str(files / "account.json"),
            "--bpf-program",
            str(program),
            str(files / "memo.so"),
            "--bpf-program",
            str(files / "keypair.json"),
            str(files / "memo.so"),
            "--clone",
            str(owner.pubkey()),
            "--url",
            localnet.url,
            "--clone-upgradeable-program",
            TOKEN_2022,
            "--slots-per-epoch",
            "100",
            "--ticks-per-slot",
            "4",
            "--warp-slot",
            "1234567",
            "--quiet",
        )
        yield running, owner, program


def test_a_chain_has_what_it_was_given(
    given: tuple[Localnet, Keypair, Pubkey], files: Path
) -> None:
    running, owner, program = given
    for key in (OURS, FILES_OWN):
        shown = running.call("getAccountInfo", str(key), {"encoding": "base64"})["value"]
        assert (shown["lamports"], shown["rentEpoch"]) == (3 * SOL, 361)
        assert shown["data"] == ["aGVsbG8=", "base64"]
    # But for the fees of other tests.
    assert 7 * SOL - 100_000 < running.call("getBalance", str(owner.pubkey()))["value"] <= 7 * SOL
    running.wait_for_slot(1_234_567)  # what is deployed in slot 0 is called in a later one
    second = Keypair.from_json((files / "keypair.json").read_text()).pubkey()
    for address in (program, second):
        done(running, [Instruction(address, b"hello", [])], owner)
    shown = running.call("getAccountInfo", str(program), {"encoding": "jsonParsed"})["value"]
    assert shown["executable"] and shown["data"]["parsed"]["type"] == "program"
    assert running.call("getAccountInfo", TOKEN_2022)["value"]["executable"]


def test_a_chain_begins_where_and_goes_as_fast_as_it_was_told(
    given: tuple[Localnet, Keypair, Pubkey],
) -> None:
    running, *_ = given
    running.wait_for_slot(1_234_567)
    (first,) = running.call("getBlocksWithLimit", 1, 1)
    assert first == 1_234_567
    assert running.call("getEpochInfo")["slotsInEpoch"] == 100
    assert " INFO " not in running.output and "JSON-RPC on" not in running.output


def test_the_clock_is_set_and_goes_on_after_a_restart(
    given: tuple[Localnet, Keypair, Pubkey],
) -> None:
    running, *_ = given
    now = running.call("getClock")
    assert now["offsetSeconds"] == 0
    late = now["unixTimestamp"] + 86_400 * 365
    assert running.call("setClock", {"unixTimestamp": late})["unixTimestamp"] < late
    running.wait(lambda: running.call("getClock")["unixTimestamp"] >= late, "there")
    slot = running.wait_for_slot(running.call("getSlot", {"commitment": "processed"}) + 1)
    assert running.call("getBlockTime", slot) >= late
    for wrong in (late - 86_400, 10**12):
        error = running.answer("setClock", {"unixTimestamp": wrong})["error"]
        assert error["code"] == -32602 and error["message"].startswith("unixTimestamp: expected ")
    assert running.answer("setClock", {"unixTime": late})["error"]["code"] == -32602
    running.stop()
    running.start("--quiet")
    assert running.call("getClock")["unixTimestamp"] >= late
    assert 86_300 * 365 < running.call("getClock")["offsetSeconds"] <= 86_400 * 365 + 1


def test_the_chain_jumps_to_slots_and_epochs(given: tuple[Localnet, Keypair, Pubkey]) -> None:
    running, owner, _ = given
    assert running.call("warpToSlot", 300_000_005) == {"epoch": 3_000_000, "slot": 300_000_005}
    running.wait_for_slot(300_000_005)
    warped = running.call("warpToEpoch", 4_000_000)
    assert warped == {"epoch": 4_000_000, "slot": 400_000_000}
    running.wait_for_slot(400_000_000)
    assert running.call("getEpochInfo")["epoch"] == 4_000_000
    done(running, [Instruction(MEMO, b"still here", [])], owner)
    # What is counted slot by slot ends where a validator's memory does.
    made = running.call("getBlockProduction")["value"]["range"]
    assert made["firstSlot"] == 400_000_000 <= made["lastSlot"]
    error = running.answer("getBlockProduction", {"range": {"firstSlot": 0}})["error"]
    assert error["message"].startswith("firstSlot, 0, is too small; min 39")
    for sample in running.call("getRecentPerformanceSamples"):
        assert sample["numSlots"] < 600
    for wrong, text in (
        (5, "cannot warp to slot 5: the chain's next free slot is "),
        (2**63, f"cannot warp to slot {2**63}: the highest is "),
    ):
        error = running.answer("warpToSlot", wrong)["error"]
        assert error["code"] == -32602 and error["message"].startswith(text)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--clone", "x", "--url", "http://127.0.0.1:1"], "--clone x: not an address"),
        (["--clone", str(OURS)], "--url is missing"),
        (["--clone", str(OURS), "--url", "ftp://x"], "expected an http or https URL"),
        (["--clone", str(OURS), "--url", "http://127.0.0.1:1"], "127.0.0.1"),
        (["--account", "x", "{files}/account.json"], "x: not an address"),
        (["--account", "-", "{files}/none.json"], "none.json"),
        (["--bpf-program", "x", "{files}/memo.so"], "neither an address nor"),
        (["--bpf-program", str(OURS), "{files}/text.so"], "text.so: "),
        (["--slots-per-epoch", "31"], "expected 32 to "),
        (["--ticks-per-slot", "0"], "expected 1 to "),
        (["--ticks-per-slot", "8", "--slot-ms", "40"], "not allowed with"),
        (["--warp-slot", "-1"], "expected "),
    ],
)
def test_bad_options_are_refused_with_the_reason(
    files: Path, arguments: list[str], text: str
) -> None:
    with pytest.raises(CommandError, match=text):
        call_command("localnet", *(each.format(files=files) for each in arguments))


def test_an_account_that_is_not_there_is_not_cloned(localnet: Localnet) -> None:
    key = str(Pubkey.new_unique())
    with pytest.raises(CloneFailed, match=f"{key}: no such account"):
        clone([key], localnet.url)
    with pytest.raises(CloneFailed, match="a sysvar"):
        clone(["SysvarC1ock11111111111111111111111111111111"], localnet.url)
    assert clone([], localnet.url) == {}
    assert cluster_url("d") == cluster_url("devnet") == "https://api.devnet.solana.com"


def test_an_existing_chain_must_be_the_one_that_is_described(tmp_path: Path) -> None:
    with new_localnet() as running:
        running.start("--slots-per-epoch", "64", "--warp-slot", "500")
        running.wait_for_slot(500)
        running.stop()
        for arguments, text in (
            (["--slots-per-epoch", "65"], "the chain's epochs have 64 slots, not 65"),
            (["--warp-slot", "9"], "cannot warp to slot 9"),
        ):
            with pytest.raises(AssertionError, match=text):
                running.start(*arguments)
        running.start("--slots-per-epoch", "65", "--reset")
        assert running.call("getEpochInfo")["slotsInEpoch"] == 65


def test_files_that_are_no_accounts_or_programs_say_so(files: Path) -> None:
    with pytest.raises(BadAccountFile):
        account_at("-", files / "keypair.json")
    with pytest.raises(BadProgram):
        program_accounts(str(files / "account.json"), files / "memo.so")
    made: dict[Any, Any] = program_accounts(str(OURS), files / "memo.so")
    assert [account.executable for account in made.values()] == [False, True]
