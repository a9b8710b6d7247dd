"""A whole running service: `manage.py run` on a free port, in a run directory of its own."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from embedded.servers import hold_run_dir, start_servers, stop_servers
from tests import forked_commands
from tests.file_locks import one_at_a_time
from tests.localnet_process import free_addresses
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Service:
    """Where the service listens, the demo key of every tier, and the environment it runs in."""

    host: str
    port: int
    keys: dict[str, str]
    run_dir: Path
    environment: dict[str, str]

    @property
    def base_url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The ledger's address."""
        return f"{self.base_url}/historical"

    @property
    def websocket_url(self) -> str:
        """Of its localnet."""
        return f"ws://127.0.0.1:{int(self.environment['LOCALNET_RPC_PORT']) + 1}"

    @property
    def key(self) -> str:
        """The key with the widest limits."""
        return self.keys["epic"]

    def import_blocks(self, *files: Path) -> None:
        forked_commands.run(
            ["import_blocks", "--genesis", "mainnet", *map(str, files)],
            environment=self.environment,
        ).check_returncode()


@contextlib.contextmanager
def running_service(*programs: str, **settings: str) -> Iterator[Service]:
    """Starts one with these settings, waits until it answers, and stops it whole. It follows
    nothing, so that its ledger is what a test imports, unless LOCALNET="true". It runs all programs
    of the Procfile or, if some are named, these: each takes 1.5 s of CPU to load.
    """
    folder = Path(tempfile.mkdtemp(prefix="tidemark-clients-"))
    environment = prepared(folder, **settings)
    try:
        with running_in(folder, environment, *programs) as service:
            yield service
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepared(folder: Path, **settings: str) -> dict[str, str]:
    """The environment of a service with these settings, whose run directory is in the folder."""
    run_dir = folder / "run"
    if "DATABASE_URL" not in settings:
        _copy_of_migrated(run_dir)
    return {**_environment(run_dir), **settings}


@contextlib.contextmanager
def running_in(folder: Path, environment: dict[str, str], *programs: str) -> Iterator[Service]:
    """Starts what was prepared there, as often as a test needs."""
    run_dir, port = folder / "run", int(environment["PORT"])
    options = ["--procfile", str(procfile_of(folder, programs))] if programs else []
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run", *options],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, folder / "output", f"http://127.0.0.1:{port}/healthz")
        credentials = json.loads((run_dir / "credentials.json").read_text())
        yield Service("127.0.0.1", port, credentials["api_keys"], run_dir, environment)
    finally:
        _stop(process)


def procfile_of(folder: Path, programs: Collection[str]) -> Path:
    """These programs of our Procfile, to be run in any folder."""
    lines = (ROOT / "Procfile").read_text().splitlines(keepends=True)
    chosen = [line for line in lines if line.partition(":")[0] in programs]
    assert len(chosen) == len(programs), programs
    file = folder / "Procfile"
    file.write_text("".join(chosen).replace("manage.py", str(ROOT / "manage.py")))
    return file


def _copy_of_migrated(run_dir: Path) -> None:
    """A run directory with a migrated database, made once for all workers: half of a first start's
    CPU. tests/embedded/test_run.py starts in empty ones.
    """
    shared = Path(os.environ["TIDEMARK_RUN_DIR"]) / "migrated"
    with one_at_a_time(shared.with_suffix(".lock")):
        if not shared.exists():
            making = shared.with_suffix(".new")
            with hold_run_dir(making):
                servers = start_servers(making, valkey=False, durable=False)
                try:
                    environment = _environment(making)
                    forked_commands.run(["migrate"], environment=environment).check_returncode()
                finally:
                    stop_servers(servers)
            making.rename(shared)
    # Its files belong to the account of the server.
    subprocess.run(["cp", "-a", shared, run_dir], check=True)


def _environment(run_dir: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    # One process of each kind, with more than one thread to serve: the whole shape at least cost.
    return {
        **kept,
        "TIDEMARK_RUN_DIR": str(run_dir),
        "WEB_WORKERS": "1",
        "WORKER_PROCESSES": "1",
        "LOCALNET": "false",
        **free_addresses(),
    }


def _wait(process: subprocess.Popen[bytes], output: Path, url: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
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
        # As Ctrl-C by somebody in a hurry: at the second one it waits for nothing but its servers.
        deadline = time.monotonic() + 15
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
        if process.poll() is None:
            process.kill()
            process.wait()
        for left in psutil.wait_procs(family, timeout=5)[1]:
            left.kill()
