"""Slots from a submission's acceptance to its block, by the whole service on localnet."""

import base64
import json
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from tests.clients.service import Service, running_service  # noqa: E402

COUNT, A_SECOND = 200, 10


def main() -> None:
    with running_service(LOCALNET="true", LOCALNET_SLOT_MS="400", WEB_WORKERS="2") as service:
        rpc = f"http://127.0.0.1:{service.environment['LOCALNET_RPC_PORT']}"
        payer = Keypair()
        _call(rpc, "requestAirdrop", str(payer.pubkey()), 10_000_000_000)
        time.sleep(15)  # batches of tip addresses are opened, and the lander's purse is filled
        tip_address = json.loads(_get(f"{service.base_url}/priority/fetchtipaddress", service.key))[
            "address"
        ]
        signatures = []
        begun = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begun + number / A_SECOND - time.monotonic()))
            signatures.append(_submit(service, rpc, payer, Pubkey.from_string(tip_address), number))
        time.sleep(10)
        fates = [_fate(service, each) for each in signatures]
        print(Counter(fate["state"] for fate in fates))
        slots = Counter(
            fate["slot"] - fate["acceptedSlot"] for fate in fates if fate["slot"] is not None
        )
        soon = sum(count for passed, count in slots.items() if passed <= 1)
        print(f"slots to land: {dict(sorted(slots.items()))}; same or next: {soon / COUNT:.0%}")


def _submit(service: Service, rpc: str, payer: Keypair, to: Pubkey, number: int) -> str:
    latest = _call(rpc, "getLatestBlockhash", {"commitment": "processed"})["value"]["blockhash"]
    pay = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=1_000_000 + number)
    message = MessageV0.try_compile(payer.pubkey(), [transfer(pay)], [], Hash.from_string(latest))
    wire = bytes(VersionedTransaction(message, [payer]))
    config = {"encoding": "base64", "skipPreflight": True}
    text = base64.b64encode(wire).decode()
    found: str = _call(
        f"{service.base_url}/priority", "sendTransaction", text, config, key=service.key
    )
    return found


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
