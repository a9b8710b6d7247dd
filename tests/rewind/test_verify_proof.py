"""manage.py verify_proof: what it prints, its exit codes, and that it needs no service."""

import importlib.util
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.chain.proofs import ACCOUNTS, chain, electorate, text

ROOT = Path(__file__).resolve().parents[2]
(ONE,) = chain([5])
MINE = electorate(firstSlot=0, lastSlot=31)


@pytest.fixture
def stakes(tmp_path: Path) -> Path:
    path = tmp_path / "stakes.json"
    path.write_bytes(text(MINE))
    return path


def run(folder: Path, document: Any, *options: str) -> tuple[int, str]:
    """The exit code, and what is printed and said."""
    path = folder / "proof.json"
    path.write_bytes(document if isinstance(document, bytes) else text(document))
    out = io.StringIO()
    try:
        call_command("verify_proof", str(path), *options, stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue() + str(error)
    return 0, out.getvalue()


def test_a_slot_that_the_stake_voted_for(tmp_path, stakes):
    code, said = run(tmp_path, ONE, "--stakes", str(stakes))
    assert code == 0
    assert said.splitlines() == [
        f"slot 5: bank hash {ONE['bankHash']}",
        "checked: the checksum of each lattice hash, and each bank's hash from its parts",
        "checked: 4 votes for the bank of slot 5, each signed, of an account of its own",
        "stake: 100 of 100 lamports voted for it, 100.00%",
        "trusted: that the stakes and voters given are those of epoch 0",
        "not shown here: whether the votes' transactions landed and succeeded: their signatures"
        " count",
        "not shown here: that an archive has these accounts. All of them, summed up, make the"
        " lattice hash",
    ]


def test_the_documents_own_word_has_an_exit_code_of_its_own(tmp_path, stakes):
    code, said = run(tmp_path, ONE)
    assert code == 4
    assert said.splitlines()[4:7] == [
        "trusted: the stakes of epoch 0, as the document has them: give your own with --stakes",
        "trusted: that the voters named may vote for their accounts in that epoch",
        "trusted: the epoch of slot 5: no hash covers it",
    ]
    assert said.endswith(
        "all holds, by the document's own word: it names the stakes and voters itself; give those"
        " that you trust with --stakes"
    )
    stakes.write_bytes(text({str(account): 1 for account in ACCOUNTS}))
    code, said = run(tmp_path, ONE, "--stakes", str(stakes))
    assert code == 4
    assert said.endswith("the stakes given name no voters, so its maker chose who may sign")


def test_a_chain_of_slots(tmp_path, stakes):
    documents = chain([5, 6, 9])
    quiet = [{**each, "votes": []} for each in documents[:-1]]
    code, said = run(tmp_path, quiet + documents[-1:], "--stakes", str(stakes))
    assert (code, said.splitlines()[0]) == (
        0,
        f"3 slots, 5 to 9: bank hash {documents[-1]['bankHash']}",
    )
    assert "checked: each bank has the hash of the one before it" in said


@pytest.mark.parametrize(
    ("document", "code", "reason"),
    [
        ({**ONE, "signatureCount": 1}, 1, "it proves nothing: slot 5: its parts make the bank"),
        (b"{", 2, "$: no JSON"),
        ({**ONE, "slot": "x"}, 2, "$.slot: Expected `int`, got `str`"),
        ({**ONE, "votes": []}, 3, "all holds, and no vote is in it"),
        (
            {**ONE, "votes": [], "votedThrough": 9},
            3,
            "too few voted for these slots: votes for slot 9 settle them, and the documents of the"
            ' slots above 5 up to it are missing; getSlotProof with {"chain": true} has them',
        ),
        (
            {**ONE, "votes": ONE["votes"][1:]},
            3,
            "no more than two thirds of the stake",
        ),
        ({**ONE, "totalStake": None}, 3, "4 accounts voted; how much stake is not known"),
        (
            [chain([5, 6])[0], {**chain([5, 6])[1], "votes": []}],
            3,
            "the votes cover the slots up to 5 alone",
        ),
    ],
)
def test_the_exit_code_says_what_is_wrong(tmp_path, document, code, reason):
    found, said = run(tmp_path, document)
    assert (found, reason in said) == (code, True), said


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CommandError, match="No such file") as refusal:
        call_command("verify_proof", str(tmp_path / "absent.json"))
    assert refusal.value.returncode == 2


def test_stakes_of_ones_own(tmp_path, stakes):
    given = {key: MINE["stakes"][key] for key in map(str, (ACCOUNTS[0], ACCOUNTS[3]))}
    stakes.write_bytes(text({**MINE, "stakes": given}))
    code, said = run(tmp_path, ONE, "--stakes", str(stakes))
    assert code == 0
    assert "stake: 50 of 50 lamports voted for it, 100.00%" in said
    assert "not counted: 2 votes, of accounts without stake or not signed by their voter" in said
    stakes.write_bytes(b"[]")
    assert run(tmp_path, ONE, "--stakes", str(stakes))[0] == 2


def test_stakes_of_another_epoch_are_refused(tmp_path, stakes):
    stakes.write_bytes(text(electorate(1, firstSlot=32, lastSlot=63)))
    code, said = run(tmp_path, ONE, "--stakes", str(stakes))
    assert (code, said) == (
        2,
        f"{stakes}: the stakes given are those of epoch 1 (slots 32 to 63); slot 5 is said to be in"
        " epoch 0: give those of its epoch",
    )


def test_no_service_is_needed(stakes):
    """A process of its own, whose database and Redis are nowhere."""
    nowhere = {
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing",
        "REDIS_URL": "redis://127.0.0.1:9/0",
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_proof", "-", "--stakes", str(stakes)],
        cwd=ROOT,
        env=nowhere,
        input=text(ONE),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"slot 5: bank hash ")


# The last two are what solders needs.
PACKAGES = ("blake3", "msgspec", "numpy", "solders", "zstandard", "jsonalias", "typing_extensions")


def alone(folder: Path, *command: str, content: bytes) -> subprocess.CompletedProcess[bytes]:
    """A module as a process in another folder, with nothing else that this service installs."""
    only = folder / "packages"
    only.mkdir(exist_ok=True)
    for name in PACKAGES:
        origin = Path(str(getattr(importlib.util.find_spec(name), "origin", None)))
        found = origin.parent if origin.name == "__init__.py" else origin
        libraries = found.parent / f"{name}.libs"
        for each in (found, libraries):
            if each.exists() and not (only / each.name).exists():
                (only / each.name).symlink_to(each)
    return subprocess.run(
        [sys.executable, "-S", "-m", *command],
        cwd=folder,
        env={"PYTHONPATH": f"{ROOT / 'platform'}:{only}"},
        input=content,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize(("document", "code"), [(ONE, 0), ({**ONE, "votes": []}, 3), ({}, 2)])
def test_a_reader_needs_five_packages_alone(tmp_path, stakes, document, code):
    command = ("chain.verify_proof", "-", "--stakes", str(stakes))
    done = alone(tmp_path, *command, content=text(document))
    assert done.returncode == code, done.stderr
    if not code:
        assert done.stdout.startswith(b"slot 5: bank hash ")
