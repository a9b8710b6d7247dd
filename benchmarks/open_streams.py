"""Streams of fates that are open at once: what each costs the web processes in memory."""

import resource
import socket
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

import psutil  # noqa: E402

from benchmarks.service import SERVICE, database, served  # noqa: E402

_STREAMS = 2_000
_OF_A_KEY = 20


def main() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    with database():
        keys = _keys(_STREAMS // _OF_A_KEY)
        with served(
            SERVICE, workers=2, environment={"MAX_CONNECTIONS_PER_ADDRESS": "5000"}
        ) as address:
            opened = [_open(address, keys[0])]
            time.sleep(3)
            before = _memory()
            began = time.perf_counter()
            for number in range(1, _STREAMS):
                opened.append(_open(address, keys[number // _OF_A_KEY]))
            spent = time.perf_counter() - began
            time.sleep(3)
            grown = _memory() - before
            cpu = _cpu(10.0)
            print(
                f"{_STREAMS:,} open streams: {grown / _STREAMS / 1_024:.1f} kB each,"
                f" {grown / 1_048_576:.0f} MB in all; opened {_STREAMS / spent:,.0f} a second;"
                f" idle they take {cpu:.1f} % of a core"
            )
            for each in opened:
                each.close()


def _keys(count: int) -> list[str]:
    from access.models import Customer, Tier
    from access.services.keys import issue_key

    tier, _ = Tier.objects.get_or_create(
        name="bench", defaults={"rank": 50, "requests_per_second": None}
    )
    customer, _ = Customer.objects.get_or_create(name="bench")
    return [issue_key(customer, tier=tier, name=f"bench {n}").secret for n in range(count)]


def _open(address: tuple[str, int], key: str) -> socket.socket:
    """An open stream that has said `ready`."""
    connection = socket.create_connection(address)
    head = "GET /priority/fates/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
    connection.sendall(f"{head}{key}\r\n\r\n".encode())
    received = b""
    while b"event: ready" not in received:
        piece = connection.recv(4_096)
        if not piece:
            raise RuntimeError(f"answered {received[:300]!r}")
        received += piece
    return connection


def _processes() -> list[psutil.Process]:
    return [
        each
        for each in psutil.Process().children(recursive=True)
        if "serve" in each.cmdline() and each.num_threads() > 1
    ]


def _memory() -> int:
    return sum(each.memory_full_info().uss for each in _processes())


def _cpu(seconds: float) -> float:
    """Of a core, in percent."""
    times = [each.cpu_times() for each in _processes()]
    time.sleep(seconds)
    after = [each.cpu_times() for each in _processes()]
    spent = sum(b.user + b.system - a.user - a.system for a, b in zip(times, after, strict=True))
    return spent / seconds * 100


if __name__ == "__main__":
    main()
