"""The supervisor's watchdog: which programs report progress, and since when one does not."""

import contextlib
import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path

from embedded.addresses import needs_short_name, short_name
from embedded.notify import INTERVAL, SOCKET
from embedded.run_state import ProgramState

# A program that has reported progress and then none for so long is killed.
SILENT_SECONDS = 20.0
# One that should report it, and has not since it was started, has longer.
START_SECONDS = 60.0
# After so long without progress it is called hung.
HUNG_SECONDS = 4.0
# More than this between two looks is our own pause, or the machine's: not the program's silence.
_LONGEST_TURN_SECONDS = 1.0
_FOLDER = "notify"
_DATAGRAM = 4_096


@dataclass(frozen=True, slots=True)
class Patience:
    """For how many seconds a program may make no progress: once it has reported some, and after
    its start.
    """

    silent: float = SILENT_SECONDS
    start: float = START_SECONDS


DEFAULT_PATIENCE = Patience()


@dataclass(slots=True)
class Watched:
    """One program's socket and its silence, in seconds. `is_expected`: it must report progress."""

    path: Path
    socket: socket.socket
    is_expected: bool
    patience: Patience
    has_notified: bool = False
    silence: float = 0.0
    looked_at: float = field(default_factory=time.monotonic)

    @property
    def environment(self) -> dict[str, str]:
        """What the program is started with."""
        return {SOCKET: str(self.path), INTERVAL: str(int(self.patience.silent * 1e6))}

    @property
    def is_silent(self) -> bool:
        """It must report progress, and has reported none since its start."""
        return self.is_expected and not self.has_notified

    def begin(self) -> None:
        """The program is started: what an earlier one sent counts no more."""
        self._received()
        self.has_notified, self.silence, self.looked_at = False, 0.0, time.monotonic()

    def look(self) -> None:
        """Reads what came since the last time."""
        now = time.monotonic()
        self.silence += min(now - self.looked_at, _LONGEST_TURN_SECONDS)
        self.looked_at = now
        if self._received():
            # From now on: a program that reports progress has to go on with it after a restart.
            self.has_notified = self.is_expected = True
            self.silence = 0.0

    def is_hung(self) -> bool:
        """It is to be killed."""
        if self.has_notified:
            return self.silence >= self.patience.silent
        return self.is_expected and self.silence >= self.patience.start

    def state_of(
        self, name: str, pid: int | None, *, since: float, restarts: int, restarts_lately: int
    ) -> ProgramState:
        if pid is None:
            state = "restarting" if since else "starting"
        elif not self.has_notified:
            state = "starting" if self.is_expected else "unwatched"
        else:
            state = "hung" if self.silence >= HUNG_SECONDS else "running"
        silence = round(self.silence, 1)
        return ProgramState(name, pid, state, silence, since, restarts, restarts_lately)

    def close(self) -> None:
        self.socket.close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _received(self) -> bool:
        """Whether progress was among what came."""
        found = False
        with contextlib.suppress(BlockingIOError):
            while True:
                words = self.socket.recv(_DATAGRAM).split(b"\n")
                found = found or b"WATCHDOG=1" in words or b"READY=1" in words
        return found


def watched(run_dir: Path, number: int, *, is_expected: bool, patience: Patience) -> Watched:
    """A socket of this run directory: a program's name may be too long for its path."""
    folder = run_dir / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    # As deep a run directory as PostgreSQL's longer socket path bears.
    seen_as = short_name(run_dir) if needs_short_name(run_dir) else run_dir
    path = seen_as / _FOLDER / str(number)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(os.fspath(path))
    listening.setblocking(False)
    return Watched(path, listening, is_expected, patience)
