"""Commands that the tests fork: they read what their environment says, as executed ones do."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil

from tests import forked_commands
from tests.patience import wait

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    file
    for name in ("platform", "priority", "rewind", "historical", "tipping")
    for file in (ROOT / name).rglob("*.py")
]
_READ_AT_IMPORT = re.compile(r"^[A-Z][A-Z_0-9]* = .*\benv\.[a-z_]+\(", re.MULTILINE)
_SET_AT_IMPORT = re.compile(r"^os\.environ(?:\.setdefault\(|\[)\"([A-Z_]+)", re.MULTILINE)


def test_each_module_that_reads_the_environment_is_read_anew() -> None:
    found = {
        ".".join(file.relative_to(ROOT / "platform").with_suffix("").parts)
        for file in SOURCES
        if _READ_AT_IMPORT.search(file.read_text())
    }
    assert found == set(forked_commands.OF_THE_ENVIRONMENT)


def test_what_modules_set_in_the_environment_stays_set() -> None:
    found = {name for file in SOURCES for name in _SET_AT_IMPORT.findall(file.read_text())}
    assert found - {"DJANGO_SETTINGS_MODULE"} == set(forked_commands.SET_AT_IMPORT)


def test_its_output_errors_and_status_are_its_own(tmp_path: Path) -> None:
    environment = {**os.environ, "TIDEMARK_RUN_DIR": str(tmp_path)}
    done = forked_commands.run(["localnet", "--help"], environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--slot-ms" in done.stdout
    refused = forked_commands.run(["no_such_command"], environment=environment)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Unknown command" in refused.stderr


def test_it_ends_by_a_signal() -> None:
    process = forked_commands.start(["shell"], environment=os.environ)
    assert process.poll() is None
    process.kill()
    assert process.finish(60) == "" and process.returncode == -9


def test_what_another_process_asked_for_ends_with_it_alone(tmp_path: Path) -> None:
    environment = {**os.environ, "TIDEMARK_RUN_DIR": str(tmp_path)}
    sleep = ["shell", "-c", "import time; time.sleep(600)"]
    ours = forked_commands.start(sleep, environment=environment)
    code = (
        "import os; from tests import forked_commands;"
        f"print(forked_commands.start({sleep}, environment=os.environ).pid)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    theirs = int(said.stdout)
    wait(lambda: not psutil.pid_exists(theirs), "its command is gone")
    assert ours.poll() is None
    ours.kill()
    assert ours.wait(60) == -9
