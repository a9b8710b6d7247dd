"""make bench BASELINE=…: another checkout beside this one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.soak
_QUICK = {"STARTS": "2", "ROUNDS": "1", "SECONDS": "1", "CONNECTIONS": "1,4"}


def copied(folder: Path) -> Path:
    """This checkout at a place without real blocks beside it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def bench(checkout: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "benchmarks"],
        cwd=checkout,
        env={**os.environ, **_QUICK, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_both_are_measured_with_their_floors_on_a_chain_made_for_it(tmp_path: Path) -> None:
    checkout = copied(tmp_path / "deep" / "checkout")
    ended = bench(checkout, BASELINE=str(ROOT), ONLY="getSlot,random,accept", CLIENT="own")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "75,000 transactions of a made chain; load by benchmarks/load.py" in ended.stdout
    tables = ended.stdout.split("\n== ")[1:]
    assert [each.partition(":")[0] for each in tables] == ["getSlot", "random", "accept"]
    for table, floor in zip(tables, ("bare", "bare", "verifying"), strict=True):
        assert re.findall(r"^ *(\d) connections: .* -> .*/s: x\d", table, re.MULTILINE) == [*"14"]
        assert f"floor, {floor}:" in table
        assert "CPython" in table and "load average" in table


def test_a_table_that_fails_is_named_and_the_others_are_taken(tmp_path: Path) -> None:
    """The other checkout has no fates."""
    other = copied(tmp_path / "checkout")
    urls = other / "priority" / "urls.py"
    text = urls.read_text(encoding="utf-8")
    urls.write_text(text.replace("priority/fate/", "priority/nothing/"), encoding="utf-8")
    ended = bench(ROOT, BASELINE=str(other), ONLY="getSlot,fate", CLIENT="own")
    assert ended.returncode == 1
    assert "\n== getSlot" in ended.stdout
    assert "\nFAILED: fate: RuntimeError" in ended.stdout
