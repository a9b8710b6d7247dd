"""WebSockets with subscriptions: what each costs, and how long a notification takes."""

import asyncio
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from solders.hash import Hash  # noqa: E402
from solders.keypair import Keypair  # noqa: E402
from solders.message import Message  # noqa: E402
from solders.pubkey import Pubkey  # noqa: E402
from solders.system_program import TransferParams, transfer  # noqa: E402
from solders.transaction import Transaction  # noqa: E402

from benchmarks.service import processes_on  # noqa: E402
from benchmarks.websocket_clients import WebSocket  # noqa: E402

# Each with a subscription to an account and one to a signature.
_CONNECTIONS = int(os.environ.get("CONNECTIONS", "5000"))
_PER_SECOND = 40
_SECONDS = 20.0
_OPENED_AT_ONCE = 100
# Signatures are subscribed to so long before they are sent.
_BEFORE_SECONDS = 2.0
# Notified last: sees that all were.
_SETTLE_SECONDS = 6.0
_SOL = 1_000_000_000
_NODE_CONNECTIONS = 4


def main() -> None:
    import tempfile

    os.environ.setdefault("TIDEMARK_RUN_DIR", tempfile.mkdtemp(prefix="tidemark-bench-"))
    from tests.clients import service as services

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    # An empty one: the service makes its own.
    services._copy_of_migrated = lambda run_dir: None
    with services.running_service(
        LOCALNET="true", WEB_WORKERS="2", MAX_CONNECTIONS_PER_ADDRESS=str(2 * _CONNECTIONS)
    ) as service:
        command = (
            "from access.models import Tier; Tier.objects.update(requests_per_second=100_000,"
            " requests_burst=100_000, stream_connections=100_000,"
            " stream_subscriptions=100_000, stream_notifications_per_second=None,"
            " stream_bytes_per_month=None)"
        )
        subprocess.run(
            [sys.executable, "manage.py", "shell", "-c", command],
            cwd=ROOT,
            env=service.environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        time.sleep(3.0)  # limits are read again
        asyncio.run(_Measurement(service).run())


class _Client:
    """One connection; notes when each account and signature was notified."""

    def __init__(self, seen: dict[str, list[float]]) -> None:
        self.seen = seen
        self.socket: WebSocket | None = None
        self._names: dict[int, str] = {}
        self._asked: dict[int, tuple[str, asyncio.Future[None]]] = {}
        self._early: list[tuple[int, float]] = []
        self._numbers = 0

    async def open(self, host: str, port: int, path: str) -> None:
        self.socket = await WebSocket.open(host, port, path, self._take)

    async def subscribe(self, method: str, name: str, config: dict[str, str]) -> None:
        self._numbers += 1
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked[self._numbers] = (name, answered)
        call = {"jsonrpc": "2.0", "id": self._numbers, "method": method}
        assert self.socket is not None
        self.socket.send(json.dumps({**call, "params": [name, config]}).encode())
        await answered

    def _take(self, text: bytes, now: float) -> None:
        message = json.loads(text)
        if "id" in message:
            name, answered = self._asked.pop(message["id"])
            self._names[message["result"]] = name
            answered.set_result(None)
        else:
            self.seen.setdefault(self._names[message["params"]["subscription"]], []).append(now)


class _Measurement:
    def __init__(self, service: Any) -> None:
        self._service = service
        self._ours: dict[str, list[float]] = {}
        self._direct: dict[str, list[float]] = {}
        self._clients: list[_Client] = []
        self._accounts = [str(Pubkey.new_unique()) for _ in range(_CONNECTIONS)]

    async def run(self) -> None:
        service = self._service
        path = f"/?api_key={service.key}"
        first = _Client({})
        await first.open(service.host, service.port, path)
        await asyncio.sleep(2.0)
        before = _memory(service.port)
        began = time.perf_counter()
        for start in range(0, _CONNECTIONS, _OPENED_AT_ONCE):
            some = self._accounts[start : start + _OPENED_AT_ONCE]
            self._clients += await asyncio.gather(*(self._opened(path, each) for each in some))
        opened = time.perf_counter() - began
        await asyncio.sleep(2.0)
        grown = _memory(service.port) - before
        nodes = await self._node_clients()
        gc.disable()  # the client's own pauses are not the service's
        cpu = sum(_cpu_times(service.port)), time.process_time()
        began = time.perf_counter()
        signatures = await self._pay(nodes)
        await asyncio.sleep(_SETTLE_SECONDS)
        seconds = time.perf_counter() - began
        spent, own = sum(_cpu_times(service.port)) - cpu[0], time.process_time() - cpu[1]
        closed = [
            each.socket.closed for each in self._clients if each.socket and each.socket.closed
        ]
        print(
            f"{len(self._clients):,} connections with {2 * len(self._clients):,} subscriptions,"
            f" opened {len(self._clients) / opened:,.0f} a second:"
            f" {grown / len(self._clients) / 1_024:.1f} kB each; {len(signatures)} transfers;"
            f" web processes took {spent / seconds * 100:.0f} % of a core, the client"
            f" {own / seconds * 100:.0f} %; closed: {len(closed)} {closed[:1]}"
        )
        self._show("accounts", self._accounts[: len(signatures)])
        self._show("signatures", signatures)

    def _show(self, what: str, names: list[str]) -> None:
        """Of what was sent: how many names were not notified once; how much later than the node."""
        wrong = [name for name in names if len(self._ours.get(name, ())) != 1]
        unseen = [name for name in names if len(self._direct.get(name, ())) != 1]
        late = [
            1_000 * (self._ours[name][0] - self._direct[name][0])
            for name in names
            if name in self._ours and name in self._direct
        ]
        cuts = statistics.quantiles(late, n=100)
        print(
            f"{what}: {len(names) - len(wrong)} of {len(names)} notified exactly once (by the node"
            f" itself {len(names) - len(unseen)}); after the node's own WebSocket"
            f" p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms"
        )

    async def _opened(self, path: str, account: str) -> _Client:
        client = _Client(self._ours)
        await client.open(self._service.host, self._service.port, path)
        config = {"commitment": "processed", "encoding": "base64"}
        await client.subscribe("accountSubscribe", account, config)
        nothing = str(Keypair().sign_message(b"never sent"))
        await client.subscribe("signatureSubscribe", nothing, {"commitment": "processed"})
        return client

    async def _node_clients(self) -> list[_Client]:
        """The same accounts at localnet itself: the floor."""
        host, _, port = self._service.websocket_url.removeprefix("ws://").rpartition(":")
        found = []
        for number in range(_NODE_CONNECTIONS):
            client = _Client(self._direct)
            await client.open(host, int(port.rstrip("/")), "/")
            config = {"commitment": "processed", "encoding": "base64"}
            for account in self._accounts[number::_NODE_CONNECTIONS]:
                await client.subscribe("accountSubscribe", account, config)
            found.append(client)
        return found

    async def _pay(self, nodes: list[_Client]) -> list[str]:
        """Transfers to one account after the other; each signature is subscribed to before."""
        node = _Node(int(self._service.environment["LOCALNET_RPC_PORT"]))
        payer = Keypair()
        await node.fund(payer, 4_000)
        loop = asyncio.get_running_loop()
        began = time.perf_counter()
        sent: list[str] = []
        pending: set[asyncio.Task[None]] = set()
        blockhash = await node.blockhash()
        while time.perf_counter() - began < _SECONDS:
            number = len(sent)
            if number % _PER_SECOND == 0:
                blockhash = await node.blockhash()
            to = Pubkey.from_string(self._accounts[number % len(self._accounts)])
            transaction = _payment(payer, to, _SOL // 100 + number, blockhash)
            signature = str(transaction.signatures[0])
            task = loop.create_task(self._send(node, bytes(transaction), signature, number, nodes))
            pending.add(task)
            task.add_done_callback(pending.discard)
            sent.append(signature)
            await asyncio.sleep(max(0.0, began + len(sent) / _PER_SECOND - time.perf_counter()))
        await asyncio.gather(*pending)
        return sent

    async def _send(
        self, node: "_Node", wire: bytes, signature: str, number: int, nodes: list[_Client]
    ) -> None:
        config = {"commitment": "processed"}
        client = self._clients[-1 - number % len(self._clients)]
        await client.subscribe("signatureSubscribe", signature, config)
        await nodes[number % len(nodes)].subscribe("signatureSubscribe", signature, config)
        await asyncio.sleep(_BEFORE_SECONDS)
        await node.send(wire)


class _Node:
    """localnet's JSON-RPC, over one connection at a time."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    async def fund(self, payer: Keypair, sol: int) -> None:
        await self._call("requestAirdrop", str(payer.pubkey()), sol * _SOL)
        while not (await self._call("getBalance", str(payer.pubkey())))["value"]:
            await asyncio.sleep(0.2)

    async def blockhash(self) -> Hash:
        found = await self._call("getLatestBlockhash", {"commitment": "confirmed"})
        return Hash.from_string(found["value"]["blockhash"])

    async def send(self, wire: bytes) -> None:
        import base64

        text = base64.b64encode(wire).decode()
        await self._call("sendTransaction", text, {"encoding": "base64", "skipPreflight": True})

    async def _call(self, method: str, *params: Any) -> Any:
        import urllib.request

        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})

        def ask() -> Any:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)

        answer = await asyncio.to_thread(ask)
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        return answer["result"]


def _payment(payer: Keypair, to: Pubkey, lamports: int, blockhash: Hash) -> Transaction:
    pay = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
    message = Message.new_with_blockhash([transfer(pay)], payer.pubkey(), blockhash)
    return Transaction([payer], message, blockhash)


def _memory(port: int) -> int:
    return sum(each.memory_full_info().uss for each in processes_on(port))


def _cpu_times(port: int) -> list[float]:
    times = [each.cpu_times() for each in processes_on(port)]
    return [each.user + each.system for each in times]


if __name__ == "__main__":
    main()
