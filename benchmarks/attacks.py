"""Attacks on every door, and what a neighbour notices: p50 and p99 calm, during and after; memory
and restarts of the attacked processes.

The service runs whole, with localnet, and attackers at another address of the loopback. So that
their own CPU is not what a neighbour waits for, service and neighbours run in real time
(SCHED_RR, which needs root), before attackers and everything else; calm and attack take turns.
'ATTACKS=pings;idle' measures those with such a word in their name, ROUNDS=1 fewer turns.
"""

import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

import psutil  # noqa: E402

from benchmarks import attackers as by  # noqa: E402
from benchmarks.neighbours import Grpc, Http, Neighbour, WebSocket, http2_frame, measure  # noqa: E402
from benchmarks.service import processes_on  # noqa: E402

_ROUNDS = int(os.environ.get("ROUNDS", "3"))
_CALM_SECONDS = 3.0
_SECONDS = 3.0
_AFTER_SECONDS = 3.0
# Until the attacker has begun, and until its connections are gone.
_BEGINS_SECONDS = 0.5
_ENDS_SECONDS = 1.0
_OF_A_KIND = 4


@dataclass(frozen=True)
class Case:
    """An attack on a door, without a key or with one."""

    name: str
    door: str
    attack: by.Attack
    has_key: bool = False
    seconds: float = _SECONDS


def _cases() -> list[Case]:
    text = {True: ", with a key", False: ""}
    found = []
    for has_key in (False, True):
        for name, attack in _WEBSOCKET.items():
            found.append(Case(f"WebSocket: {name}{text[has_key]}", "web", attack, has_key))
        for name, attack in _HTTP.items():
            found.append(Case(f"HTTP: {name}{text[has_key]}", "web", attack, has_key))
        for name, attack in _GRPC.items():
            found.append(Case(f"gRPC: {name}{text[has_key]}", "grpc", attack, has_key))
    found += [
        Case("SSE: unread streams, with a key", "web", _SSE, True),
        Case("WebSocket: 10,000 subscriptions, with a key", "web", _MANY, True),
        Case("web: 3,000 idle connections", "web", by.idle("web", 3_000, 4), seconds=6.0),
        Case("gRPC: 3,000 idle connections", "grpc", by.idle("grpc", 3_000, 4), seconds=6.0),
    ]
    return found


def _in_parts(part: bytes) -> bytes:
    """A message, `[]`, with the same frame 900 times within."""
    return b"\x01\x81" + bytes(4) + b"[" + 900 * part + b"\x80\x81" + bytes(4) + b"]"


_PING = b"\x89\x80" + bytes(4)
_WEBSOCKET = {
    "empty continuations": by.websocket(_in_parts(b"\x00\x80" + bytes(4))),
    "pings": by.websocket(_PING),
    "pings whose pongs are not read": by.websocket(b"\x89\xfd" + bytes(4 + 125), reads=False),
    "fragments": by.websocket(_in_parts(b"\x00\x81" + bytes(4) + b" ")),
    "writes of one byte": by.websocket(_PING, step=1),
    "unread subscriptions": by.unread_subscriptions(10, 100),
}
_POST = b"POST /historical HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{key}"
_GET_SLOT = b'{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
_LARGE = b"GET /static/unfold/css/styles.css HTTP/1.1\r\nHost: localhost\r\n{key}\r\n"
_HEADS = 90 * (b"X-%s: %s\r\n" % (b"a" * 20, b"b" * 600))
_GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{key}"
_HTTP = {
    "slow heads": by.slowly(b"GET /healthz HTTP/1.1\r\n{key}", b"X: y\r\n", 800),
    "slow bodies": by.slowly(_POST + b"Content-Length: 1000\r\n\r\n{", b" ", 800),
    "large answers, unread": by.requests(_LARGE, reads=False, count=100),
    "large answers": by.requests(_LARGE),
    "pipelined pings": by.requests(_GET + b"\r\n"),
    "pipelined calls": by.requests(
        _POST + b"Content-Length: %d\r\n\r\n%b" % (len(_GET_SLOT), _GET_SLOT)
    ),
    "pipelined malformed": by.requests(b"GET /healthz HTTP/1.1\r\n{key}\r\n", count=50),
    "large heads": by.requests(_GET + _HEADS + b"\r\n"),
}
_SUBSCRIBE = "/geyser.Geyser/Subscribe"
_GRPC = {
    "PING": by.frames(http2_frame(6, bytes(8))),
    "SETTINGS": by.frames(http2_frame(4)),
    "PRIORITY": by.frames(http2_frame(2, bytes((0, 0, 0, 3, 1)), stream=1)),
    "empty DATA": by.frames(http2_frame(0, stream=1), path=_SUBSCRIBE),
    "WINDOW_UPDATE": by.frames(http2_frame(8, bytes((0, 0, 0, 1)))),
    "unfinished messages of 4 MiB": by.streams(
        _SUBSCRIBE, by.message(bytes(4_190_000), 4_194_304), each=100, count=3
    ),
    "unread streams": by.unread_streams(5, 10),
    "300,000 filters": by.many_filters(300_000),
    "rapid reset": by.streams(_SUBSCRIBE, by.reset, count=1),
    "rapid reset, ten connections in turn": by.in_turn(
        by.streams(_SUBSCRIBE, by.reset, count=10), 0.3
    ),
    "unary calls without a message": by.streams("/geyser.Geyser/GetSlot", by.nothing, each=100),
    "health checks without a message": by.streams(
        "/grpc.health.v1.Health/Check", by.nothing, each=100, count=50
    ),
    "health checks": by.streams("/grpc.health.v1.Health/Check", by.message(b"")),
}
_SSE = by.requests(
    b"GET /priority/fates/stream HTTP/1.1\r\nHost: localhost\r\n{key}\r\n", reads=False, count=30
)
_MANY = by.many_subscriptions(10, 1_000)


def main() -> None:
    os.environ.setdefault("TIDEMARK_RUN_DIR", tempfile.mkdtemp(prefix="tidemark-bench-"))
    from tests.clients import service as services
    from tests.localnet_process import free_ports

    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # An empty one: the service makes its own.
    services._copy_of_migrated = lambda run_dir: None
    words = [word for word in os.environ.get("ATTACKS", "").split(";") if word]
    chosen = [each for each in _cases() if not words or any(word in each.name for word in words)]
    grpc_port = free_ports(1)[0]
    with services.running_service(
        LOCALNET="true", WEB_WORKERS="2", GRPC_PORT=str(grpc_port)
    ) as service:
        key = _new_key(service.environment)
        _until_served(grpc_port, key)
        print(
            "attack | p50 / p99 calm, during, after, ms | of calm | refused or lost | MB before,"
            " most | restarts | sent"
        )
        for case in chosen:
            ports = (service.port, grpc_port)
            print(_row(case, _measured(case, ports, key, service.key)), flush=True)


def _new_key(environment: dict[str, str]) -> str:
    """The neighbours'."""
    command = "from benchmarks.service import new_key; print(new_key())"
    found = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", command],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")])},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return found.stdout.split()[-1]


def _until_served(grpc_port: int, key: str) -> None:
    """Until the chain is followed, and gRPC knows it."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            latencies, failed = measure([Grpc(grpc_port, key)], 0.2, _nothing)
        except OSError:
            latencies, failed = [], 1
        if latencies and not failed:
            return
        time.sleep(0.5)
    raise SystemExit("gRPC knows of no chain")


def _nothing() -> None: ...


@dataclass
class Found:
    """Latencies by phase, in seconds, and what became of the processes."""

    calm: list[float]
    during: list[float]
    after: list[float]
    failed: int
    before_mb: float
    most_mb: float
    restarts: int
    sent: int
    opened: int


def _measured(case: Case, ports: tuple[int, int], key: str, attackers_key: str) -> Found:
    port = ports[0] if case.door == "web" else ports[1]
    attacked = {each.pid: each for each in processes_on(port)}
    neighbours = _neighbours(case.door, port, key)
    found = Found([], [], [], 0, _memory(attacked.values()), 0.0, 0, 0, 0)

    def look() -> None:
        found.most_mb = max(found.most_mb, _memory(attacked.values()))

    measure(neighbours, 0.5, _nothing)
    for _ in range(_ROUNDS):
        found.calm += measure(neighbours, _CALM_SECONDS, look)[0]
        with _attacking(case, ports, attackers_key if case.has_key else None) as counts:
            time.sleep(_BEGINS_SECONDS)
            during, failed = measure(neighbours, case.seconds, look)
        found.during += during
        found.failed += failed
        found.sent += counts[0].value
        found.opened += counts[1].value
        time.sleep(_ENDS_SECONDS)
    found.after, failed = measure(neighbours, _AFTER_SECONDS, look)
    found.failed += failed
    for each in neighbours:
        each.socket.close()
    found.restarts = len(attacked.keys() - {each.pid for each in processes_on(port)})
    return found


def _neighbours(door: str, port: int, key: str) -> list[Neighbour]:
    """Enough that each process of the door has some."""
    if door == "grpc":
        return [Grpc(port, key) for _ in range(_OF_A_KIND)]
    return [kind(port, key) for _ in range(_OF_A_KIND) for kind in (Http, WebSocket)]


@contextmanager
def _attacking(case: Case, ports: tuple[int, int], key: str | None) -> Iterator[Any]:
    """The attack in a process of its own; its counts of bytes and connections."""
    forked = multiprocessing.get_context("fork")
    over, sent, opened = forked.Event(), forked.Value("Q", 0), forked.Value("Q", 0)
    target = by.Target(*ports, key, over, sent, opened)

    def run() -> None:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        case.attack(target)

    process = forked.Process(target=run, daemon=True)
    process.start()
    try:
        yield sent, opened
    finally:
        over.set()
        process.join(10)
        process.kill()
        process.join()


def _memory(processes: Any) -> float:
    """Megabytes, as the system counts them for the process."""
    total = 0
    for each in processes:
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1_048_576


def _row(case: Case, found: Found) -> str:
    phases = [_figures(each) for each in (found.calm, found.during, found.after)]
    ratio = phases[1][1] / phases[0][1]
    shown = ", ".join(f"{p50:.1f} / {p99:.1f}" for p50, p99 in phases)
    return (
        f"{case.name} | {shown} | {ratio:.1f} | {found.failed} | {found.before_mb:.0f},"
        f" {found.most_mb:.0f} | {found.restarts} | {found.sent / 1e3:,.0f} kB,"
        f" {found.opened:,} connections"
    )


def _figures(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99 in milliseconds."""
    if len(seconds) < 2:
        return float("nan"), float("nan")
    cuts = statistics.quantiles(seconds, n=100)
    return 1_000 * cuts[49], 1_000 * cuts[98]


if __name__ == "__main__":
    main()
