"""The whole service on a chain of its own, and what the benchmarks of landing submit to it."""

import base64
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from benchmarks.service import rpc_request  # noqa: E402
from tests.clients.service import Service, running_service  # noqa: E402
from tests.real.validator import VALIDATOR, running_validator  # noqa: E402
from tests.recorded_doors import service_at  # noqa: E402

# Processor time is counted by these words of the processes' command lines.
ROLES = ("land", "localnet", "validator", "serve", "follow", "celery", "postgres", "valkey")
_AIRDROPS, _AIRDROP = 5, 100_000_000_000
_LEAST_TIP = 1_000_000
# Batches of tip addresses are opened, and the lander's purse is filled.
_SETTLING_SECONDS = 15


@dataclass(frozen=True)
class Landing:
    """The service, its node's JSON-RPC, and who pays for what is submitted."""

    service: Service
    rpc: str
    payer: Keypair

    def tip_address(self) -> Pubkey:
        url = f"{self.service.base_url}/priority/fetchtipaddress"
        return Pubkey.from_string(read_json(url, self.service.key)["address"])

    def latest_blockhash(self) -> bytes:
        config = {"commitment": "processed"}
        found = call(self.rpc, "getLatestBlockhash", config)["value"]["blockhash"]
        return bytes(Hash.from_string(found))

    def payments(self) -> "Payments":
        """Tips to one address that the service gives now."""
        return Payments(self.payer, self.tip_address())

    def request(self, wire: bytes) -> bytes:
        """The HTTP request that submits the transaction."""
        text = base64.b64encode(wire).decode()
        config = {"encoding": "base64", "skipPreflight": True}
        return rpc_request(self.service.key, "sendTransaction", [text, config], path="/priority")


class Payments:
    """Transactions that pay a tip. Compiled once: at thousands a second their maker, who shares the
    machine with the service, would take most of it.
    """

    def __init__(self, payer: Keypair, to: Pubkey) -> None:
        self._payer = payer
        blockhash, lamports = Hash.new_unique(), 0x0123_4567_89AB_CDEF
        pay = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
        message = MessageV0.try_compile(payer.pubkey(), [transfer(pay)], [], blockhash)
        whole = to_bytes_versioned(message)
        self._head, _, rest = whole.partition(bytes(blockhash))
        self._between, _, self._tail = rest.partition(lamports.to_bytes(8, "little"))

    def wire(self, blockhash: bytes, number: int) -> bytes:
        """A signed transaction; each number makes another one."""
        lamports = (_LEAST_TIP + number).to_bytes(8, "little")
        message = self._head + blockhash + self._between + lamports + self._tail
        return b"\x01" + bytes(self._payer.sign_message(message)) + message


@contextmanager
def landing_service(*, slot_ms: int = 400) -> Iterator[Landing]:
    """Started, paid and settled while inside: on localnet, or on the real validator that the
    environment names (docs/testing.md).
    """
    folder = Path(tempfile.mkdtemp(prefix="tidemark-bench-"))
    environ["TIDEMARK_RUN_DIR"] = str(folder)  # where a migrated database is kept for the start
    try:
        with _on_a_chain(folder, slot_ms) as (service, rpc):
            landing = Landing(service, rpc, Keypair())
            for _ in range(_AIRDROPS):
                call(rpc, "requestAirdrop", str(landing.payer.pubkey()), _AIRDROP)
            time.sleep(_SETTLING_SECONDS)
            yield landing
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _on_a_chain(folder: Path, slot_ms: int) -> Iterator[tuple[Service, str]]:
    """The service, and its node's JSON-RPC."""
    if environ.get(VALIDATOR):
        with running_validator(folder) as node:
            version = node.call("getVersion")["solana-core"]
            with service_at(node, version, WEB_WORKERS="2") as (service, _):
                yield service, node.url
        return
    settings = {"LOCALNET": "true", "LOCALNET_SLOT_MS": str(slot_ms), "WEB_WORKERS": "2"}
    with running_service(**settings) as service:
        yield service, f"http://127.0.0.1:{service.environment['LOCALNET_RPC_PORT']}"


def signature_of(wire: bytes) -> str:
    return str(Signature(wire[1:65]))


def refusal(answer: bytes) -> str:
    """The reason in an HTTP response to `sendTransaction`; empty if it was accepted."""
    body = json.loads(answer.partition(b"\r\n\r\n")[2])
    if "result" in body:
        return ""
    error = body["error"]
    return str((error.get("data") or {}).get("reason", error["message"]))


def processor_seconds() -> dict[str, float]:
    """What the service's processes used so far, by role."""
    found = dict.fromkeys(ROLES, 0.0)
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            line, times = " ".join(child.cmdline()) or child.name(), child.cpu_times()
            role = next((each for each in ROLES if re.search(rf"\b{each}\b", line)), "")
            if role:
                found[role] += times.user + times.system
    return found


def read_json(url: str, key: str) -> Any:
    return json.loads(read(url, key))


def read(url: str, key: str) -> bytes:
    with urlopen(Request(url, headers={"Authorization": key}), timeout=30) as answer:
        found: bytes = answer.read()
    return found


def call(url: str, method: str, *params: Any, key: str = "") -> Any:
    """The result of a JSON-RPC call. Raises RuntimeError for an error."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Content-Type": "application/json", "Authorization": key}
    with urlopen(Request(url, body, headers), timeout=30) as answer:
        found = json.load(answer)
    if "error" in found:
        raise RuntimeError(found["error"])
    return found["result"]
