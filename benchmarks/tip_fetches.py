"""Tip addresses fetched per second, each committed before it is answered.

Beside it what PostgreSQL alone does on this disk: the same statement, over and over, on as many
connections as the server has threads.
"""

import statistics
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from benchmarks import load  # noqa: E402
from benchmarks.service import database, served  # noqa: E402

_SEED = bytes(32)
_SIZE = 65_536
_BATCHES = 2
# As the Procfile has it.
_THREADS = 16
_ROUNDS = 5
_SECONDS = 2.0


def main() -> None:
    with database():
        key = key_for_fetches()
        prepare_batches()
        with served("config.wsgi:application", threads=_THREADS) as address:
            for query, connections in (("", 1), ("", 8), ("", 32), ("?count=16", 8)):
                _measure(address, key, query, connections)
        for connections in (1, 8):
            prepare_batches()
            print(f"the statement alone, {connections} connections: {_bare(connections):,.0f}/s")


def key_for_fetches() -> str:
    from access.models import Customer, Tier
    from access.services.keys import issue_key

    limits = {
        f"{name}_{what}": 1_000_000
        for name in ("requests", "tip_fetches")
        for what in ("per_second", "burst")
    }
    tier = Tier.objects.create(name="bench-tips", rank=50, **limits)
    customer = Customer.objects.create(name="bench")
    return issue_key(customer, tier=tier, name="bench").secret


def prepare_batches() -> None:
    """Batches of one class, as large as they may be; one is open."""
    from django.utils import timezone

    from tipping.models import TtlClass
    from tipping.services import batches

    TtlClass.objects.filter(is_default=False).delete()
    TtlClass.objects.update(batch_size=_SIZE, window_seconds=86_400)
    ttl_class = TtlClass.objects.get()
    begun = time.perf_counter()
    made = batches.prepare(ttl_class.pk, seed=_SEED, now=timezone.now(), keep=_BATCHES)
    spent = time.perf_counter() - begun
    if made:
        print(f"prepared {made} batches of {_SIZE:,}: {spent / made:.1f} s each")
    batches.rotate_due(now=timezone.now())


def _measure(address: tuple[str, int], key: str, query: str, connections: int) -> None:
    request = (
        f"GET /priority/fetchtipaddress{query} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: {key}\r\n\r\n"
    ).encode()
    load.run(address, [request], connections=connections, seconds=0.5)
    rounds = _ROUNDS if not query else 2  # sixteen addresses a fetch: they would run dry
    seconds = _SECONDS if not query else 1.0
    figures = [
        load.run(address, [request], connections=connections, seconds=seconds)
        for _ in range(rounds)
    ]
    rate, p50, p99 = (
        statistics.median(getattr(each, name) for each in figures)
        for name in ("rate", "p50", "p99")
    )
    print(
        f"fetchtipaddress{query}, {connections} connections: {rate:,.0f}/s"
        f" p50 {p50 * 1e3:.2f} ms p99 {p99 * 1e3:.2f} ms",
        flush=True,
    )


def _bare(connections: int) -> float:
    from django.db import connection
    from django.utils import timezone

    from tipping.models import TipBatch
    from tipping.services import batches
    from tipping.store import addresses

    now = timezone.now()
    batches.rotate(TipBatch.objects.get(state="open").ttl_class_id, now=now, force=True)
    batch = TipBatch.objects.get(state="open")
    edge_id = addresses.edge_id_of("bench", now=now)
    addresses.claim(batch.pk, edge_id=edge_id, count=_SIZE)
    done = [0] * connections
    end = time.monotonic() + 3.0

    def issue(place: int, now: datetime = now) -> None:
        while time.monotonic() < end:
            found = addresses.issue(batch.pk, edge_id=edge_id, count=1, key_id=0, now=now)
            if not found:
                raise RuntimeError("the batch ran dry")
            done[place] += 1
        connection.close()

    threads = [threading.Thread(target=issue, args=(place,)) for place in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / 3.0


if __name__ == "__main__":
    main()
