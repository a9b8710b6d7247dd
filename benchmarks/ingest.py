"""From the stream to committed rows: how fast, and how far behind the head under load."""

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.sample_chain import FIRST_SLOT, TRANSACTIONS
from benchmarks.service import ROOT, database

_SLOT_SECONDS = 0.4


def main() -> None:
    with database() as run_dir:
        flood(run_dir, slots=50)
        paced(run_dir, slots=150)


def flood(run_dir: Path, *, slots: int) -> None:
    """Account writes a second when the stream is as fast as it is read."""
    with running(run_dir, slots, 0.0) as run:
        run.wait_for(1)
        began, first = time.monotonic(), run.newest()
        run.wait_for(slots - 2)  # the last two are never finalized
        seconds = time.monotonic() - began
        stored = run.newest() - first
        writes = stored * run.writes / slots
        print(
            f"stream to committed rows: {writes / seconds:,.0f} account writes/s"
            f" with {stored * TRANSACTIONS / seconds:,.0f} transactions/s"
            f" over {seconds:.1f} s; CPU seconds of {run.cpu()}",
            flush=True,
        )


def paced(run_dir: Path, *, slots: int) -> None:
    """Slots behind the finalized head at 2,500 transactions a second."""
    with running(run_dir, slots, _SLOT_SECONDS) as run:
        run.wait_for(3)
        behind: list[int] = []
        memory: dict[str, list[float]] = {}
        while (newest := run.newest()) < FIRST_SLOT + slots - 3:
            behind.append(run.finalized - newest)
            if len(behind) % 50 == 1:
                for name, size in run.memory().items():
                    memory.setdefault(name, []).append(size)
            time.sleep(0.02)
        marks = statistics.quantiles(behind, n=100)
        print(
            f"{TRANSACTIONS / _SLOT_SECONDS:,.0f} transactions/s,"
            f" {run.writes / slots / _SLOT_SECONDS:,.0f} account writes/s for"
            f" {slots * _SLOT_SECONDS:.0f} s: slots behind the finalized head"
            f" p50 {marks[49]:.0f}, p90 {marks[89]:.0f}, p99 {marks[98]:.0f},"
            f" most {max(behind)}; CPU seconds of {run.cpu()}",
            flush=True,
        )
        told = ", ".join(
            f"{name} {sizes[len(sizes) // 4]:.0f} to {sizes[-1]:.0f}"
            for name, sizes in memory.items()
        )
        print(f"memory in MB, a quarter in and at the end: {told}", flush=True)


class Run:
    def __init__(self, source: subprocess.Popen[str], processes: dict[str, Any]) -> None:
        from django.db import connection

        self.finalized = self.newest_seen = 0
        self.writes = 0
        self._source = source
        self._processes = {name: psutil.Process(each.pid) for name, each in processes.items()}
        self._before: dict[str, float] = {}
        self._connection = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        postgres = psutil.Process(self._connection.info.backend_pid).parent()
        assert postgres is not None
        self._processes["postgres"] = postgres
        self._before = self._spent()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._source.stdout is not None
        for line in self._source.stdout:
            self.finalized = int(line.split()[0])

    def newest(self) -> int:
        row = self._connection.execute("SELECT max(slot) FROM rewind_archivedslot").fetchone()
        assert row is not None
        self.newest_seen = int(row[0] or 0)
        return self.newest_seen

    def is_sealing(self) -> bool:
        """Whether a segment is being made."""
        row = self._connection.execute(
            "SELECT EXISTS (SELECT FROM rewind_sealedsegment WHERE state = 0)"
        ).fetchone()
        assert row is not None
        return bool(row[0])

    def wait_for(self, slots: int) -> None:
        """Until so many slots are stored."""
        deadline = time.monotonic() + 300
        while self.newest() < FIRST_SLOT + slots - 1:
            if time.monotonic() > deadline:
                raise SystemExit(f"stuck at slot {self.newest()}")
            time.sleep(0.02)

    def cpu(self) -> str:
        """What each process has used, with its children, since the run began."""
        return ", ".join(
            f"{name} {spent - self._before[name]:.1f}" for name, spent in self._spent().items()
        )

    def _spent(self) -> dict[str, float]:
        """PostgreSQL's processes for connections come and go: its own time has theirs."""
        spent = {}
        for name, process in self._processes.items():
            ended = process.cpu_times()
            spent[name] = ended.children_user + ended.children_system
            for each in [process, *process.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    times = each.cpu_times()
                    spent[name] += times.user + times.system
        return spent

    def memory(self) -> dict[str, float]:
        """Resident megabytes, with children; PostgreSQL's shared pages would count many times."""
        return {
            name: sum(
                each.memory_info().rss for each in [process, *process.children(recursive=True)]
            )
            / 1e6
            for name, process in self._processes.items()
            if name != "postgres"
        }


@contextmanager
def running(
    run_dir: Path, blocks: int, block_seconds: float, *more: str, step: int = 1
) -> Iterator[Run]:
    """A source, a follower and a writer on empty tables; `more` are other lines of the Procfile."""
    _empty()
    numbers = map(str, (blocks, block_seconds, step))
    source = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.stream_source", *numbers],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert source.stdout is not None
    stream_port, node_port, writes = source.stdout.readline().split()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
        "TIDEMARK_RUN_DIR": str(run_dir),
        "UPSTREAM_GEYSER_URL": f"http://127.0.0.1:{stream_port}",
        "UPSTREAM_RPC_URL": f"http://127.0.0.1:{node_port}",
        "LOG_LEVEL": "WARNING",
    }
    started = {
        name: subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        for name, command in _commands("ingest", "follower", *more).items()
    }
    try:
        run = Run(source, {"source": source, **started})
        run.writes = int(writes)
        yield run
    finally:
        for process in started.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        source.kill()
        source.wait()


def _empty() -> None:
    """As if nothing had been stored: tables of earlier runs, and what waits in Redis."""
    from django.apps import apps
    from django.db import connection

    from shared_state.redis_client import client

    client().flushdb()
    tables = [
        model._meta.db_table
        for name in ("rewind", "historical", "ingest")
        for model in apps.get_app_config(name).get_models()
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")


def _commands(*names: str) -> dict[str, list[str]]:
    """The Procfile's own lines."""
    from config.running.procfile import commands_of

    lines = commands_of(ROOT / "Procfile")
    folder = Path(sys.executable).parent
    return {
        name: [
            str(folder / word) if at == 0 else expanded(word)
            for at, word in enumerate(command.split())
        ]
        for name in names
        if (command := lines[name])
    }


def expanded(word: str) -> str:
    """A word of the Procfile with the setting's default: ${NAME:-default}."""
    if not word.startswith("${"):
        return word
    name, _, default = word[2:-1].partition(":-")
    return os.environ.get(name, default)


if __name__ == "__main__":
    main()
