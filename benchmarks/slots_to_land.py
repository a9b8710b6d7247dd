"""Slots from a submission's acceptance to its block, by the whole service on localnet."""

import argparse
import base64
import json
import re
import sys
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks.open_load import send  # noqa: E402
from benchmarks.service import rpc_request  # noqa: E402
from tests.clients.service import Service, running_service  # noqa: E402

RATES, SECONDS, CONNECTIONS = (10, 100, 300), 10, 32
# What the work is divided among, by a word of the processes' command lines.
ROLES = ("land", "localnet", "serve", "follow", "celery", "postgres", "valkey")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rates", default=",".join(map(str, RATES)))
    options.add_argument("--seconds", type=int, default=SECONDS)
    chosen = options.parse_args()
    with running_service(LOCALNET="true", LOCALNET_SLOT_MS="400", WEB_WORKERS="2") as service:
        rpc = f"http://127.0.0.1:{service.environment['LOCALNET_RPC_PORT']}"
        payer = Keypair()
        _call(rpc, "requestAirdrop", str(payer.pubkey()), 100_000_000_000)
        time.sleep(15)  # batches of tip addresses are opened, and the lander's purse is filled
        for rate in map(int, chosen.rates.split(",")):
            _measure(service, rpc, payer, rate, chosen.seconds)


def _measure(service: Service, rpc: str, payer: Keypair, rate: int, seconds: int) -> None:
    address = json.loads(_get(f"{service.base_url}/priority/fetchtipaddress", service.key))
    latest = _call(rpc, "getLatestBlockhash", {"commitment": "processed"})["value"]["blockhash"]
    wires = [
        _transaction(payer, Pubkey.from_string(address["address"]), latest, 1_000_000 + number)
        for number in range(rate * seconds)
    ]
    config = {"encoding": "base64", "skipPreflight": True}
    requests = [
        rpc_request(
            service.key,
            "sendTransaction",
            [base64.b64encode(wire).decode(), config],
            path="/priority",
        )
        for wire in wires
    ]
    before = _used()
    accepted = send((service.host, service.port), requests, rate=rate, connections=CONNECTIONS)
    time.sleep(5)
    used = {role: time_used - before[role] for role, time_used in _used().items()}
    time.sleep(5)
    fates = [_fate(service, str(Signature(wire[1:65]))) for wire in wires]
    slots = Counter(
        fate["slot"] - fate["acceptedSlot"] for fate in fates if fate["slot"] is not None
    )
    soon = sum(count for passed, count in slots.items() if passed <= 1)
    print(
        f"{rate} a second: accepted p50 {accepted.p50 * 1e3:.1f} ms, p99 {accepted.p99 * 1e3:.1f};"
        f" {dict(Counter(fate['state'] for fate in fates))};"
        f" same or next slot {soon / len(wires):.0%}, latest {max(slots, default=0)}"
    )
    per = {role: f"{seconds * 1e3 / len(wires):.2f}" for role, seconds in used.items()}
    print(f"  ms of CPU a transaction: {per}", flush=True)


def _used() -> dict[str, float]:
    """Processor seconds so far of the service's processes, by role."""
    found = dict.fromkeys(ROLES, 0.0)
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            line, times = " ".join(child.cmdline()) or child.name(), child.cpu_times()
            role = next((each for each in ROLES if re.search(rf"\b{each}\b", line)), "")
            if role:
                found[role] += times.user + times.system
    return found


def _transaction(payer: Keypair, to: Pubkey, blockhash: str, lamports: int) -> bytes:
    pay = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
    message = MessageV0.try_compile(
        payer.pubkey(), [transfer(pay)], [], Hash.from_string(blockhash)
    )
    return bytes(VersionedTransaction(message, [payer]))


def _fate(service: Service, signature: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        _get(f"{service.base_url}/priority/fate/{signature}", service.key)
    )
    return found


def _get(url: str, key: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": key})) as it:
        body: bytes = it.read()
        return body


def _call(url: str, method: str, *params: Any, key: str = "") -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Content-Type": "application/json", "Authorization": key}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as it:
        answer = json.load(it)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"]


if __name__ == "__main__":
    main()
