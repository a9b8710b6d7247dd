"""A whole running service: `manage.py run` on a free port, in a run directory of its own."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Service:
    """Where the service listens, and the demo key of every tier."""

    host: str
    port: int
    keys: dict[str, str]
    run_dir: Path

    @property
    def url(self) -> str:
        """The ledger's address."""
        return f"http://{self.host}:{self.port}/historical"

    @property
    def key(self) -> str:
        """The key with the widest limits."""
        return self.keys["epic"]

    def import_blocks(self, *files: Path) -> None:
        subprocess.run(
            [sys.executable, "manage.py", "import_blocks", *map(str, files)],
            cwd=ROOT,
            env=_environment(self.run_dir),
            check=True,
            capture_output=True,
        )


@contextlib.contextmanager
def running_service() -> Iterator[Service]:
    """Starts one, waits until it answers, and stops it whole."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-clients-"))
    run_dir = folder / "run"
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run"],
            cwd=ROOT,
            env={**_environment(run_dir), "PORT": str(port)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, folder / "output", f"http://127.0.0.1:{port}/healthz")
        credentials = json.loads((run_dir / "credentials.json").read_text())
        yield Service("127.0.0.1", port, credentials["api_keys"], run_dir)
    finally:
        _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def _environment(run_dir: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    # One process of each kind, with more than one thread to serve: the whole shape at least cost.
    return {
        **kept,
        "TIDEMARK_RUN_DIR": str(run_dir),
        "WEB_WORKERS": "1",
        "WORKER_PROCESSES": "1",
    }


def _wait(process: subprocess.Popen[bytes], output: Path, url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        words = output.read_text()
        assert process.poll() is None and time.monotonic() < deadline, words
        if "Tidemark listens" in words:
            with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
                return
        time.sleep(0.05)


def _stop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        family = [*psutil.Process(process.pid).children(recursive=True)]
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for left in psutil.wait_procs(family, timeout=5)[1]:
            left.kill()
