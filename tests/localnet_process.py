"""A whole localnet: `manage.py localnet` on free ports with fast slots, in a folder of its own."""

import contextlib
import fcntl
import functools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import forked_commands
from tests.forked_commands import ForkedProcess
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent
# Not the generator that a test's seed sets: two processes would choose the same ports.
_chance = random.SystemRandom()
# The ports that this process keeps for itself, oldest first.
_RESERVED = 400
_reserved: dict[int, None] = {}


@dataclass
class Localnet:
    """Where a localnet listens; `start`, `stop` and `kill` it as often as a test needs."""

    run_dir: Path
    rpc_port: int
    geyser_port: int
    tpu_port: int
    block_engine_port: int
    settings: dict[str, str]
    process: subprocess.Popen[bytes] | ForkedProcess | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The JSON-RPC's address."""
        return f"http://127.0.0.1:{self.rpc_port}"

    @property
    def websocket_url(self) -> str:
        return f"ws://127.0.0.1:{self.rpc_port + 1}"

    @property
    def geyser_url(self) -> str:
        return f"http://127.0.0.1:{self.geyser_port}"

    @property
    def block_engine_url(self) -> str:
        return f"http://127.0.0.1:{self.block_engine_port}"

    @property
    def searcher_address(self) -> str:
        """The block engine's gRPC, as gRPC clients take it."""
        return f"127.0.0.1:{self.block_engine_port + 1}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process that shall find this localnet by the settings."""
        return {
            **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
            "TIDEMARK_RUN_DIR": str(self.run_dir),
            "LOCALNET_RPC_PORT": str(self.rpc_port),
            "LOCALNET_GEYSER_PORT": str(self.geyser_port),
            "LOCALNET_TPU_PORT": str(self.tpu_port),
            "LOCALNET_BLOCK_ENGINE_PORT": str(self.block_engine_port),
            **self.settings,
        }

    @property
    def output(self) -> str:
        """What the process has printed so far."""
        return (self.run_dir / "localnet.log").read_text()

    def start(self, *arguments: str) -> None:
        """Starts the process, by a fork, and waits until its node is healthy."""
        with (self.run_dir / "localnet.log").open("ab") as output:
            self.process = forked_commands.start(
                ["localnet", *arguments], environment=self.environment, output=output.fileno()
            )
        self.wait(self._healthy, "healthy")

    def execute(self) -> None:
        """Starts the command as a shell does, which takes twenty times the CPU, and waits."""
        with (self.run_dir / "localnet.log").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "localnet"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.wait(self._healthy, "healthy")

    def stop(self) -> int:
        """Ends the process as an operator does (SIGTERM): its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def call(self, method: str, *params: Any) -> Any:
        """The result of a JSON-RPC call; AssertionError with the node's error."""
        answer = self.answer(method, *params)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def answer(self, method: str, *params: Any) -> dict[str, Any]:
        """The whole answer to a JSON-RPC call."""
        found: dict[str, Any] = self.post(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        )
        return found

    def post(self, body: Any, *, timeout: float = PATIENCE_SECONDS) -> Any:
        """The answer to any JSON body."""
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.load(response)

    def wait(self, condition: Any, what: str) -> Any:
        """What the condition gives, as soon as it gives something true."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"localnet ended by itself:\n{self.output}")
            if found := condition():
                return found
            time.sleep(0.01)
        raise AssertionError(f"localnet is not {what} in time:\n{self.output}")

    def wait_for_slot(self, slot: int, commitment: str = "finalized") -> int:
        """Waits until the chain has got there."""

        def reached() -> int | None:
            found: int = self.call("getSlot", {"commitment": commitment})
            return found if found >= slot else None

        result: int = self.wait(reached, f"at slot {slot}")
        return result

    def _healthy(self) -> bool:
        try:
            # Whoever else may hold the port answers nothing.
            question = {"jsonrpc": "2.0", "id": 1, "method": "getHealth"}
            answer: dict[str, Any] = self.post(question, timeout=0.5)
            return answer.get("result") == "ok"
        except (OSError, ValueError):
            return False


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on, each with a free one behind it, TCP and UDP. No other test
    process on this machine gets them while this one runs (of its last 400), and they lie below
    those that the system hands out by itself: a service may take seconds until it listens.
    """
    found: list[int] = []
    while len(found) < count:
        port = 2 * _chance.randrange(5_000, min(_first_ephemeral_port(), 32_000) // 2 - 1)
        if port not in _reserved and _reserve(port):
            found.append(port)
            while len(_reserved) > _RESERVED:
                oldest = next(iter(_reserved))
                del _reserved[oldest]
                fcntl.lockf(_reservations(), fcntl.LOCK_UN, 2, oldest)
    return found


def free_addresses() -> dict[str, str]:
    """The settings of a whole service on free ports: PORT, and those of its localnet."""
    names = (
        "PORT",
        *(f"LOCALNET_{each}_PORT" for each in ("RPC", "GEYSER", "TPU", "BLOCK_ENGINE")),
    )
    return dict(zip(names, map(str, free_ports(len(names))), strict=True))


def _reserve(port: int) -> bool:
    """Locks the port's bytes in the file of reservations, which ends with this process."""
    with contextlib.ExitStack() as sockets, contextlib.suppress(OSError):
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 2, port)
        _reserved[port] = None
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            for each in (port, port + 1):
                sockets.enter_context(socket.socket(type=kind)).bind(("127.0.0.1", each))
        return True
    return False


@functools.cache
def _reservations() -> int:
    """Opened once: a POSIX lock ends when its process closes any descriptor of the file."""
    path = Path(tempfile.gettempdir()) / f"tidemark-test-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@functools.cache
def _first_ephemeral_port() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        # The lowest default of a common kernel.
        return 16_000


@contextlib.contextmanager
def new_localnet(**settings: Any) -> Iterator[Localnet]:
    """A localnet that is not started yet; settings as in the environment, such as
    LOCALNET_SLOT_MS=40. Whatever runs in the end is killed, and its folder removed.
    """
    run_dir = Path(tempfile.mkdtemp(prefix="tidemark-localnet-"))
    defaults = {"LOCALNET_SLOT_MS": 40, "LOCALNET_SKIP_PERCENT": 0}
    chosen = {name: str(value) for name, value in {**defaults, **settings}.items()}
    localnet = Localnet(run_dir, *free_ports(4), settings=chosen)
    try:
        yield localnet
    finally:
        if localnet.process is not None and localnet.process.poll() is None:
            localnet.kill()
        shutil.rmtree(run_dir, ignore_errors=True)


@contextlib.contextmanager
def running_localnet(*arguments: str, **settings: Any) -> Iterator[Localnet]:
    """A localnet that answers."""
    with new_localnet(**settings) as localnet:
        localnet.start(*arguments)
        yield localnet
