"""The embedded servers of one run directory: start, watch, stop."""

import contextlib
import fcntl
import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from embedded.addresses import needs_short_name, postgres_folder, short_name
from embedded.folders import SharedFolder, close_run_dir
from embedded.owner import NoOwner, server_owner
from embedded.postgres import STOP_SIGNALS as POSTGRES_STOP_SIGNALS
from embedded.postgres import PostgresFailed, postgres_answers, start_postgres
from embedded.processes import stop_child
from embedded.programs import NoPrograms, find_programs
from embedded.valkey import STOP_SIGNALS as VALKEY_STOP_SIGNALS
from embedded.valkey import ValkeyFailed, keep_synced, start_valkey, valkey_answers

_LOG_BYTES = 10_000_000


class RunDirTaken(Exception):
    """Another process runs in this run directory."""


class ShortNameTaken(Exception):
    """The run directory's stand-in in the temporary folder belongs to someone else."""


# Exceptions of a start; each has a text for the operator.
FAILURES = (
    NoOwner,
    NoPrograms,
    SharedFolder,
    ShortNameTaken,
    PostgresFailed,
    ValkeyFailed,
    OSError,
)


@dataclass(slots=True)
class Server:
    """One running server, how it is started again, and whether it answers (in 2 s at most)."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    answers: Callable[[], bool]
    stop_signals: tuple[int, ...]
    process: subprocess.Popen[bytes]


@dataclass(slots=True)
class Servers:
    """What start_servers started; hold it, and give it to stop_servers."""

    run_dir: Path
    running: list[Server] = field(default_factory=list)
    stop_syncing: threading.Event = field(default_factory=threading.Event)


def hold_run_dir(run_dir: Path) -> IO[str]:
    """Takes the run directory for this process as long as the file is open, and closes it to other
    accounts. Raises RunDirTaken, SharedFolder and OSError.
    """
    close_run_dir(run_dir)
    descriptor = os.open(run_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    file = os.fdopen(descriptor, "r+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = file.read().strip()
        file.close()
        raise RunDirTaken(
            f"{run_dir} is in use by process {holder or 'unknown'}: stop that run first,"
            " or name another folder by TIDEMARK_RUN_DIR"
        ) from None
    file.truncate()
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def start_servers(
    run_dir: Path,
    *,
    postgres: bool = True,
    valkey: bool = True,
    durable: bool = True,
    syncs: bool = True,
) -> Servers:
    """The servers, ready at embedded_addresses(run_dir). The caller holds the run directory. Leaves
    none running when it raises: NoOwner, NoPrograms, PostgresFailed, ValkeyFailed, ShortNameTaken.
    Without `syncs` it starts no thread, and the caller calls keep_servers_synced.
    """
    run_dir = run_dir.absolute()
    run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    owner = server_owner(postgres_folder(run_dir))
    keep_short_name(run_dir)
    _shorten_logs(run_dir)
    servers = Servers(run_dir)

    # The programs are looked up at every start: a cleaner may have taken their copy meanwhile.
    def postgres_again() -> subprocess.Popen[bytes]:
        return start_postgres(run_dir, find_programs(run_dir, owner), owner, durable=durable)

    def valkey_again() -> subprocess.Popen[bytes]:
        return start_valkey(run_dir, find_programs(run_dir, owner), owner, durable=durable)

    try:
        if postgres:
            answers = partial(postgres_answers, run_dir)
            process = postgres_again()
            servers.running.append(
                Server("postgres", postgres_again, answers, POSTGRES_STOP_SIGNALS, process)
            )
        if valkey:
            answers = partial(valkey_answers, run_dir)
            process = valkey_again()
            servers.running.append(
                Server("valkey", valkey_again, answers, VALKEY_STOP_SIGNALS, process)
            )
    except BaseException:
        stop_servers(servers)
        raise
    if durable and syncs:
        keep_servers_synced(servers)
    return servers


def keep_servers_synced(servers: Servers) -> None:
    """From now on what they write reaches the disk within a second or so."""
    if any(each.name == "valkey" for each in servers.running):
        servers.stop_syncing = keep_synced(servers.run_dir)


def stop_servers(servers: Servers) -> None:
    """Stops them cleanly, the last started first; SIGKILL for one that does not listen."""
    servers.stop_syncing.set()
    while servers.running:
        server = servers.running.pop()
        stop_child(server.process, *server.stop_signals)
    if needs_short_name(servers.run_dir):
        with contextlib.suppress(OSError):
            short_name(servers.run_dir).unlink()


def keep_short_name(run_dir: Path) -> None:
    """Makes the short link to a deep run directory, again when a cleaner of the temporary folder
    took it. Raises ShortNameTaken.
    """
    if not needs_short_name(run_dir):
        return
    link = short_name(run_dir)
    with contextlib.suppress(FileExistsError):
        link.symlink_to(run_dir, target_is_directory=True)
    found = link.lstat()
    if found.st_uid != os.geteuid() or not link.is_symlink() or link.readlink() != run_dir:
        raise ShortNameTaken(f"{link} is not our link to {run_dir}: remove it")


def _shorten_logs(run_dir: Path) -> None:
    for log in run_dir.glob("*/*.log"):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
