"""A real validator: `solana-test-validator` with the Yellowstone plugin, on free ports."""

import contextlib
import json
import os
import random
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.localnet_process import Localnet, free_ports
from tests.patience import PATIENCE_SECONDS

VALIDATOR, PLUGIN = "TIDEMARK_TEST_VALIDATOR", "TIDEMARK_TEST_GEYSER_PLUGIN"
EPOCH_SLOTS = 64
# As many slots can be asked of the plugin again.
REPLAYED_SLOTS = 150
# The test validator of 4.1.2 ends so when asked for them (docs/testing.md).
_NO_BLOCKS = "Fatal internal error"
# What the validator asks for, and some more.
_PORTS = 40
_FROZEN = re.compile(
    r"bank frozen: (?P<slot>\d+) hash: (?P<bankHash>\w+) signature_count: (?P<signatureCount>\d+)"
    r" last_blockhash: (?P<blockhash>\w+)"
)


@dataclass
class Validator(Localnet):
    """The validator as tests use a localnet: `start`, `stop` and `kill` it as often as needed; its
    ledger stays.
    """

    programs: tuple[Path, Path] = field(default=(Path(), Path()))
    ports: tuple[int, ...] = ()
    has_block_subscriptions: bool = True

    @property
    def output(self) -> str:
        """The end of what it has logged."""
        found = [self.run_dir / "output", *self._logs()]
        return "\n".join(each.read_text(errors="replace")[-4_000:] for each in found)

    def start(self, *arguments: str) -> None:
        faucet, gossip, first = self.ports
        validator, plugin = self.programs
        config = {
            "libpath": str(plugin),
            "log": {"level": "info"},
            "tokio": {"worker_threads": 2},
            "grpc": {
                "address": f"127.0.0.1:{self.geyser_port}",
                "replay_stored_slots": REPLAYED_SLOTS,
            },
        }
        (self.run_dir / "geyser.json").write_text(json.dumps(config))
        options: dict[str, object] = {
            "ledger": self.run_dir / "ledger",
            "rpc-port": self.rpc_port,
            "faucet-port": faucet,
            "gossip-port": gossip,
            "dynamic-port-range": f"{first}-{first + _PORTS}",
            "bind-address": "127.0.0.1",
            "slots-per-epoch": EPOCH_SLOTS,
            "geyser-plugin-config": self.run_dir / "geyser.json",
        }
        kinds = ("block", "vote") if self.has_block_subscriptions else ("vote",)
        pubsub = [f"--rpc-pubsub-enable-{each}-subscription" for each in kinds]
        command = [str(validator), "--quiet", *pubsub, *arguments]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        kept = {name: value for name, value in os.environ.items() if name != "RUST_LOG"}
        with (self.run_dir / "output").open("ab") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self.run_dir,
                env=kept,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            self.wait(self._healthy, "healthy")
        except AssertionError:
            if not (self.has_block_subscriptions and _NO_BLOCKS in self.output):
                raise
            self.has_block_subscriptions = False
            (self.run_dir / "output").unlink()
            self.start(*arguments)
            return
        (node,) = self.call("getClusterNodes")
        self.tpu_port = int(node["tpuQuic"].rpartition(":")[2])

    def stop(self) -> int:
        """Ends it as an operator does (SIGTERM), or for good."""
        assert self.process is not None
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(60)
        self.process.kill()
        return self.process.wait(PATIENCE_SECONDS)

    def snapshots(self) -> list[Path]:
        """Its full snapshots, oldest first."""
        found = (self.run_dir / "ledger").glob("snapshot-*.tar.zst")
        return sorted(found, key=lambda path: int(path.name.split("-")[1]))

    def banks(self) -> dict[int, dict[str, Any]]:
        """By slot, what it logged of its banks, the newest of each slot."""
        found: dict[int, dict[str, Any]] = {}
        for log in self._logs():
            for match in _FROZEN.finditer(log.read_text(errors="replace")):
                bank: dict[str, Any] = match.groupdict()
                bank["signatureCount"] = int(bank["signatureCount"])
                found[int(bank.pop("slot"))] = bank
        return found

    def _logs(self) -> list[Path]:
        found = (self.run_dir / "ledger").glob("validator-*.log")
        return sorted(found, key=lambda path: path.stat().st_mtime)


def programs() -> tuple[Path, Path]:
    """The validator and the plugin that the environment names; the test is skipped without them."""
    found = []
    for name in (VALIDATOR, PLUGIN):
        path = Path(os.environ.get(name, ""))
        if not path.is_file():
            pytest.skip(f"{name} names no file: docs/testing.md says how to get it")
        found.append(path.resolve())
    return found[0], found[1]


@contextlib.contextmanager
def running_validator(folder: Path) -> Iterator[Validator]:
    """A new chain in the folder, whose first blocks are there."""
    rpc, geyser, faucet, gossip = free_ports(4)
    validator = Validator(
        folder,
        rpc,
        geyser,
        0,
        0,
        settings={},
        programs=programs(),
        ports=(faucet, gossip, _free_range()),
    )
    try:
        validator.start("--reset")
        yield validator
    finally:
        if validator.process is not None and validator.process.poll() is None:
            validator.kill()


def _free_range() -> int:
    """The first of as many ports in a row, TCP and UDP, that nothing listens on."""
    chance = random.SystemRandom()
    while True:
        first = chance.randrange(10_000, 31_000)
        with ExitStack() as sockets, contextlib.suppress(OSError):
            for port in range(first, first + _PORTS + 1):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    sockets.enter_context(socket.socket(type=kind)).bind(("127.0.0.1", port))
            return first
