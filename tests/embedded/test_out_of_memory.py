"""Which process the kernel ends when no memory is left: not the one that restarts the others."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from embedded.addresses import postgres_folder
from embedded.processes import dies_with_parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has the score")

_READ = "from pathlib import Path; print(Path('/proc/self/oom_score_adj').read_text())"


def own_score(pid: int | str = "self") -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def test_a_program_is_chosen_before_its_supervisor() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _READ],
        preexec_fn=dies_with_parent(signal.SIGTERM),
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == min(1_000, own_score() + 200)


def test_a_server_is_chosen_after_programs_and_before_the_supervisor() -> None:
    (found,) = postgres_folder(Path(os.environ["TIDEMARK_RUN_DIR"])).rglob("postmaster.pid")
    pid = int(found.read_text().split()[0])
    assert psutil.pid_exists(pid)
    assert own_score() < own_score(pid) < min(1_000, own_score() + 200)
