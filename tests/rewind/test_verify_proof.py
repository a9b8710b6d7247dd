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

from tests.chain.proofs import ACCOUNTS, chain, text

ROOT = Path(__file__).resolve().parents[2]
(ONE,) = chain([5])


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


def test_a_slot_that_the_stake_voted_for(tmp_path):
    code, said = run(tmp_path, ONE)
    assert code == 0
    assert said.splitlines() == [
        f"slot 5: bank hash {ONE['bankHash']}",
        "checked: the checksum of each lattice hash, and each bank's hash from its parts",
        "checked: 4 votes for the bank of slot 5, each signed, of an account of its own",
        "stake: 100 of 100 lamports voted for it, 100.00%",
        "believed: the stakes of epoch 0, as the document has them: give your own with --stakes",
        "believed: that the voters named may vote for their accounts in that epoch",
        "not shown here: that an archive has these accounts. All of them, summed up, make the"
        " lattice hash",
    ]


def test_a_chain_of_slots(tmp_path):
    documents = chain([5, 6, 9])
    code, said = run(tmp_path, [{**each, "votes": []} for each in documents[:-1]] + documents[-1:])
    assert (code, said.splitlines()[0]) == (
        *(0, f"3 slots, 5 to 9: bank hash {documents[-1]['bankHash']}"),
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
            {**ONE, "votes": ONE["votes"][1:]},
            3,
            "no more than two thirds of the stake",
        ),
        ({**ONE, "totalStake": None}, 3, "4 accounts voted; how much stake is not known"),
        (
            [chain([5, 6])[0], {**chain([5, 6])[1], "votes": []}],
            *(3, "the votes cover the slots up to 5 alone"),
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


def test_stakes_of_ones_own(tmp_path):
    stakes = tmp_path / "stakes.json"
    stakes.write_bytes(text({str(ACCOUNTS[3]): 1, str(ACCOUNTS[0]): 5}))
    code, said = run(tmp_path, ONE, "--stakes", str(stakes))
    assert code == 0
    assert "stake: 6 of 6 lamports voted for it, 100.00%" in said
    stakes.write_bytes(b"[]")
    assert run(tmp_path, ONE, "--stakes", str(stakes))[0] == 2


def test_no_service_is_needed():
    """A process of its own, whose database and Redis are nowhere."""
    nowhere = {
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing",
        "REDIS_URL": "redis://127.0.0.1:9/0",
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_proof", "-"],
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


@pytest.mark.parametrize(("document", "code"), [(ONE, 0), ({**ONE, "votes": []}, 3), ({}, 2)])
def test_a_stranger_needs_five_packages_alone(tmp_path, document, code):
    """From another folder, with nothing else of what this service has installed."""
    only = tmp_path / "packages"
    only.mkdir()
    for name in PACKAGES:
        origin = Path(str(getattr(importlib.util.find_spec(name), "origin", None)))
        found = origin.parent if origin.name == "__init__.py" else origin
        (only / found.name).symlink_to(found)
        libraries = found.parent / f"{name}.libs"
        if libraries.exists():
            (only / libraries.name).symlink_to(libraries)
    done = subprocess.run(
        [sys.executable, "-S", "-m", "chain.verify_proof", "-"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT / 'platform'}:{only}"},
        input=text(document),
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if not code:
        assert done.stdout.startswith(b"slot 5: bank hash ")
