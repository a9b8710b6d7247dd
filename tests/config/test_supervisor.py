"""The supervisor's watchdog, on real processes that are stopped."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from config.output.log_output import LogOutput
from embedded.run_state import ProgramState, read_run_state
from tests.patience import PATIENCE_SECONDS

SHELF = Path(__file__).resolve().parent.parent.parent / "platform"

# `reports` reports progress four times a second, others once a file says that they have loaded.
_PROGRAM = """
import sys, time
from pathlib import Path
from embedded.notify import progress
while True:
    if sys.argv[1] == "reports" or Path(__file__).with_name(sys.argv[1] + ".loaded").exists():
        progress()
    time.sleep(0.25)
"""

_SUPERVISE = """
import json, os, sys
from pathlib import Path
from config.running.supervisor import supervise
from config.running.watchdog import Patience
from embedded.servers import Servers
supervise(
    Path(sys.argv[1]),
    environment=dict(os.environ),
    servers=Servers(Path(sys.argv[2])),
    on_tick=lambda: None,
    expected=frozenset(json.loads(sys.argv[3])),
    patience=Patience(silent=2.0, start=float(sys.argv[4])),
)
"""


@dataclass
class Supervised:
    """A supervisor of a few programs, in a process of its own."""

    run_dir: Path
    process: "subprocess.Popen[str]"

    def programs(self) -> dict[str, ProgramState]:
        state = read_run_state(self.run_dir)
        return {} if state is None else state.programs

    def until(self, is_so: Callable[[dict[str, ProgramState]], bool]) -> dict[str, ProgramState]:
        """The programs, as soon as it is so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = self.programs()
            if found and is_so(found):
                return found
            assert self.process.poll() is None and time.monotonic() < deadline, found
            time.sleep(0.05)

    def until_said(self, words: str) -> None:
        """A thread of the supervisor writes its lines, a moment later."""
        self.until(lambda _: bool(re.search(words, (self.run_dir / "output").read_text())))


Supervise = Callable[..., Supervised]


@pytest.fixture(params=["short", "deep"])
def run_dir(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A socket's path has 107 bytes at most."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-supervisor-"))
    run = folder / ("d" * 100 if request.param == "deep" else "run")
    run.mkdir()
    yield run
    shutil.rmtree(folder)


@pytest.fixture
def supervise(run_dir: Path) -> Iterator[Supervise]:
    started: list[Supervised] = []

    def start(
        *programs: str, expected: tuple[str, ...] = (), start_seconds: float = 60
    ) -> Supervised:
        (run_dir / "program.py").write_text(_PROGRAM)
        procfile = run_dir / "Procfile"
        lines = [f"{name}: {sys.executable} {run_dir}/program.py {name}\n" for name in programs]
        procfile.write_text("".join(lines))
        words = [str(procfile), str(run_dir), json.dumps(expected), str(start_seconds)]
        with (run_dir / "output").open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", _SUPERVISE, *words],
                env={**os.environ, "PYTHONPATH": str(SHELF), "PYTHONUNBUFFERED": "1"},
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        started.append(Supervised(run_dir, process))
        return started[-1]

    yield start
    for each in started:
        each.process.send_signal(signal.SIGTERM)
        each.process.wait(timeout=PATIENCE_SECONDS)


def test_a_stopped_program_is_called_hung_killed_and_started_again(supervise: Supervise) -> None:
    run = supervise("reports", "silent")
    before = run.until(lambda found: found["reports"].state == "running")["reports"]
    assert before.pid is not None and (before.restarts, before.restarts_lately) == (0, 0)
    os.kill(before.pid, signal.SIGSTOP)
    after = run.until(lambda found: found["reports"].restarts == 1)["reports"]
    assert after.restarts_lately == 1
    assert after.pid != before.pid and not psutil.pid_exists(before.pid)
    run.until(lambda found: found["reports"].state == "running")
    run.until_said(rf"reports makes no progress for 2 s \(process {before.pid}, stopped\): killed")
    run.until_said(r"reports ended \(signal SIGKILL\); starts again in 1 s")
    # Nobody has said that it reports progress, and it never did: it is left alone.
    assert run.programs()["silent"].state == "unwatched"
    assert run.programs()["silent"].restarts == 0


def test_a_program_that_must_report_progress_has_its_time_to_start(supervise: Supervise) -> None:
    run = supervise("silent", expected=("silent",), start_seconds=3)
    first = run.until(lambda found: found["silent"].state == "starting")["silent"]
    run.until(lambda found: found["silent"].restarts >= 1)
    # A busy machine may catch it while it runs; a process that sleeps is the common case.
    run.until_said(rf"silent makes no progress for 3 s \(process {first.pid}, [a-z-]+\): killed")


def test_what_a_supervisor_leaves_behind_is_not_taken_for_a_run(
    supervise: Supervise, run_dir: Path
) -> None:
    run = supervise("reports")
    run.until(lambda found: found["reports"].state == "running")
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait(timeout=PATIENCE_SECONDS) == 0
    assert read_run_state(run_dir) is None
    assert list((run_dir / "notify").iterdir()) == []


def _supervise_into(run_dir: Path, output: int) -> None:
    """A supervisor whose output goes there starts a program that died again, and stops in order."""
    (run_dir / "program.py").write_text(_PROGRAM)
    procfile = run_dir / "Procfile"
    procfile.write_text(f"reports: {sys.executable} {run_dir}/program.py reports\n")
    process = subprocess.Popen(
        [sys.executable, "-c", _SUPERVISE, str(procfile), str(run_dir), "[]", "60"],
        env={**os.environ, "PYTHONPATH": str(SHELF)},
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    )
    run = Supervised(run_dir, process)
    try:
        first = run.until(lambda found: found["reports"].state == "running")["reports"]
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)
        run.until(lambda found: found["reports"].pid not in (None, first.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("run_dir", ["short"], indirect=True)
def test_a_full_disk_under_its_output_ends_nothing(run_dir: Path) -> None:
    with Path("/dev/full").open("w") as full:
        _supervise_into(run_dir, full.fileno())


@pytest.mark.parametrize("run_dir", ["short"], indirect=True)
def test_a_reader_that_does_not_read_delays_nothing(run_dir: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, bytes(4_096))
        os.set_blocking(writing, True)
        _supervise_into(run_dir, writing)
    finally:
        os.close(reading)
        os.close(writing)


def test_lost_lines_are_counted_once_lines_can_be_written_again(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full, (tmp_path / "log").open("w") as log:
        descriptor = os.dup(full.fileno())
        output = LogOutput(descriptor)
        for _ in range(3):
            print("lost", file=output, flush=True)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while output._dropped < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.dup2(log.fileno(), descriptor)
        print("there again", file=output, flush=True)
        output.finish()
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == ["3 lines of output were lost: No space left on device", "there again"]


def test_where_cores_are_busy_the_follower_goes_before_the_lander(supervise: Supervise) -> None:
    supervised = supervise("follower", "lander", "worker", "other")
    running = supervised.until(lambda found: all(each.pid for each in found.values()))
    own = psutil.Process(supervised.process.pid).nice()

    def nice_values() -> list[int]:
        return [psutil.Process(running[name].pid).nice() - own for name in running]

    supervised.until(lambda _: nice_values() == [0, 3, 7, 0])
    # And among sessions, where Linux shares the cores among these first.
    groups = [Path(f"/proc/{running[name].pid}/autogroup") for name in ("follower", "lander")]
    if all(group.exists() for group in groups):
        supervised.until(lambda _: [each.read_text().split()[-1] for each in groups] == ["0", "3"])


def test_a_program_has_its_share_of_the_cores_until_it_has_loaded(supervise: Supervise) -> None:
    supervised = supervise("simulations", "worker", expected=("simulations",))
    running = supervised.until(lambda found: all(each.pid for each in found.values()))
    own = psutil.Process(supervised.process.pid).nice()

    def nice_values() -> list[int]:
        return [psutil.Process(running[name].pid).nice() - own for name in running]

    # Of a worker of somebody else's nobody knows when it has loaded.
    supervised.until(lambda _: nice_values()[1] == 7)
    assert nice_values() == [0, 7]
    (supervised.run_dir / "simulations.loaded").touch()
    # Linux has no more than 19.
    supervised.until(lambda _: nice_values() == [min(10, 19 - own), 7])
