"""The processes of the web server: they come back when they fall, and end in order."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.patience import PATIENCE_SECONDS
from tests.webserver.application import served
from tests.webserver.client import Client, get, post
from webserver.limits import Limits

SERVICE = str(Path(__file__).with_name("small_service.py"))
ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Running:
    """A running master; its `/held` answers once `held` is gone."""

    process: subprocess.Popen[str]
    port: int
    held: Path
    arrived: Path

    def answering(self) -> int:
        """The id of a worker that answers, whenever one does."""
        while True:
            with contextlib.suppress(OSError, EOFError), Client(self.port) as client:
                return int(client.send(get("/", "Connection: close")).reply().body)
            time.sleep(0.05)

    def workers(self, count: int = 2) -> set[int]:
        """The ids of the workers, when there are so many."""
        while True:
            found = {each.pid for each in psutil.Process(self.process.pid).children()}
            if len(found) == count:
                return found
            time.sleep(0.02)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with started(tmp_path) as running:
        yield running


@contextlib.contextmanager
def started(tmp_path: Path, open_files: int = 1_024) -> Iterator[Running]:
    held, arrived = tmp_path / "held", tmp_path / "arrived"
    held.touch()
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -n {open_files}; exec "$0" "$@"', sys.executable, SERVICE, "0"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "platform"),
            "HELD": str(held),
            "ARRIVED": str(arrived),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Running(process, int(process.stdout.readline()), held, arrived)
    finally:
        held.unlink(missing_ok=True)
        process.terminate()
        try:
            process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def test_a_worker_that_is_killed_is_replaced(running: Running) -> None:
    before = running.workers()
    killed = running.answering()
    os.kill(killed, signal.SIGKILL)
    while killed in running.workers() or running.workers() == before:
        time.sleep(0.02)
    assert len(running.workers() & before) == 1
    assert running.answering() in running.workers()


def test_a_worker_at_its_memory_limit_is_replaced_and_not_waited_for(running: Running) -> None:
    running.workers()
    full = running.answering()
    size = psutil.Process(full).memory_info().vms
    psutil.Process(full).rlimit(psutil.RLIMIT_AS, (size, size))
    while full in running.workers():
        time.sleep(0.02)
    assert running.answering() != full
    # It ended by its limit, and not for its silence, which is noticed after 15 s.
    running.process.terminate()
    _, log = running.process.communicate(timeout=PATIENCE_SECONDS)
    assert f"web worker {full} ended" in log and "makes no progress" not in log


@pytest.mark.soak
def test_a_worker_that_hangs_is_killed_and_replaced(running: Running) -> None:
    """Soak: it may be silent for a quarter of a minute."""
    hung = running.answering()
    running.workers()
    os.kill(hung, signal.SIGSTOP)
    while hung in running.workers():
        time.sleep(0.1)
    for _ in range(20):
        assert running.answering() != hung


def test_new_callers_are_served_where_few_files_may_be_open(tmp_path: Path) -> None:
    """Of 700 connections that are idle, two workers of 160 files keep what they can."""
    with started(tmp_path, open_files=160) as running, contextlib.ExitStack() as stack:
        running.workers()
        idle = [stack.enter_context(Client(running.port)) for _ in range(700)]
        began = time.monotonic()
        for _ in range(20):
            assert running.answering()
        # Before the first of them would have been closed for its silence.
        assert time.monotonic() - began < Limits().first_seconds
        for each in idle:
            each.sock.settimeout(0)
        kept = sum(not each.is_ended for each in idle)
        assert 10 <= kept <= 2 * 160


def test_what_is_being_answered_is_answered_at_the_end(running: Running) -> None:
    running.answering()
    with contextlib.ExitStack() as clients:
        busy = clients.enter_context(Client(running.port))
        busy.send(get("/held"))
        while not (running.arrived.exists() and running.arrived.read_text().endswith("\n")):
            time.sleep(0.01)
        # A connection of the same worker: that it ends says that the worker is stopping.
        while True:
            idle = clients.enter_context(Client(running.port))
            if idle.send(get("/")).reply().body.decode() == running.arrived.read_text().strip():
                break
        running.process.terminate()
        assert idle.is_closed
        running.held.unlink()
        reply = busy.reply()
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert busy.is_closed
    assert running.process.wait(PATIENCE_SECONDS) == 0


def test_workers_do_not_outlive_their_master(running: Running) -> None:
    running.answering()
    workers = [psutil.Process(pid) for pid in running.workers()]
    running.process.kill()
    _, left = psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)
    assert not left


def test_a_server_that_stops_closes_idle_connections_and_answers_the_rest() -> None:
    with served() as server:
        idle, busy = server.client(), server.client()
        assert idle.send(get("/")).reply().status == 200
        busy.send(get("/held") + get("/behind"))
        server.application.wait_for(1)
        loop = server.worker._loop
        assert loop is not None
        loop.call_soon_threadsafe(server.worker.stop)
        assert idle.is_closed
        server.application.gate.set()
        assert [each.status for each in busy.replies()] == [200]
    assert server.application.calls == ["/", "/held"]
    idle.close()
    busy.close()


def test_a_request_that_comes_while_the_server_stops_is_answered() -> None:
    """On idle connections, and on connections that are not accepted yet: a proxy sends calls there
    until it sees the end, and it may not send a POST twice.
    """
    with served() as server, contextlib.ExitStack() as clients:
        idle = [clients.enter_context(server.client()) for _ in range(5)]
        for client in idle:
            assert client.send(get("/")).reply().status == 200
        waiting: list[Client] = []

        def stop() -> None:
            # In one turn of the loop: what connects now waits in the socket's queue.
            waiting.extend(clients.enter_context(server.client()) for _ in range(5))
            server.worker.stop()

        assert server.worker._loop is not None
        server.worker._loop.call_soon_threadsafe(stop)
        while not server.worker.is_stopping:
            time.sleep(0.001)
        for client in (*idle, *waiting):
            reply = client.send(post("/", b"x")).reply()
            assert (reply.status, reply.headers["connection"]) == (200, "close")
            assert client.is_closed
        with pytest.raises(ConnectionRefusedError):
            server.client()
