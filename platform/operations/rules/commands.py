"""Lines for a shell on the server that help with an alarm."""

import os
import shlex
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from embedded.run_state import ProgramState, read_run_state

MANAGE = ".venv/bin/python manage.py"


class Command(NamedTuple):
    """A line for a shell on the server, and what it does."""

    line: str
    effect: str = ""


DOCTOR = Command(f"{MANAGE} doctor", "Examines it, and says what is wrong.")
_MEMORY = Command("free -h", "How much memory is free.")


def of_process(kind: str) -> list[Command]:
    """What brings it back, under the supervisor that runs it."""
    run = read_run_state(Path(settings.RUN_DIR))
    program = None if run is None else (run.programs | run.servers).get(kind)
    if program is not None:
        return _supervised(program)
    if "INVOCATION_ID" in os.environ:  # systemd's
        unit = f"tidemark-{kind}"
        return [
            Command(f"systemctl restart {unit}"),
            Command(f"journalctl -u {unit} -n 50 --no-pager", "Its last lines."),
            DOCTOR,
        ]
    line = _procfile().get(kind)
    return [] if line is None else [Command(line, "Runs it here, until Ctrl-C.")]


def _supervised(program: ProgramState) -> list[Command]:
    """`make run` starts an ended one by itself, and a hung one after 20 s. What restarts did not
    help needs a look at the machine.
    """
    looks = [] if not program.restarts_lately else [DOCTOR, _MEMORY, _space()]
    if program.pid is None or program.state == "restarting":
        run = Command("make run", "It is being restarted. If that fails: Ctrl-C, then this.")
        return [*looks, run]
    again = "Ends it: `make run` starts it again within seconds, as it does itself after 20 s."
    if looks:
        again += " That has not helped so far: Ctrl-C of `make run`, then `make run`, restarts all."
    return [*looks, Command(f"kill -KILL {program.pid}", again)]


def _space() -> Command:
    run_dir = shlex.quote(str(settings.RUN_DIR))
    return Command(f"df -h {run_dir}", "How much of the disk is free.")


def _procfile() -> dict[str, str]:
    """The command of each process."""
    lines = (Path(settings.ROOT) / "Procfile").read_text().splitlines()
    parts = (line.partition(": ") for line in lines if ": " in line)
    return {name: f".venv/bin/{command}" for name, _, command in parts if not name.startswith("#")}
