"""This checkout's web server beside an earlier revision's, on one database, taking turns.

`BASELINE=<revision> python -m benchmarks.versions`; without one the last that served WSGI by
granian. Figures are medians over the rounds, ratios are of the same round.
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
_ROUNDS = int(os.environ.get("ROUNDS", "7"))
_SECONDS = float(os.environ.get("SECONDS", "1.5"))
_CONNECTIONS = (1, 8, 32)
_ACCEPTS = 60_000
# Some calls alone, by their names with commas between.
_CALLS = os.environ.get("CALLS", "getSlot,getTransaction,accept,fetchtipaddress,fate").split(",")

Address = tuple[str, int]


def main() -> None:
    with database() as run_dir, earlier(_BASELINE) as tree:
        key, calls = _calls()
        del key
        environment = _addresses(run_dir)
        with (
            served("config.wsgi:application", workers=2, threads=8) as new,
            _earlier_service(tree, environment) as old,
        ):
            for name in _CALLS:
                requests = calls[name]
                for connections in _CONNECTIONS:
                    _compare(name, requests, connections, old, new)
            _fates(calls, new)


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


def _compare(
    name: str, requests: list[bytes], connections: int, old: Address, new: Address
) -> None:
    figures: dict[str, list[load.Figures]] = {"old": [], "new": []}
    sides = {"old": old, "new": new}
    for side in sides.values():
        _take(name, requests, side, connections, 0.5)
    for number in range(_ROUNDS):
        order = ("old", "new") if number % 2 == 0 else ("new", "old")
        for side in order:
            figures[side].append(_take(name, requests, sides[side], connections, _SECONDS))

    def ratio(what: str) -> float:
        pairs = zip(figures["new"], figures["old"], strict=True)
        return statistics.median(getattr(n, what) / getattr(o, what) for n, o in pairs)

    def middle(side: str, what: str) -> float:
        return statistics.median(getattr(each, what) for each in figures[side])

    print(
        f"{name:16} {connections:3} connections:"
        f" {middle('old', 'rate'):7,.0f} -> {middle('new', 'rate'):7,.0f}/s ({ratio('rate'):.2f})"
        f"  p50 {middle('old', 'p50') * 1e3:6.2f} -> {middle('new', 'p50') * 1e3:6.2f} ms"
        f" ({ratio('p50'):.2f})"
        f"  p99 {middle('old', 'p99') * 1e3:6.2f} -> {middle('new', 'p99') * 1e3:6.2f} ms"
        f" ({ratio('p99'):.2f})",
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

        client().delete(ACCEPTED_STREAM)
        _accepted = (_accepted + 5_000) % len(requests)
        requests = requests[_accepted : _accepted + 5_000] or requests[:5_000]
    return load.run(address, requests, connections=connections, seconds=seconds)


def _fates(calls: dict[str, list[bytes]], new: Address) -> None:
    """A fate's read beside a transaction's, in turns."""
    ratios = []
    for _ in range(_ROUNDS):
        read = load.run(new, calls["getTransaction"], connections=1, seconds=_SECONDS)
        fate = load.run(new, calls["fate"], connections=1, seconds=_SECONDS)
        ratios.append(fate.p50 / read.p50)
    print(f"a fate's read takes {statistics.median(ratios):.2f} of getTransaction's p50")


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
