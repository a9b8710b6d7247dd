"""The service and the floor beside it, on servers of their own in a temporary folder."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from embedded.servers import start_servers, stop_servers

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT.parent / "shared" / "fixtures" / "blocks"
SERVICE = "config.wsgi:application"
_START_SECONDS = 120.0
_OPTIONS = ["--no-ws", "--log-level", "warning"]


@contextmanager
def database() -> Iterator[Path]:
    """PostgreSQL and Valkey in a temporary folder, migrated; Django is set up on them."""
    run_dir = Path(tempfile.mkdtemp(prefix="tidemark-bench-"))
    os.environ["TIDEMARK_RUN_DIR"] = str(run_dir)
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    servers = start_servers(run_dir)
    try:
        import django

        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        print(f"run directory: {run_dir}", file=sys.stderr)
        yield run_dir
    finally:
        stop_servers(servers)
        shutil.rmtree(run_dir, ignore_errors=True)


def import_path(path: Path, *, verified: bool = True) -> Any:
    """What was recorded of a file's blocks, whose signatures are verified, or are not."""
    from chain.signed import Signatures
    from ingest.services.imports import import_file
    from rewind.recording.services.filters import MAINNET_GENESIS_HASH

    return import_file(
        path,
        slot=None,
        genesis_hash=MAINNET_GENESIS_HASH,
        now=lambda: datetime.now(UTC),
        progress=lambda position, size: None,
        signatures=Signatures.REFUSE if verified else Signatures.UNVERIFIED,
    ).recorded


def new_key() -> str:
    """A key whose limits are too high to be met; each call is counted against them all the same."""
    from access.models import Customer, Tier
    from access.services.keys import issue_key

    tier, _ = Tier.objects.get_or_create(
        name="bench",
        defaults={"rank": 50, "requests_per_second": 1_000_000, "requests_burst": 1_000_000},
    )
    customer, _ = Customer.objects.get_or_create(name="bench")
    return issue_key(customer, tier=tier, name="bench").secret


@contextmanager
def served(
    application: str,
    *,
    threads: int = 2,
    workers: int = 1,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, int]]:
    """The service by its own web server, or a bare WSGI application on granian: its address."""
    given = {**python_path(), **(environment or {})}
    if application == SERVICE:
        command = [sys.executable, "manage.py", "serve", "--workers", str(workers), "--port"]
        given = {"WEB_THREADS": str(max(threads, 4)), **given}
    else:
        command = granian_of(application, threads=threads, workers=workers)
    with listening(with_port(command), environment=given) as address:
        yield address


def python_path(tree: Path = ROOT) -> dict[str, str]:
    """The environment in which a checkout's packages are found."""
    return {"PYTHONPATH": os.pathsep.join([str(tree), str(tree / "platform")])}


def with_port(command: Sequence[str]) -> Callable[[int], Sequence[str]]:
    """The command line with the port's number at its end."""
    return lambda port: [*command, str(port)]


def granian_of(application: str, *, threads: int, workers: int) -> list[str]:
    """The command line of granian, up to its port's number."""
    granian = str(Path(sys.executable).parent / "granian")
    return [
        granian,
        "--interface",
        "wsgi",
        "--workers",
        str(workers),
        "--blocking-threads",
        str(threads),
        *_OPTIONS,
        application,
        "--port",
    ]


@contextmanager
def listening(
    command: Callable[[int], Sequence[str]], *, environment: dict[str, str], cwd: Path = ROOT
) -> Iterator[tuple[str, int]]:
    """Runs the command of a free port, and gives its address once it listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        command(port),
        cwd=cwd,
        # The next port may be taken: an ephemeral one was asked for alone.
        env={**os.environ, "WEBSOCKET_NEXT_PORT": "false", **environment},
        start_new_session=True,
    )
    try:
        _wait_for(process, port)
        yield ("127.0.0.1", port)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on {port}")


def processes_on(port: int) -> list[psutil.Process]:
    """The processes that serve the port, without their master."""
    found = []
    for each in psutil.process_iter(["pid"]):
        try:
            connections = each.net_connections(kind="tcp")
        except psutil.Error:
            continue
        if any(c.status == "LISTEN" and c.laddr.port == port for c in connections):
            found.append(each)
    parents = {each.ppid() for each in found}
    return [each for each in found if each.pid not in parents]


def rpc_request(
    key: str, method: str, params: Sequence[Any], *, path: str = "/historical"
) -> bytes:
    """A whole HTTP request for one call, on the ledger unless told otherwise."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return _post(path.encode(), body, b"Authorization: " + key.encode() + b"\r\n")


def bare_request(number: int, like: bytes) -> bytes:
    """The same body for the floor's answer of that number."""
    return _post(b"/%d" % number, like.partition(b"\r\n\r\n")[2])


def _post(path: bytes, body: bytes, headers: bytes = b"") -> bytes:
    return (
        b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body
    )  # fmt: skip
