"""A program's accounts by WebSocket: what is sustained of a made stream at mainnet's load."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.sample_chain import _PROGRAMS, TRANSACTIONS
from benchmarks.service import ROOT, database, new_key
from benchmarks.websocket_clients import Closed, WebSocket
from chain.encodings import b58encode

_SLOT_SECONDS = 0.4
_SLOTS = 75
_SECONDS = 15.0
_BEGUN_SECONDS = 90.0


def main() -> None:
    with database() as run_dir:
        from access.models import Tier

        key = new_key()
        Tier.objects.update(
            stream_connections=100,
            stream_subscriptions=100,
            stream_notifications_per_second=None,
            stream_bytes_per_month=None,
        )
        for clients in (0, 1, 4):
            _measure(run_dir, key, clients)


def _measure(run_dir: Path, key: str, clients: int) -> None:
    from benchmarks.yellowstone import _cpu, _free_port
    from shared_state.redis_client import client

    client().flushdb()
    source = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.stream_source", str(_SLOTS), str(_SLOT_SECONDS)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert source.stdout is not None
    stream_port, node_port, writes = source.stdout.readline().split()
    port = _free_port()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
        "TIDEMARK_RUN_DIR": str(run_dir),
        "UPSTREAM_GEYSER_URL": f"http://127.0.0.1:{stream_port}",
        "UPSTREAM_RPC_URL": f"http://127.0.0.1:{node_port}",
        "WEBSOCKET_NEXT_PORT": "false",
        "LOG_LEVEL": "WARNING",
    }
    started = [
        subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        for words in (["serve", "--workers", "1", "--port", str(port)], ["follow", "--skip-checks"])
    ]
    try:
        reader = asyncio.run(_read(port, key, clients, [each.pid for each in started], _cpu))
        print(
            f"{clients} clients with a subscription to each of {len(_PROGRAMS)} programs, of"
            f" {TRANSACTIONS / _SLOT_SECONDS:,.0f} transactions/s and"
            f" {int(writes) / _SLOTS / _SLOT_SECONDS:,.0f} writes/s: {reader}",
            flush=True,
        )
    finally:
        for each in started:
            os.killpg(each.pid, signal.SIGKILL)
            each.wait()
        source.kill()
        source.wait()


async def _read(port: int, key: str, clients: int, pids: list[int], cpu: Any) -> str:
    counted = [0, 0]

    def take(text: bytes, _now: float) -> None:
        counted[0] += 1
        counted[1] += len(text)

    sockets = []
    for _ in range(clients):
        sockets.append(await _subscribed(port, key, take))
    if not sockets:
        await asyncio.sleep(8.0)
    await _flowing(counted, clients)
    follower = psutil.Process(pids[1])
    web = [psutil.Process(pids[0]), *psutil.Process(pids[0]).children(recursive=True)]
    before = sum(map(cpu, web)), cpu(follower), time.process_time()
    counted[:] = [0, 0]
    began = time.monotonic()
    await asyncio.sleep(_SECONDS)
    seconds = time.monotonic() - began
    spent = sum(map(cpu, web)) - before[0]
    closed = [each.closed for each in sockets if each.closed]
    return (
        f"{counted[0] / seconds:,.0f} notifications/s, {counted[1] / seconds / 1e6:.1f} MB/s in"
        f" {spent / seconds * 100:.0f} % of a core"
        f" ({counted[0] / spent if spent else 0:,.0f} per core-second); the follower took"
        f" {(cpu(follower) - before[1]) / seconds * 100:.0f} %, the client"
        f" {(time.process_time() - before[2]) / seconds * 100:.0f} %; closed: {closed}"
    )


async def _subscribed(port: int, key: str, take: Any) -> WebSocket:
    """To each program, once the service listens and knows the chain."""
    deadline = time.monotonic() + _BEGUN_SECONDS
    while True:
        answers: asyncio.Queue[bytes] = asyncio.Queue()
        answer = b"none"
        try:
            socket = await WebSocket.open("127.0.0.1", port, f"/?api_key={key}", _putter(answers))
            for program in _PROGRAMS:
                socket.send(_call(program))
                answer = await asyncio.wait_for(_answer(answers), 10.0)
                if b'"error"' in answer:
                    break
            else:
                socket.take = take
                return socket
        except (OSError, TimeoutError, Closed):
            pass
        if time.monotonic() > deadline:
            raise SystemExit(f"no subscription: {answer!r}")
        await asyncio.sleep(0.5)


def _call(program: bytes) -> bytes:
    config = {"encoding": "base64", "commitment": "processed"}
    params = [b58encode(program), config]
    call = {"jsonrpc": "2.0", "id": 1, "method": "programSubscribe", "params": params}
    return json.dumps(call).encode()


def _putter(answers: "asyncio.Queue[bytes]") -> Callable[[bytes, float], None]:
    return lambda text, _now: answers.put_nowait(text)


async def _answer(answers: "asyncio.Queue[bytes]") -> bytes:
    """The next that is no notification."""
    while b'"id"' not in (answer := await answers.get())[:200]:
        pass
    return answer


async def _flowing(counted: list[int], clients: int) -> None:
    deadline = time.monotonic() + _BEGUN_SECONDS
    while clients and not counted[0]:
        if time.monotonic() > deadline:
            raise SystemExit("nothing is notified")
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    main()
