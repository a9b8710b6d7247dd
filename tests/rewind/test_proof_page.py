"""docs/proof.md: the commands and the output that it shows are those of a real slot's check."""

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from rewind.management.commands.verify_proof import Command
from tests.chain.proofs import text
from tests.chain.recorded_proofs import recorded_proof, snapshot_path
from tests.chain.test_forgeries import ROWS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8").partition("## Check it without")[2]
FENCES = re.findall(r"^```(sh)?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
LINES = [line for kind, content in FENCES if kind for line in content.splitlines()]
(OUTPUT,) = (content for kind, content in FENCES if not kind and content.startswith("slot "))
(STAKES,) = (content for kind, content in FENCES if not kind and content.startswith("{"))


@pytest.fixture
def folder(fixtures: Path, tmp_path: Path) -> Path:
    (tmp_path / "proof.json").write_bytes(text(recorded_proof(fixtures, tmp_path)))
    return tmp_path


def test_the_commands_of_a_checkout(
    fixtures: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    out = io.StringIO()
    commands = [line for line in LINES if line.startswith("manage.py ")]
    assert len(commands) == 2
    for line in commands:
        before, _, file = line.replace("SNAPSHOT", str(snapshot_path(fixtures))).partition(" > ")
        out = io.StringIO()
        call_command(*shlex.split(before)[1:], stdout=out, stderr=io.StringIO())
        if file:
            Path(file).write_text(out.getvalue())
    assert out.getvalue() == OUTPUT


def test_the_commands_of_a_reader_elsewhere(fixtures: Path, folder: Path) -> None:
    commands = [line for line in LINES if line.startswith("PYTHONPATH=platform python ")]
    assert len(commands) == 2
    outputs = []
    for line in commands:
        own = line.replace("SNAPSHOT", str(snapshot_path(fixtures))).replace(
            "python", sys.executable
        )
        own = own.replace("PYTHONPATH=platform", f"PYTHONPATH={ROOT / 'platform'}")
        done = subprocess.run(own, shell=True, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs == ["", OUTPUT]


def test_the_file_of_stakes_is_one(folder: Path) -> None:
    json.loads(STAKES)
    (folder / "stakes.json").write_text(STAKES)
    call_command(
        "verify_proof", str(folder / "proof.json"), "--stakes", str(folder / "stakes.json")
    )


def test_the_exit_codes_and_the_count_of_forgeries() -> None:
    assert re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE) == ["0", "1", "2", "3", "4"]
    assert f"lists {len(ROWS)} forgeries" in " ".join(PAGE.split())
    assert all(f"with {code}" in Command.help or f"{code}:" in Command.help for code in "01234")
