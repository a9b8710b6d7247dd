"""Which processes there should be, and which are alive."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import redis
from django.conf import settings

from columns.raw_queries import exists
from embedded.run_state import LATELY_SECONDS, ProgramState, RunState, read_run_state
from shared_state import clock, heartbeats
from staff.formatting import counted, duration

# What each kind does, as a sentence without its subject.
DUTIES = {
    "web": "answers calls and serves these pages",
    "worker": "prepares, rotates and sweeps tip batches, and runs all other periodic tasks:"
    " samples, alarms and mails",
    "ingest": "stores slots",
    "simulations": "runs simulation jobs and the replay audit",
    "follower": "reads the chain's stream",
    "lander": "sends accepted submissions to upstreams",
    "grpc": "streams the chain's updates to gRPC clients",
    "beat": "starts periodic tasks on schedule",
    "localnet": "runs the Solana test network of this machine",
}
# The servers of `make run`, which are listed only while they hang.
SERVER_DUTIES = {
    "postgres": "stores all data",
    "valkey": "holds rate limits, queues and submissions in progress",
}
# What to do about one that is missing or hung.
REMEDY = (
    "“make run” restarts a process that ended, or made no progress for 20 s. If it does not come"
    " back, or comes back and hangs again: read its last lines on standard error, run “manage.py"
    " doctor”, look at the machine's memory and disk, then stop and start “make run”. Under"
    " another supervisor, restart it with its command in the Procfile."
)

# As long as a program may take until its first progress.
_FIRST_HEARTBEAT_SECONDS = 60.0


_FILTERS_SET = "SELECT FROM rewind_archivestate WHERE filters_set_for <> ''"


class ProcessReading(msgspec.Struct, frozen=True):
    """Processes of one kind: `alive` ones make progress, `silent` ones exist and make none.
    `heard_at` is the last heartbeat; `starting`: the supervisor started it a moment ago. It was
    restarted `restarts` times within LATELY_SECONDS, the last time at `restarted_at`. `clocks`:
    those whose clock is off, as `host|pid`, and by how many seconds it is ahead.
    """

    kind: str
    alive: int
    heard_at: datetime | None
    silent: int = 0
    starting: bool = False
    restarts: int = 0
    restarted_at: datetime | None = None
    clocks: list[tuple[str, float]] = []

    @property
    def trouble(self) -> str:
        """`hung`, `missing`, or empty. What home, /readyz and alarms report."""
        if self.silent:
            return "hung"
        return "" if self.alive or self.starting else "missing"

    def heard(self, now: datetime) -> str:
        """When its last heartbeat came."""
        if self.heard_at is None:
            return "no heartbeat yet"
        return f"last heartbeat {duration(now - self.heard_at)} ago"

    def restarted(self, now: datetime) -> str:
        """A sentence on its restarts of late; empty for none, or where no supervisor counts."""
        if not self.restarts or self.restarted_at is None:
            return ""
        ago = duration(now - self.restarted_at)
        minutes = f"{LATELY_SECONDS / 60:.0f} min"
        times = f"{counted(self.restarts, 'time')} in the last {minutes}"
        return f" It was restarted {times}, most recently {ago} ago."


def read_processes(now: datetime, *, newest_slot: int | None) -> list[ProcessReading] | None:
    """Every kind that should run. While Redis is down or takes no writes, from the supervisor of
    this machine; None without one.
    """
    run = read_run_state(Path(settings.RUN_DIR))
    programs = {} if run is None else run.programs
    found = [] if run is None else _hung_servers(run)
    try:
        heard = heartbeats.kinds(now=now.timestamp())
    except redis.RedisError:
        if run is None:
            return None
        return [_supervised(each, programs.get(each)) for each in _expected(newest_slot)] + found
    for kind in _expected(newest_slot):
        beat = _of_localnet(now) if kind == "localnet" else heard.get(kind)
        program = programs.get(kind)
        is_starting = _is_starting(program, beat, now)
        found.append(
            ProcessReading(
                kind,
                0 if beat is None else beat.alive,
                None if beat is None else datetime.fromtimestamp(beat.heard_at, UTC),
                0 if beat is None else beat.silent,
                is_starting,
                *_restarts(program),
                [] if beat is None else list(beat.clocks),
            )
        )
    return found


def _is_starting(program: ProgramState | None, beat: heartbeats.Kind | None, now: datetime) -> bool:
    """The supervisor started it a moment ago. One whose first progress came before its first
    heartbeat is not missing either, as long as it makes progress: it is about to write that.
    """
    if program is None or program.restarts:
        return False
    if program.state == "starting":
        return True
    since = clock.shared(program.since)
    is_heard = beat is not None and beat.heard_at >= since
    is_new = now.timestamp() - since <= _FIRST_HEARTBEAT_SECONDS
    return not is_heard and is_new and program.silent_seconds <= heartbeats.MISSING_SECONDS


def _hung_servers(run: RunState) -> list[ProcessReading]:
    return [_supervised(each.name, each) for each in run.servers.values() if each.state == "hung"]


def _supervised(kind: str, program: ProgramState | None) -> ProcessReading:
    if program is None:
        return ProcessReading(kind, 0, None)
    heard_at = clock.now() - timedelta(seconds=program.silent_seconds)
    alive = program.state in ("running", "unwatched")
    is_starting = program.state == "starting" and not program.restarts
    silent = int(program.state == "hung")
    return ProcessReading(kind, int(alive), heard_at, silent, is_starting, *_restarts(program))


def _restarts(program: ProgramState | None) -> tuple[int, datetime | None]:
    if program is None or not program.restarts_lately:
        return 0, None
    return program.restarts_lately, datetime.fromtimestamp(clock.shared(program.since), UTC)


def not_needed() -> dict[str, str]:
    """Processes of the Procfile that have nothing to do here, and why."""
    followed = settings.UPSTREAM_GEYSER_URL or settings.UPSTREAM_RPC_URL
    left_out: dict[str, str] = {}
    if not settings.GRPC_PORT:
        left_out["grpc"] = "GRPC_PORT is not set"
    if not followed:
        why = "no chain is followed: LOCALNET is false, no UPSTREAM_* is set"
        return {**left_out, "localnet": why, "follower": why, "lander": why}
    if not settings.LOCALNET:
        left_out["localnet"] = "UPSTREAM_* names the chain that is followed"
    return left_out


def _expected(newest_slot: int | None) -> list[str]:
    """As `manage.py run` starts them."""
    left_out = set(not_needed())
    if settings.LOCALNET and newest_slot is not None and not exists(_FILTERS_SET):
        left_out.add("follower")  # the ledger holds imported blocks of another chain
    return [kind for kind in DUTIES if kind not in left_out]


def _of_localnet(now: datetime) -> heartbeats.Kind | None:
    """Localnet uses no Redis: it touches a file on this machine."""
    try:
        heard_at = clock.shared((Path(settings.LOCALNET_DIR) / "heartbeat").stat().st_mtime)
    except OSError:
        return None
    alive = now.timestamp() - heard_at <= heartbeats.MISSING_SECONDS
    return heartbeats.Kind("localnet", int(alive), 0, heard_at)
