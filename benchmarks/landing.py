"""Landing: from a request's receipt to the first byte on an upstream's socket, to the block, and
how many a second one lander bears.
"""

import asyncio
import base64
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks.service import database  # noqa: E402

PACED, PAUSE_SECONDS = 400, 0.02
# Submissions a second, and for how many seconds; each goes three ways.
RATES, SECONDS = (100, 300, 500), 10
_TIP_ACCOUNTS = [str(Keypair().pubkey()) for _ in range(8)]


def main() -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    sink = multiprocessing.get_context("spawn").Process(target=_sink, args=(theirs,), daemon=True)
    sink.start()
    port = ours.recv()
    try:
        with database():
            _measure(port, ours)
    finally:
        ours.send(None)
        sink.join()


def _measure(port: int, sink: Connection) -> None:
    from priority.models import Upstream

    url = f"http://127.0.0.1:{port}"
    Upstream.objects.all().delete()
    Upstream.objects.create(name="one", kind="node", url=url)
    with _lander() as process:
        delays = _paced(sink)
        print(
            f"receipt to first byte, one by one: p50 {delays[len(delays) // 2] * 1e3:.2f} ms,"
            f" p99 {delays[int(len(delays) * 0.99)] * 1e3:.2f} ms"
        )
        Upstream.objects.create(name="two", kind="node", url=f"{url}/two")
        Upstream.objects.create(
            name="engine", kind="block_engine", url=url, own_tip_lamports=10_000
        )
        time.sleep(3)
        print(f"{'a second':>10} {'p50 ms':>8} {'p99 ms':>8} {'core %':>7} {'rows after s':>13}")
        for rate in RATES:
            _loaded(rate, sink, process)


def _paced(sink: Connection) -> list[float]:
    received = {}
    for each in _transactions(PACED):
        received[each] = _accept(each)
        time.sleep(PAUSE_SECONDS)
    return _delays(received, sink)


def _loaded(rate: int, sink: Connection, process: psutil.Process) -> None:
    from priority.models import Submission

    made = _transactions(rate * SECONDS)
    before = Submission.objects.count()
    cpu, begun = process.cpu_times(), time.time()
    received = {}
    for number, each in enumerate(made):
        due = begun + number / rate
        if (wait := due - time.time()) > 0:
            time.sleep(wait)
        received[each] = _accept(each)
    ended, after = time.time(), process.cpu_times()
    while Submission.objects.exclude(sent_at=None).count() - before < len(made):
        if time.time() - ended > 30:
            raise TimeoutError("rows are missing")
        time.sleep(0.05)
    rows = time.time() - ended
    used = (after.user + after.system - cpu.user - cpu.system) / (ended - begun)
    delays = _delays(received, sink)
    print(
        f"{rate:>10} {delays[len(delays) // 2] * 1e3:8.2f}"
        f" {delays[int(len(delays) * 0.99)] * 1e3:8.2f} {used * 100:7.0f} {rows:13.2f}"
    )


def _delays(received: dict[bytes, float], sink: Connection) -> list[float]:
    """From the receipt to when the first upstream had read the first byte of it."""
    time.sleep(0.5)
    sink.send("arrivals")
    arrivals: dict[bytes, float] = sink.recv()
    return sorted(arrivals[wire] - at for wire, at in received.items())


def _accept(wire: bytes) -> float:
    from access.redis_client import client
    from priority.submissions import ACCEPTED_STREAM, FIELD, Accepted, pack

    at = time.time()
    accepted = Accepted(
        kind="transaction",
        signatures=[wire[1:65]],
        wires=[wire],
        received_at=at,
        key_id=None,
        tier="basic",
        edge="bench",
        request_id="bench",
        max_retries=0,
    )
    client().xadd(ACCEPTED_STREAM, {FIELD: pack(accepted)})
    return at


def _transactions(count: int) -> list[bytes]:
    payer = Keypair()
    pay = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=Pubkey.default(), lamports=1)
    return [
        bytes(
            VersionedTransaction(
                MessageV0.try_compile(payer.pubkey(), [transfer(pay)], [], Hash.new_unique()),
                [payer],
            )
        )
        for _ in range(count)
    ]


@contextmanager
def _lander() -> Iterator[psutil.Process]:
    """`manage.py land`, to which somebody tells of a chain that stands still."""
    from priority.happenings import BlockMade, SlotMoved
    from priority.services.telling import tell

    block = BlockMade(1, 0, bytes(Hash.new_unique()), 1)
    tell([block, SlotMoved(1, "processed")], now=time.time())
    process = subprocess.Popen(
        [sys.executable, "manage.py", "land", "--name", "bench"],
        cwd=ROOT,
        env={**os.environ, "UPSTREAM_RPC_URL": "http://127.0.0.1:1", "LOCALNET": "false"},
    )
    try:
        from priority.services.landing.names import landers

        while not landers().get("bench", {}).get("upstreams"):
            time.sleep(0.1)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _sink(told: Connection) -> None:
    """Nodes and an engine that take everything: when the first byte of each wire came."""
    asyncio.run(_take_everything(told))


class _Door(asyncio.Protocol):
    def __init__(self, arrivals: dict[bytes, float]) -> None:
        self._arrivals = arrivals
        self._received = b""
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._received:
            self._began = time.time()
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = int(head.lower().rpartition(b"content-length: ")[2] or b"0") if end else 0
        if not end or len(body) < length:
            return
        self._received = b""
        call = json.loads(body)
        result: Any = "taken"
        if call["method"] == "getTipAccounts":
            result = _TIP_ACCOUNTS
        elif call["params"]:
            first = call["params"][0]
            wire = base64.b64decode(first if isinstance(first, str) else first[0])
            self._arrivals.setdefault(wire, self._began)
        answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer
        )


async def _take_everything(told: Connection) -> None:
    loop = asyncio.get_running_loop()
    arrivals: dict[bytes, float] = {}
    server = await loop.create_server(lambda: _Door(arrivals), "127.0.0.1", 0)
    told.send(server.sockets[0].getsockname()[1])
    ended = asyncio.Event()

    def asked() -> None:
        if told.recv() is None:
            ended.set()
        else:
            told.send(dict(arrivals))
            arrivals.clear()

    loop.add_reader(told.fileno(), asked)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    main()
