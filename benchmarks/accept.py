"""How long an accept takes at 1, 100 and 1,000 a second, beside a bare app that only verifies."""

import base64
import sys
from collections.abc import Iterator
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from benchmarks import open_load
from benchmarks.open_load import Latencies
from benchmarks.service import bare_request, database, new_key, rpc_request, served

# {submissions a second: seconds of it}; each is taken so many times, and the best counts.
_RATES = {1: 15, 100: 10, 1_000: 8}
_PASSES = 3
_CONNECTIONS = 32
_WARM_UP = 400
# As `make run` starts it on two cores.
_WORKERS, _THREADS = 2, 16


def main() -> None:
    with database():
        from django.conf import settings

        key = new_key()
        made = transactions(settings.TIP_ADDRESSES[0])
        with (
            # No lander runs: nothing may be refused for that.
            served(
                "config.wsgi:application",
                workers=_WORKERS,
                threads=_THREADS,
                environment={"LANDING_BEHIND_SLOTS": "0"},
            ) as service,
            served("benchmarks.verifying:application", workers=_WORKERS, threads=_THREADS) as floor,
        ):
            print(
                f"{'a second':>10} {'':10} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>6} {'late ms':>8}"
            )
            _take(service, made, key, 1_000, _WARM_UP)
            _take(floor, made, "", 1_000, _WARM_UP)
            for rate, seconds in _RATES.items():
                bare = _best(floor, made, "", rate, rate * seconds)
                ours = _best(service, made, key, rate, rate * seconds)
                for name, figures in (("verifies", bare), ("accepts", ours)):
                    ratio = figures.p50 / bare.p50
                    print(
                        f"{rate:>10} {name:10} {figures.p50 * 1e3:8.2f} {figures.p99 * 1e3:8.2f}"
                        f" {ratio:6.2f} {figures.late * 1e3:8.2f}"
                    )
                    sys.stdout.flush()


def _best(
    address: tuple[str, int], made: Iterator[str], key: str, rate: int, count: int
) -> Latencies:
    passes = _PASSES if rate > 1 else 1
    return min(
        (_take(address, made, key, rate, count) for _ in range(passes)), key=lambda each: each.p99
    )


def _take(
    address: tuple[str, int], made: Iterator[str], key: str, rate: int, count: int
) -> Latencies:
    """Of an emptied queue, so that it takes as many as come."""
    from priority.submissions import ACCEPTED_STREAM
    from shared_state.redis_client import client

    # The queue's index is of what was in the stream.
    client().delete(ACCEPTED_STREAM, *client().scan_iter("tidemark:landing:[cwql]*"))
    config: Any = {"encoding": "base64", "skipPreflight": True}
    requests = []
    for _ in range(count):
        request = rpc_request(key, "sendTransaction", [next(made), config], path="/priority")
        requests.append(request if key else bare_request(0, request))
    return open_load.send(address, requests, rate=rate, connections=_CONNECTIONS)


def transactions(tip_address: Pubkey) -> Iterator[str]:
    payer = Keypair()
    pay = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=tip_address, lamports=1_000_000)
    while True:
        message = MessageV0.try_compile(payer.pubkey(), [transfer(pay)], [], Hash.new_unique())
        yield base64.b64encode(bytes(VersionedTransaction(message, [payer]))).decode()


if __name__ == "__main__":
    main()
