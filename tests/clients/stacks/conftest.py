"""The service and its localnet, and each stack's packages, installed once from its lock file."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import shared
from tests.clients.service import Service, running_service
from tests.localnet_process import free_ports

HERE = Path(__file__).resolve().parent
# A whole way of one stack; the slowest waits for finality some thirty times.
MOST_SECONDS = 900
SETTINGS = {
    "LOCALNET": "true",
    "LOCALNET_VOTES": "true",
    "LOCALNET_SLOT_MS": "200",
    "LOCALNET_SKIP_PERCENT": "2",
}


@dataclass(frozen=True)
class Target:
    """What a client is given: a URL with its key in it, and where WebSockets and gRPC are."""

    name: str
    given: dict[str, Any]


@pytest.fixture(scope="module")
def stacked(request: pytest.FixtureRequest) -> Service:
    """A service with all ports, which follows its own localnet."""

    def make() -> Iterator[Service]:
        port = str(free_ports(1)[0])
        with running_service(**SETTINGS, GRPC_PORT=port) as service:
            yield service

    return shared.value_of(request, make)


@pytest.fixture(scope="module", params=["service", "localnet"])
def target(request: pytest.FixtureRequest, stacked: Service) -> Target:
    if request.param == "localnet":
        rpc = stacked.environment["LOCALNET_RPC_PORT"]
        geyser = stacked.environment["LOCALNET_GEYSER_PORT"]
        given = {
            "url": f"http://127.0.0.1:{rpc}",
            "websocketUrl": stacked.websocket_url,
            "grpc": f"127.0.0.1:{geyser}",
        }
        return Target("localnet", given)
    query = f"?api_key={stacked.key}"
    return Target(
        "service",
        {
            "url": f"{stacked.base_url}/{query}",
            "plainUrl": f"{stacked.base_url}/",
            "websocketUrl": f"ws://{stacked.host}:{stacked.port}/{query}",
            "key": stacked.key,
            "grpc": f"127.0.0.1:{stacked.environment['GRPC_PORT']}",
        },
    )


def needed(*programs: str) -> None:
    """Skips where a toolchain is absent."""
    absent = [name for name in programs if shutil.which(name) is None]
    if absent:
        pytest.skip(f"{' and '.join(absent)} not found")


@pytest.fixture(scope="session")
def built(request: pytest.FixtureRequest) -> Callable[..., Path]:
    """`built("kit", lock_files, command, others)`: a folder kept among pytest's cache in which the
    command has been run for these lock files; the other files are as they are now.
    """

    def build(stack: str, locks: list[str], command: list[str], others: list[Path]) -> Path:
        assert request.config.cache is not None
        files = [HERE / stack / name for name in locks]
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
        folder = request.config.cache.mkdir(f"clients-{stack}-{digest}")
        for file in (*files, *others):
            placed = folder / file.relative_to(HERE / stack if file in files else file.parent)
            placed.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, placed)
        # Last: an installation that was cut short is taken up again.
        done = folder / "installed"
        if not done.exists():
            attempt = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            assert attempt.returncode == 0, f"{command} failed:\n{attempt.stderr}"
            done.touch()
        return folder

    return build


def whole_way(command: list[str], target: Target, folder: Path | None = None) -> None:
    """Runs a stack's program, which prints a line of JSON for each check and one at its end."""
    done = subprocess.run(
        [*command, json.dumps(target.given)],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = [f"{each['check']}: {each['error']}" for each in lines if each.get("ok") is False]
    report = "\n".join(failed)
    assert not failed, f"{len(failed)} of {len(lines) - 1} checks failed:\n{report}"
    assert lines and "done" in lines[-1], f"it did not come to its end:\n{done.stderr[-4_000:]}"
    assert lines[-1]["done"] == len(lines) - 1 > 0
    print(f"{lines[-1]['done']} checks")
