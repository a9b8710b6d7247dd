"""The state of a run's programs, written by the supervisor: readable without Redis."""

import contextlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "processes.json"
# The supervisor writes several times a second; older than this it is not running.
_FRESH_SECONDS = 5.0
# Rewritten in place, so that it needs no new room on a full disk.
_BYTES = 16_384
_TRIES = 5
# Restarts within this time are counted as of late.
LATELY_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class ProgramState:
    """One program. `state` is `starting`, `running`, `hung` (it makes no progress), `restarting`
    or `unwatched` (it runs and has never reported progress). `silent_seconds` is how long it has
    made none, `since` when it was started (Unix seconds), `restarts` how often it was again, of
    these `restarts_lately` within LATELY_SECONDS.
    """

    name: str
    pid: int | None
    state: str
    silent_seconds: float
    since: float
    restarts: int
    restarts_lately: int = 0


@dataclass(frozen=True, slots=True)
class RunState:
    """A run: when its supervisor started (Unix seconds), its programs and its servers by name."""

    started_at: float
    programs: dict[str, ProgramState]
    servers: dict[str, ProgramState]


class RunStateFile:
    """For the supervisor. A disk that refuses is no reason to stop."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / _NAME
        self._started_at = time.time()

    def write(self, programs: list[ProgramState], servers: list[ProgramState]) -> None:
        text = json.dumps(
            {
                "at": time.time(),
                "startedAt": self._started_at,
                "programs": [asdict(each) for each in programs],
                "servers": [asdict(each) for each in servers],
            }
        )
        with contextlib.suppress(OSError):
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(descriptor, text.encode().ljust(_BYTES), 0)
            finally:
                os.close(descriptor)

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def read_run_state(run_dir: Path) -> RunState | None:
    """None where no supervisor runs."""
    for _ in range(_TRIES):
        try:
            found = json.loads((run_dir / _NAME).read_bytes())
        except OSError:
            return None
        except ValueError:  # it was being written
            continue
        if time.time() - found["at"] > _FRESH_SECONDS:
            return None
        return RunState(
            found["startedAt"],
            {each["name"]: ProgramState(**each) for each in found["programs"]},
            {each["name"]: ProgramState(**each) for each in found["servers"]},
        )
    return None
