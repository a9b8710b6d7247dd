"""simulateBundle of four token transfers, on a localnet's newest state and on past state."""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from solders.hash import Hash
from solders.message import MessageV0
from solders.transaction import VersionedTransaction

from benchmarks import load, replay
from benchmarks.service import ROOT, database, new_key, rpc_request, served
from chain.encodings import b64encode

_BUNDLES, SIZE = 10, 4
_SECONDS = 4.0


def main() -> None:
    with database(), tempfile.TemporaryDirectory() as folder:
        past = Path(folder, "past")
        past.mkdir()
        records = replay.chain_of_transfers(past)
        replay.record(records)
        place = {"slot": replay.BLOCKS, "replaceRecentBlockhash": True}
        bundles = bundles_on(Hash.from_string(records[-1].blockhash))
        raw = _raw(bundles)
        with served("config.wsgi:application", environment={"LOCALNET": "false"}) as ours:
            _measure("at a past slot", ours, bundles, place, raw)
        with (
            _localnet(Path(folder)) as url,
            served("config.wsgi:application", environment={"UPSTREAM_RPC_URL": url}) as ours,
        ):
            latest = _call(url, "getLatestBlockhash", {"commitment": "processed"})
            bundles = bundles_on(Hash.from_string(latest["value"]["blockhash"]))
            _measure("on the newest state", ours, bundles, {}, raw)


def _measure(
    name: str,
    ours: tuple[str, int],
    bundles: list[list[VersionedTransaction]],
    members: dict[str, Any],
    raw: float,
) -> None:
    key = new_key()
    requests = [
        rpc_request(
            key,
            "simulateBundle",
            [{"encodedTransactions": [b64encode(bytes(each)) for each in bundle], **members}],
            path="/",
        )
        for bundle in bundles
    ]
    answer = load.exchange(ours, requests[0])
    assert b'"err":null' in answer and b'"error"' not in answer, answer[:2000]
    for connections in (1, 8):
        load.run(ours, requests, connections=connections, seconds=1.0)
        figure = load.run(ours, requests, connections=connections, seconds=_SECONDS)
        print(
            f"simulateBundle of {SIZE} {name}, {connections} connections:"
            f" {figure.rate:,.0f}/s p50 {figure.p50 * 1e3:.2f} ms p99 {figure.p99 * 1e3:.2f} ms;"
            f" the engine's {raw * 1e6:,.0f} µs are {raw / figure.p50:.0%} of the p50",
            flush=True,
        )


def bundles_on(blockhash: Hash) -> list[list[VersionedTransaction]]:
    """Each of four payers' transfers of tokens, on this blockhash."""
    return [
        [_signed(SIZE * number + place, blockhash, amount=1 + number) for place in range(SIZE)]
        for number in range(_BUNDLES)
    ]


def _signed(place: int, blockhash: Hash, *, amount: int) -> VersionedTransaction:
    payer = replay.PAYERS[place]
    moved = replay.token_transfer(place, (place + 1) % replay.TRANSFERS, amount)
    message = MessageV0.try_compile(payer.pubkey(), [moved], [], blockhash)
    return VersionedTransaction(message, [payer])


def _raw(bundles: list[list[VersionedTransaction]]) -> float:
    """Median seconds of the engine in this process for a bundle, its accounts loaded already."""
    from rewind.positions import Asked
    from rewind.replay.services.past_state import past
    from rewind.replay.services.running import run_on
    from simulator.client import engine_processes
    from simulator.engine import Engine

    engine, times = Engine(), []
    there = past(Asked(slot=replay.BLOCKS))
    for bundle in bundles * 10:
        _, accounts = run_on(there, bundle)
        begun = time.perf_counter()
        engine.execute_bundle(bundle, load=accounts.get, moment=there.moment, verify=False)
        times.append(time.perf_counter() - begun)
    engine_processes().close()
    return statistics.median(times)


@contextmanager
def _localnet(folder: Path) -> Iterator[str]:
    """A localnet that starts with the payers, the mint and their tokens: its JSON-RPC's address."""
    accounts = folder / "accounts"
    accounts.mkdir()
    for key, account in replay.given_accounts().items():
        told = {
            "lamports": account.lamports,
            "data": [b64encode(account.data), "base64"],
            "owner": str(account.owner),
            "executable": account.executable,
        }
        file = accounts / f"{key}.json"
        file.write_text(json.dumps({"pubkey": str(key), "account": told}))
    ports = _free_ports()
    environment = {
        **os.environ,
        "TIDEMARK_RUN_DIR": str(folder / "localnet"),
        **{
            f"LOCALNET_{name}_PORT": str(port)
            for name, port in zip(("RPC", "GEYSER", "TPU", "BLOCK_ENGINE"), ports, strict=True)
        },
    }
    url = f"http://127.0.0.1:{ports[0]}"
    process = subprocess.Popen(
        [sys.executable, "manage.py", "localnet", "--accounts", str(accounts)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        mint = str(replay.MINT)
        for _ in range(600):
            try:
                if _call(url, "getAccountInfo", mint)["value"] is not None:
                    break
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _free_ports() -> list[int]:
    """Four; the first has a free one behind it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = port if port < 60_000 else port - 10_000
    return [base, base + 2, base + 3, base + 4]


def _call(url: str, method: str, *params: Any) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)})
    request = urllib.request.Request(
        url, body.encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)["result"]


if __name__ == "__main__":
    main()
