"""WebSockets with subscriptions: what each costs, and how long a notification takes."""

import asyncio
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

import psutil  # noqa: E402
from solders.keypair import Keypair  # noqa: E402
from solders.pubkey import Pubkey  # noqa: E402
from websockets.asyncio.client import ClientConnection, connect  # noqa: E402

_CONNECTIONS = 1_000
_OF_ONE = 2
_PER_SECOND = 40
_SECONDS = 20.0
_OPENED_AT_ONCE = 50
# Notified last: sees that all were.
_SETTLE_SECONDS = 6.0


def main() -> None:
    import tempfile

    os.environ.setdefault("TIDEMARK_RUN_DIR", tempfile.mkdtemp(prefix="tidemark-bench-"))
    from tests.clients import service as services

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    # An empty one: the service makes its own.
    services._copy_of_migrated = lambda run_dir: None
    with services.running_service(
        LOCALNET="true", WEB_WORKERS="2", MAX_CONNECTIONS_PER_ADDRESS="5000"
    ) as service:
        asyncio.run(_measure(service))


async def _measure(service: Any) -> None:
    ours = f"ws://{service.host}:{service.port}/?api_key={service.key}"
    accounts = [Pubkey.new_unique() for _ in range(_CONNECTIONS * _OF_ONE)]
    first = await connect(ours, compression=None)
    await asyncio.sleep(2.0)
    before = _memory(service.port)
    seen: dict[str, list[float]] = {}
    began = time.perf_counter()
    sockets: list[ClientConnection] = []
    for start in range(0, _CONNECTIONS, _OPENED_AT_ONCE):
        some = range(start, min(start + _OPENED_AT_ONCE, _CONNECTIONS - 1))
        sockets += await asyncio.gather(
            *(_subscribed(ours, accounts[n * _OF_ONE : (n + 1) * _OF_ONE], seen) for n in some)
        )
    opened = time.perf_counter() - began
    await asyncio.sleep(2.0)
    grown = _memory(service.port) - before
    known = accounts[: len(sockets) * _OF_ONE]
    direct: dict[str, list[float]] = {}
    node = await _subscribed(service.websocket_url, known, direct)
    cpu = _cpu_times(service.port)
    sent = await asyncio.to_thread(_pay, service, known)
    await asyncio.sleep(_SETTLE_SECONDS)
    spent = sum(_cpu_times(service.port)) - sum(cpu)
    late = [
        1_000 * (ours_at - node_at)
        for account in direct
        for ours_at, node_at in zip(seen.get(account, ()), direct[account], strict=False)
    ]
    notified = sum(map(len, seen.values()))
    cuts = statistics.quantiles(late, n=100)
    print(
        f"{len(sockets):,} connections with {len(known):,} subscriptions, opened"
        f" {len(sockets) / opened:,.0f} a second: {grown / len(sockets) / 1_024:.1f} kB each;"
        f" {sent} transfers, {notified} notified ({sum(map(len, direct.values()))} by the node),"
        f" after the node's own WebSocket p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms;"
        f" web processes took {spent / (_SECONDS + _SETTLE_SECONDS) * 100:.0f} % of a core"
    )
    for each in (first, node, *sockets):
        await each.close()


async def _subscribed(
    url: str, accounts: list[Pubkey], seen: dict[str, list[float]]
) -> ClientConnection:
    """A connection that notes when each account was notified."""
    socket = await connect(url, compression=None, max_size=None)
    config = {"commitment": "processed", "encoding": "base64"}
    names: dict[int, str] = {}
    for number, account in enumerate(accounts):
        call = {"jsonrpc": "2.0", "id": number, "method": "accountSubscribe"}
        await socket.send(json.dumps({**call, "params": [str(account), config]}))
        answer = json.loads(await socket.recv())
        names[answer["result"]] = str(account)

    async def listen() -> None:
        async for message in socket:
            now = time.perf_counter()
            account = names[json.loads(message)["params"]["subscription"]]
            seen.setdefault(account, []).append(now)

    socket.listening = asyncio.create_task(_until_closed(listen()))  # type: ignore[attr-defined]
    return socket


async def _until_closed(listening: Any) -> None:
    try:
        await listening
    except Exception:
        return


def _pay(service: Any, accounts: list[Pubkey]) -> int:
    from tests.localnet.wallets import SOL, pay, send, signed, wallet
    from tests.localnet_process import Localnet

    ports = {name: int(service.environment[f"LOCALNET_{name}_PORT"])
             for name in ("RPC", "GEYSER", "TPU", "BLOCK_ENGINE")}  # fmt: skip
    localnet = Localnet(
        service.run_dir,
        rpc_port=ports["RPC"],
        geyser_port=ports["GEYSER"],
        tpu_port=ports["TPU"],
        block_engine_port=ports["BLOCK_ENGINE"],
        settings={},
    )
    payer: Keypair = wallet(localnet, 5_000 * SOL)
    began, sent = time.perf_counter(), 0
    while time.perf_counter() - began < _SECONDS:
        instruction = pay(payer, accounts[sent % len(accounts)], SOL // 100 + sent)
        send(localnet, signed(localnet, [instruction], payer), skipPreflight=True)
        sent += 1
        time.sleep(max(0.0, began + sent / _PER_SECOND - time.perf_counter()))
    return sent


def _processes(port: int) -> list[psutil.Process]:
    """The web processes of the service, without their master."""
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


def _memory(port: int) -> int:
    return sum(each.memory_full_info().uss for each in _processes(port))


def _cpu_times(port: int) -> list[float]:
    times = [each.cpu_times() for each in _processes(port)]
    return [each.user + each.system for each in times]


if __name__ == "__main__":
    main()
