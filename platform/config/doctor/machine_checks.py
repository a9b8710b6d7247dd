"""The machine: its clock, its disk, its limits, the ports of a run."""

import ctypes
import os
import resource
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import redis
from django.conf import settings

from columns.queries import first_row
from config.doctor.findings import FREE_SPACE, Finding, error, note, ok, warning
from config.environment import env
from config.environment.listening import ports_of_a_run
from config.running.ports import PortUnusable, hold_ports
from embedded.run_state import read_run_state
from operations.readings.servers import read_disk
from shared_state import clock, heartbeats
from shared_state.outages import FULL_BYTES
from shared_state.redis_client import client
from staff.formatting import size_of

_APART = timedelta(seconds=1)
# Beside connections: files, the database, Redis, upstreams.
_FILES_BESIDE = 512
# struct timex is 208 bytes on 64-bit Linux; all zeros ask without setting anything.
_TIMEX_BYTES, _TIME_ERROR = 208, 5


def of_clock() -> Iterator[Finding]:
    """Whether the kernel's clock is disciplined."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        state = libc.adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    except (OSError, AttributeError):
        state = -1
    if state == _TIME_ERROR:
        yield warning(
            "The kernel reports that its clock is not synchronized.",
            "Run chrony or systemd-timesyncd: timedatectl set-ntp true.",
        )
    elif state < 0:
        yield note("Doctor cannot find out here whether the clock is synchronized.", "")
    else:
        yield ok("The kernel's clock is synchronized.")


def of_clock_and_database() -> Iterator[Finding]:
    def read() -> float:
        return float(first_row("SELECT extract(epoch FROM clock_timestamp())::float8")[0])

    read()  # the first one opens the connection
    yield from _compared("PostgreSQL", read)


def of_clock_and_redis() -> Iterator[Finding]:
    def read() -> float:
        seconds, micros = client().time()
        return float(seconds) + float(micros) / 1e6

    yield from _compared("Redis", read)


def _compared(name: str, read: Any) -> Iterator[Finding]:
    before = time.time()
    there = read()
    after = time.time()
    apart = max(before - there, there - after, 0.0)
    if apart > _APART.total_seconds():
        direction = "behind" if there < before else "ahead of"
        yield error(
            f"{name}'s clock is {apart:.1f} s {direction} this machine's: rates, expiry and ages"
            " are wrong.",
            "Synchronize the clocks of both machines by NTP.",
        )
    else:
        yield ok(f"{name}'s clock agrees with this machine's.")


def of_disk() -> Iterator[Finding]:
    folder = Path(settings.RUN_DIR).absolute()
    found = read_disk(folder)
    text = f"{size_of(found.free)} of {size_of(found.total)} are free for {folder}"
    if found.free < FULL_BYTES:
        yield error(f"The disk is full: {text}.", FREE_SPACE)
    elif not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        yield error(f"{folder} is not writable.", "Correct its owner, or TIDEMARK_RUN_DIR.")
    else:
        yield ok(f"{text}.")


def of_limits() -> Iterator[Finding]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.MAX_CONNECTIONS + settings.PROXY_CONNECTIONS + _FILES_BESIDE
    if hard != resource.RLIM_INFINITY and hard < wanted:
        yield warning(
            f"A process may open {hard:,} files, and MAX_CONNECTIONS needs {wanted:,}.",
            "Raise it (LimitNOFILE=65536 of the unit, ulimit -Hn), or lower MAX_CONNECTIONS.",
        )
    else:
        yield ok("Processes may open enough files.")
    shared = settings.SHARED_MEMORY_DIR
    if shared is None:
        yield note(
            "Processes do not share memory, so they query the database more often.",
            "If all of them run on this machine, set SHARED_MEMORY_DIR to a folder on it.",
        )
    elif not Path(shared).is_dir() or not os.access(shared, os.W_OK):
        yield error(
            f"SHARED_MEMORY_DIR={shared} is not a writable folder.",
            "Create it for the account of the service.",
        )
    if 2 * (os.cpu_count() or 1) < settings.WEB_WORKERS:
        yield note(
            f"WEB_WORKERS is {settings.WEB_WORKERS}, but the machine has {os.cpu_count()} cores.",
            "More web processes than cores use memory and connections without any gain.",
        )


def of_ports() -> Iterator[Finding]:
    """Those of a run that does not run yet: its own it would find taken."""
    if is_running():
        return
    host, port = env.text("HOST", "127.0.0.1"), env.integer("PORT", 8000, minimum=1, maximum=65_535)
    try:
        with hold_ports(ports_of_a_run(host, port)):
            pass
    except PortUnusable as taken:
        yield error(
            f"The service is not running, and cannot start: {taken}.",
            "`ss -ltnp` shows which process has the port.",
        )
    else:
        yield ok("The ports of the service are free.")


def is_running() -> bool:
    """Whether a run, or a web process under another supervisor, is alive."""
    if read_run_state(Path(settings.RUN_DIR)) is not None:
        return True
    try:
        web = heartbeats.kinds(now=clock.seconds()).get("web")
    except redis.RedisError:
        return False
    return web is not None and web.alive > 0
