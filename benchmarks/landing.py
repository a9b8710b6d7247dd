"""Landing: from a request's receipt to the first byte on an upstream's socket, and what a
transaction costs the lander at several rates.

`python -m benchmarks.landing [--checkout PATH]… [--rates 100,1000] [--seconds 10] [--rounds 1]`:
several checkouts take turns, so that they meet the same machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks.landing_sinks import Sinks, sinks  # noqa: E402
from benchmarks.service import database  # noqa: E402

PACED, PAUSE_SECONDS = 400, 0.02
SLOT_SECONDS = 0.4
# Slots from a transaction's acceptance to its block, and to when that is confirmed.
LANDS_AFTER, CONFIRMED_AFTER = 1, 2
PATIENCE_SECONDS = 30.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--checkout", action="append", type=Path, default=[])
    options.add_argument("--rates", default="100,300,500,1000")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--rounds", type=int, default=1)
    chosen = options.parse_args()
    rates = [int(rate) for rate in chosen.rates.split(",")]
    with sinks() as taken, database() as run_dir:
        _upstreams(taken.url)
        for number in range(chosen.rounds):
            for checkout in chosen.checkout or [ROOT]:
                _measure(checkout, taken, run_dir, rates, chosen.seconds, paced=number == 0)


def _upstreams(url: str) -> None:
    """Three ways: a leader by QUIC, a node, and an engine with a tip of ours."""
    from priority.upstreams.models import Upstream

    Upstream.objects.all().delete()
    Upstream.objects.create(name="leaders", kind="leaders", url=url)
    Upstream.objects.create(name="node", kind="node", url=url)
    Upstream.objects.create(name="engine", kind="block_engine", url=url, own_tip_lamports=10_000)


def _measure(
    checkout: Path, taken: Sinks, run_dir: Path, rates: list[int], seconds: float, *, paced: bool
) -> None:
    with _chain() as chain, _lander(checkout, taken) as process:
        print(f"{checkout}: {os.getloadavg()[0]:.1f} processes wait for two cores or run on them")
        if paced:
            delays = _paced(chain, taken)
            print(f"receipt to first byte, one by one: {_percentiles(delays)}")
        print(
            f"{'a second':>10} {'landing':>8} {'p50 ms':>8} {'p99 ms':>8} {'lander ms':>10}"
            f" {'postgres':>9} {'redis':>6} {'rows after s':>13}  reached"
        )
        for lands in (False, True):
            for rate in rates:
                _loaded(rate, seconds, taken, process, run_dir, chain, lands=lands)


def _paced(chain: "Chain", taken: Sinks) -> list[float]:
    received = {}
    for each in _transactions(PACED, chain.blockhash):
        received[each] = _accept(each, max_retries=0)
        time.sleep(PAUSE_SECONDS)
    return _delays(received, taken)[0]


def _loaded(
    rate: int,
    seconds: float,
    taken: Sinks,
    process: psutil.Process,
    run_dir: Path,
    chain: "Chain",
    *,
    lands: bool,
) -> None:
    """They land and are confirmed, or are sent once and watched."""
    from priority.models import Submission

    made = _transactions(int(rate * seconds), chain.blockhash)
    done = Submission.objects.filter(commitment="confirmed")
    if not lands:
        done = Submission.objects.exclude(sent_at=None)
    before = done.count()
    servers = _Servers(run_dir)
    cpu, of_servers, begun = process.cpu_times(), servers.seconds(), time.time()
    received = {}
    for number, each in enumerate(made):
        due = begun + number / rate
        if (wait := due - time.time()) > 0:
            time.sleep(wait)
        received[each] = _accept(each, max_retries=None if lands else 0)
        if lands:
            chain.lands(each[1:65])
    ended = time.time()
    while done.count() - before < len(made):
        if time.time() - ended > PATIENCE_SECONDS:
            print(f"{rate:>10} only {done.count() - before} of {len(made)} rows are there")
            return
        time.sleep(0.05)
    rows, after = time.time() - ended, process.cpu_times()
    used = after.user + after.system - cpu.user - cpu.system
    postgres, redis = (now - then for now, then in zip(servers.seconds(), of_servers, strict=True))
    delays, reached = _delays(received, taken)
    per = 1e3 / len(made)
    print(
        f"{rate:>10} {'yes' if lands else 'no':>8} {delays[len(delays) // 2] * 1e3:8.2f}"
        f" {delays[int(len(delays) * 0.99)] * 1e3:8.2f} {used * per:10.3f} {postgres * per:9.3f}"
        f" {redis * per:6.3f} {rows:13.2f}  {reached}",
        flush=True,
    )


class _Servers:
    """Processor seconds of PostgreSQL and of Valkey."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = str(run_dir)

    def seconds(self) -> tuple[float, float]:
        """Of those alive, and of PostgreSQL's processes that ended."""
        postgres = redis = 0.0
        for child in psutil.Process().children(recursive=True):
            name = child.name()
            if name.startswith(("postgres", "valkey")):
                times = child.cpu_times()
                used = times.user + times.system + times.children_user + times.children_system
                if name.startswith("postgres"):
                    postgres += used
                else:
                    redis += used
        return postgres, redis


def _delays(received: dict[bytes, float], taken: Sinks) -> tuple[list[float], dict[str, int]]:
    """From the receipt to when the first upstream had read the first byte of it; and how many
    transactions each upstream has read. What landed before it was sent never is.
    """
    time.sleep(0.5)
    arrivals = taken.arrivals()
    first = arrivals.first
    delays = sorted(first[wire] - at for wire, at in received.items() if wire in first)
    if len(delays) < len(received):
        arrivals.counts["unsent"] = len(received) - len(delays)
    return delays, arrivals.counts


def _percentiles(seconds: list[float]) -> str:
    p50, p99 = statistics.median(seconds), seconds[int(len(seconds) * 0.99)]
    return f"p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms"


def _accept(wire: bytes, *, max_retries: int | None) -> float:
    from priority.submissions import ACCEPTED_STREAM, FIELD, Accepted, pack
    from shared_state.redis_client import client

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
        max_retries=max_retries,
    )
    client().xadd(ACCEPTED_STREAM, {FIELD: pack(accepted)})
    return at


def _transactions(count: int, blockhash: Hash) -> list[bytes]:
    payer = Keypair()
    return [
        bytes(
            VersionedTransaction(
                MessageV0.try_compile(
                    payer.pubkey(),
                    [
                        transfer(
                            TransferParams(
                                from_pubkey=payer.pubkey(),
                                to_pubkey=Pubkey.default(),
                                lamports=number,
                            )
                        )
                    ],
                    [],
                    blockhash,
                ),
                [payer],
            )
        )
        for number in range(count)
    ]


@dataclass
class Chain:
    """One that is told of as a follower does: a slot after the other."""

    blockhash: Hash = field(default_factory=Hash.new_unique)
    slot: int = 100

    def __post_init__(self) -> None:
        self._landing: dict[int, list[bytes]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def lands(self, signature: bytes) -> None:
        with self._lock:
            self._landing.setdefault(self.slot + LANDS_AFTER, []).append(signature)

    def start(self) -> None:
        self._tell_block(self.slot)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(SLOT_SECONDS):
            with self._lock:
                self.slot += 1
            self._tell_block(self.slot)

    def _tell_block(self, slot: int) -> None:
        from priority.chain_events import BlockMade, Seen, SlotMoved
        from priority.lander.store.chain_events import publish_events

        signatures = self._landing.pop(slot, [])
        blockhash = Hash.new_unique()
        publish_events(
            [
                SlotMoved(slot, "began"),
                Seen(slot, b"".join(signatures), list(range(len(signatures))), {}),
                BlockMade(slot, slot - 1, bytes(blockhash), slot),
                SlotMoved(slot, "processed"),
                SlotMoved(slot - CONFIRMED_AFTER, "confirmed"),
            ],
            now=time.time(),
        )
        self.blockhash = blockhash


@contextmanager
def _chain() -> Iterator[Chain]:
    from shared_state.redis_client import client

    client().flushall()
    chain = Chain()
    chain.start()
    try:
        yield chain
    finally:
        chain.stop()


@contextmanager
def _lander(checkout: Path, taken: Sinks) -> Iterator[psutil.Process]:
    """`manage.py land` of the checkout, once it sends by all three upstreams."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "land", "--name", "bench"],
        cwd=checkout,
        env={**os.environ, "UPSTREAM_RPC_URL": "http://127.0.0.1:1", "LOCALNET": "false"},
    )
    try:
        from priority.queue.services.lander_names import landers

        while len(landers().get("bench", {}).get("upstreams", {})) < 3:
            time.sleep(0.1)
        for each in _transactions(200, Hash.new_unique()):
            _accept(each, max_retries=0)
            time.sleep(0.1)
            if len(taken.arrivals().counts) == 3:
                break
        else:
            raise TimeoutError("the lander does not send by all three ways")
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
