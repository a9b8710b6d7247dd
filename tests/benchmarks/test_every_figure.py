"""docs/benchmarks.md and make bench name the same: what a page claims, a command takes."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# What parts start.
_PROCESSES = {"stream_source"}
_PAGE = ROOT / "docs" / "benchmarks.md"
_COMMAND = r"python -m benchmarks\.\w+|make (soak|run|test|bench)|by hand"


@functools.cache
def parts() -> set[str]:
    """What make bench runs."""
    code = "from benchmarks.__main__ import PARTS; print(*PARTS)"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(found.stdout.split())


def named(page: Path) -> set[str]:
    return set(re.findall(r"python -m benchmarks\.(\w+)", page.read_text(encoding="utf-8")))


def test_every_benchmark_that_a_page_names_is_run() -> None:
    # A peer is measured when one is given.
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        assert named(page) <= parts() | {"peer"}, page


def test_every_benchmark_is_run_and_has_its_figures_on_the_page() -> None:
    commands = {
        file.stem
        for file in (ROOT / "benchmarks").glob("*.py")
        if file.stem != "__main__" and '__name__ == "__main__"' in file.read_text(encoding="utf-8")
    }
    assert commands - _PROCESSES == parts() | {"peer"}
    assert named(_PAGE) == parts() | {"peer"}


def test_every_section_of_figures_says_how_they_were_taken() -> None:
    _, *sections = re.split(r"^## ", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(sections) > 10
    for section in sections:
        heading = section.partition("\n")[0]
        assert re.search(_COMMAND, section), heading


def test_every_figure_has_the_command_that_takes_it_again() -> None:
    tables = re.findall(r"^(\|.*command \|\n(?:\|.*\|\n)+)", _PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(tables) > 10
    for head, _, *rows in (table.splitlines() for table in tables):
        for row in rows:
            assert row.count("|") == head.count("|"), row
            command = row.split("|")[-2]
            assert re.search(_COMMAND, command), f"{row}: say in its last cell how it is taken"


def test_the_page_is_one_of_todays_figures() -> None:
    lines = _PAGE.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 230, "replace a figure by its newer one; Git has the former"


def bench(**environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "benchmarks"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, "engine, endpoint"), ({"BASELINE": str(ROOT)}, "read, getSlot, block")],
)
def test_a_part_that_is_none_is_refused_with_those_that_are(
    environment: dict[str, str], expected: str
) -> None:
    ended = bench(ONLY="nonsense", **environment)
    assert ended.returncode == 1
    assert f"ONLY=nonsense: expected some of {expected}" in ended.stderr


def test_a_failing_part_is_named_and_fails_the_run() -> None:
    # No peer listens on that port.
    ended = bench(PEER="http://127.0.0.1:1", ROUNDS="1")
    assert ended.returncode == 1
    assert "=== peer" in ended.stdout and "FAILED with 1" in ended.stdout
    assert ended.stderr.endswith("FAILED: peer\n")
