"""Progress to a supervisor: datagrams as systemd reads them, and never a wait."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded import notify

SHELF = Path(__file__).resolve().parent.parent.parent / "platform"


@pytest.fixture(params=["path", "abstract"])
def supervisor(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """A supervisor's socket, in NOTIFY_SOCKET."""
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening,
    ):
        if request.param == "path":
            address = f"{folder}/notify"
            listening.bind(address)
        else:
            address = f"@tidemark-test-{os.getpid()}"
            listening.bind(f"\0{address[1:]}")
        listening.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        yield listening


def test_assignments_go_out_as_one_datagram(supervisor: socket.socket) -> None:
    notify.notify("READY=1", "WATCHDOG=1")
    assert supervisor.recv(100) == b"READY=1\nWATCHDOG=1"


def test_nobody_waits_for_a_supervisor_that_reads_nothing(supervisor: socket.socket) -> None:
    for _ in range(1_000):
        notify.notify("WATCHDOG=1")
    assert supervisor.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "@nobody", "/" + "d" * 200, "\0"])
def test_without_a_supervisor_nothing_happens(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "\0" not in address:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify.notify("WATCHDOG=1")
    notify.progress()
    assert notify.progressed_at() > 0


_WAITS = """
import sys, time
from embedded import notify
from embedded.notify import allowed, progress, progressed_at
notify._SECONDS = 0.5
progress()
with allowed(float(sys.argv[1])):
    time.sleep(1.5)
print(progressed_at())
time.sleep(60)
"""


@pytest.mark.parametrize(("seconds", "reports"), [("60", True), ("0.1", False)])
def test_a_wait_with_a_deadline_is_progress_until_the_deadline(
    supervisor: socket.socket, seconds: str, reports: bool
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITS, seconds],
        env={**os.environ, "PYTHONPATH": str(SHELF), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the wait is over
        process.kill()
    received = 0
    supervisor.setblocking(False)
    while True:
        try:
            received += b"WATCHDOG=1" in supervisor.recv(100)
        except BlockingIOError:
            break
    # Without the deadline: as it began, and when the wait was over.
    assert received > 2 if reports else received == 2


def test_a_forked_child_has_made_no_progress_yet() -> None:
    notify.progress()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, str(notify.progressed_at()).encode())
        os._exit(0)
    assert float(os.read(reading, 100)) == 0.0
    os.close(reading)
    os.close(writing)
