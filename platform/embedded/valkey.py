"""Valkey of one run directory."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from embedded.addresses import embedded_addresses, valkey_folder, valkey_socket
from embedded.machine import a_quarter_of_memory_mib
from embedded.owner import Owner, private_folder
from embedded.passwords import server_passwords
from embedded.processes import (
    answers_at,
    end,
    last_line,
    open_log,
    running_in,
    start_server,
    stop_child,
    wait_until,
)
from embedded.programs import Programs

STOP_SIGNALS = (signal.SIGTERM,)

# The append-only files, as Valkey calls their folder.
_APPENDED = "appendonlydir"
_SYNC_SECONDS = 1.0
_READ_AT_ONCE = 1 << 16
_START_SECONDS = 60.0  # reading the append-only file after a long run


class ValkeyFailed(Exception):
    """Valkey did not start; the text says why and where its log is."""


def start_valkey(
    run_dir: Path, programs: Programs, owner: Owner | None, *, durable: bool
) -> subprocess.Popen[bytes]:
    """Valkey, ready, on its socket alone. `durable` False keeps nothing on disk, for tests. Ends
    what a killed starter left behind; raises ValkeyFailed.
    """
    folder = valkey_folder(run_dir)
    private_folder(folder, owner)
    end(running_in(folder, "valkey-server"), *STOP_SIGNALS)
    for file in _appended(run_dir):
        _cut_zeros(file)
    log_path = folder / "valkey.log"
    with open_log(log_path) as log:
        process = start_server(
            [programs.valkey, "-", *_options(durable)],
            folder=folder,
            owner=owner,
            log=log,
            stop_signal=STOP_SIGNALS[0],
            environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            says=f"requirepass {server_passwords(run_dir).redis}\n",
        )
    try:
        if not wait_until(lambda: _answers(run_dir), process, seconds=_START_SECONDS):
            raise ValkeyFailed(f"Valkey did not start: {last_line(log_path)} ({log_path})")
    except BaseException:
        stop_child(process, *STOP_SIGNALS)
        raise
    return process


def sync_to_disk(run_dir: Path) -> None:
    """Brings to the disk what was written so far, for the case that the machine fails. Raises
    OSError.
    """
    for file in _appended(run_dir):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def _appended(run_dir: Path) -> Iterator[Path]:
    return (valkey_folder(run_dir) / _APPENDED).glob("*.incr.aof")


def _cut_zeros(file: Path) -> None:
    """Cuts zeros off the file's end: no command ends with one. When a machine fails, ext4 may keep
    a file's new length and lose the data. Valkey drops half a command at the end, but does not
    start with zeros there.
    """
    with file.open("r+b") as appended:
        end = size = appended.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _READ_AT_ONCE)
            appended.seek(start)
            end = start + len(appended.read(end - start).rstrip(b"\0"))
            if end > start:
                break
        if end < size:
            appended.truncate(end)


def keep_synced(run_dir: Path) -> threading.Event:
    """A thread of this process does so once a second, until the event is set."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(_SYNC_SECONDS):
            # A rewrite may just have taken a file away; a disk that fails, Valkey notices itself.
            with contextlib.suppress(OSError):
                sync_to_disk(run_dir)

    threading.Thread(target=run, name="valkey-sync", daemon=True).start()
    return stop


def _options(durable: bool) -> list[str]:
    options = {
        "--port": "0",
        "--unixsocket": "valkey.sock",
        "--unixsocketperm": "700",
        "--dir": ".",
        "--databases": "64",  # one for each parallel test worker
        "--save": "",
        "--appendonly": "yes" if durable else "no",
        "--appenddirname": _APPENDED,
        # Every write reaches the kernel before its answer goes out, so that none is lost with the
        # process: `everysec` holds writes back while the disk is slow. keep_synced does its work.
        "--appendfsync": "no",
        # Tasks and counters must not be evicted: better a write that fails aloud.
        "--maxmemory-policy": "noeviction",
        "--maxmemory": f"{a_quarter_of_memory_mib()}mb",
    }
    return [part for pair in options.items() for part in pair]


def valkey_answers(run_dir: Path) -> bool:
    """Whether it answers within 2 s. A refusal (no password came, it loads, its disk is full) is an
    answer.
    """
    return answers_at(valkey_socket(run_dir), b"PING\r\n")


def _answers(run_dir: Path) -> bool:
    # No retries of redis-py's: it would wait for seconds between them.
    url = embedded_addresses(run_dir).redis_url
    try:
        with redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_timeout=5) as client:
            client.ping()
    except redis.RedisError:  # not there yet, or still loading
        return False
    return True
