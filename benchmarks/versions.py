"""This checkout's web server beside an earlier revision's, on one database, taking turns.

`BASELINE=<revision> python -m benchmarks.versions`; without one the last that served WSGI by
granian. Both are started anew several times: how fast a process turns out differs by a quarter from
start to start. Figures are medians, a ratio is of the same start.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks import load  # noqa: E402
from benchmarks.accept import transactions  # noqa: E402
from benchmarks.service import (  # noqa: E402
    FIXTURES,
    database,
    granian_of,
    import_path,
    listening,
    rpc_request,
    served,
)
from benchmarks.tip_fetches import key_for_fetches, prepare_batches  # noqa: E402

_BASELINE = os.environ.get("BASELINE", "382a5c8")
_STARTS = int(os.environ.get("STARTS", "5"))
_ROUNDS = int(os.environ.get("ROUNDS", "2"))
_SECONDS = float(os.environ.get("SECONDS", "1"))
_WARM_SECONDS = 0.3
_CONNECTIONS = (1, 8, 32)
_ACCEPTS = 60_000
# Some calls alone, by their names with commas between.
_CALLS = os.environ.get("CALLS", "getSlot,getTransaction,accept,fetchtipaddress,fate").split(",")

Address = tuple[str, int]
# By call, connections and side: the figures of each start.
Starts = dict[tuple[str, int, str], list[list[load.Figures]]]


def main() -> None:
    with database() as run_dir, earlier(_BASELINE) as tree:
        key, calls = _calls()
        del key
        environment = _addresses(run_dir)
        starts: Starts = {}
        fates = 0.0
        for number in range(_STARTS):
            with (
                # No lander runs: nothing may be refused for that.
                served(
                    "config.wsgi:application", workers=2, threads=8, LANDING_BEHIND_SLOTS="0"
                ) as new,
                _earlier_service(tree, environment) as old,
            ):
                sides = {"old": old, "new": new} if number % 2 else {"new": new, "old": old}
                for name in _CALLS:
                    for connections in _CONNECTIONS:
                        _measure(starts, name, calls[name], connections, sides)
                fates = _fates(calls, new) if number == 0 else fates
        for name in _CALLS:
            for connections in _CONNECTIONS:
                _show(starts, name, connections)
        print(f"a fate's read takes {fates:.2f} of getTransaction's p50")


def _calls() -> tuple[str, dict[str, list[bytes]]]:
    from django.conf import settings

    key = key_for_fetches()
    prepare_batches()
    recorded = import_path(FIXTURES / "mainnet-254170887.base64.json.gz")
    signatures = _signatures(int(recorded.first_slot))
    versions = {"maxSupportedTransactionVersion": 0, "encoding": "base64"}
    made = transactions(settings.TIP_ADDRESSES[0])
    config = {"encoding": "base64", "skipPreflight": True}
    return key, {
        "getSlot": [rpc_request(key, "getSlot", [])],
        "getTransaction": [
            rpc_request(key, "getTransaction", [each, versions]) for each in signatures
        ],
        "accept": [
            rpc_request(key, "sendTransaction", [next(made), config], path="/priority")
            for _ in range(_ACCEPTS)
        ],
        "fetchtipaddress": [_get(key, "/priority/fetchtipaddress")],
        "fate": [_get(key, f"/priority/fate/{each}") for each in _landed(key)],
    }


def _get(key: str, path: str) -> bytes:
    return (f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\n\r\n").encode()


def _signatures(slot: int) -> list[str]:
    from chain.encodings import b58encode
    from historical.models import Transaction

    found = Transaction.objects.filter(slot=slot).values_list("signature", flat=True)[:500]
    return [each if isinstance(each, str) else b58encode(bytes(each)) for each in found]


def _landed(secret: str) -> list[str]:
    from access.key_text import digest_of
    from access.models import ApiKey
    from tests.priority.submitted import landed

    key = ApiKey.objects.get(digest=digest_of(secret))
    return [str(landed(key, number).signature) for number in range(300)]


def _measure(
    starts: Starts, name: str, requests: list[bytes], connections: int, sides: dict[str, Address]
) -> None:
    for side, address in sides.items():
        _take(name, requests, address, connections, _WARM_SECONDS)
        starts.setdefault((name, connections, side), []).append([])
    for _ in range(_ROUNDS):
        for side, address in sides.items():
            figures = _take(name, requests, address, connections, _SECONDS)
            starts[name, connections, side][-1].append(figures)


def _show(starts: Starts, name: str, connections: int) -> None:
    def of(side: str, what: str) -> list[float]:
        """By start."""
        found = starts[name, connections, side]
        return [statistics.mean(getattr(each, what) for each in start) for start in found]

    def compared(what: str, scale: float) -> str:
        old, new = of("old", what), of("new", what)
        ratios = [n / o for n, o in zip(new, old, strict=True)]
        middle = statistics.median(ratios)
        before, now = statistics.median(old) * scale, statistics.median(new) * scale
        return f"{before:9,.2f} -> {now:9,.2f} ({middle:.2f}; {min(ratios):.2f}-{max(ratios):.2f})"

    print(
        f"{name:16} {connections:3} connections: {compared('rate', 1)}/s"
        f"  p50 {compared('p50', 1e3)} ms  p99 {compared('p99', 1e3)} ms",
        flush=True,
    )


_accepted = 0


def _take(
    name: str, requests: list[bytes], address: Address, connections: int, seconds: float
) -> load.Figures:
    global _accepted
    if name == "accept":
        # Each is accepted once: every turn has its own, of an emptied queue.
        from access.redis_client import client
        from priority.submissions import ACCEPTED_STREAM

        client().delete(ACCEPTED_STREAM, *client().scan_iter("tidemark:landing:[cwql]*"))
        _accepted = (_accepted + 5_000) % len(requests)
        requests = requests[_accepted : _accepted + 5_000] or requests[:5_000]
    return load.run(address, requests, connections=connections, seconds=seconds)


def _fates(calls: dict[str, list[bytes]], new: Address) -> float:
    """A fate's read beside a transaction's, in turns: how much of its p50 it takes."""
    ratios = []
    for _ in range(5):
        read = load.run(new, calls["getTransaction"], connections=1, seconds=_SECONDS)
        fate = load.run(new, calls["fate"], connections=1, seconds=_SECONDS)
        ratios.append(fate.p50 / read.p50)
    return statistics.median(ratios)


@contextmanager
def earlier(revision: str) -> Iterator[Path]:
    """A checkout of the revision in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="tidemark-earlier-"))
    try:
        archive = subprocess.run(
            ["git", "archive", revision], cwd=ROOT, check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _earlier_service(tree: Path, environment: dict[str, str]) -> Iterator[Address]:
    command = granian_of("config.wsgi:application", threads=16, workers=2)
    path = os.pathsep.join([str(tree), str(tree / "platform")])
    with listening(command, cwd=tree, environment={**environment, "PYTHONPATH": path}) as address:
        yield address


def _addresses(run_dir: Path) -> dict[str, str]:
    """By these the earlier revision finds the servers, however it would look for them itself."""
    from django.conf import settings

    return {
        "DATABASE_URL": settings.DATABASE_URL,
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "TIP_SECRET_SEED": settings.TIP_SECRET_SEED.hex(),
        "TIDEMARK_RUN_DIR": str(run_dir),
    }


if __name__ == "__main__":
    main()
