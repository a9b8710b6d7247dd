"""A day of made mainnet blocks in fast motion: ingest, sealing and reads beside each other."""

import hashlib
import json
import os
import random
import statistics
import sys
import threading
import time

from benchmarks import load
from benchmarks.ingest import Run, running
from benchmarks.sample_chain import FIRST_SLOT, WRITES
from benchmarks.service import database, new_key, rpc_request, served

DAY_SLOTS = 216_000
# One in so many slots has a block; a block of 1,000 transactions comes each so many seconds. All of
# it must be over in ten minutes: a follower believes no longer that a stream only catches up.
STEP = int(os.environ.get("DAY_STEP", "240"))
BLOCK_SECONDS = float(os.environ.get("DAY_BLOCK_SECONDS", "0.6"))
_READ_EVERY_SECONDS = 0.05
_LOOK_SECONDS = 0.05


def main() -> None:
    blocks = DAY_SLOTS // STEP
    sealing = os.environ.get("ARCHIVE_SEALING_PERCENT", "50")
    with (
        database() as run_dir,
        running(run_dir, blocks, BLOCK_SECONDS, "worker", "beat", step=STEP) as run,
    ):
        _wait(run, FIRST_SLOT + 3 * STEP)
        with served("config.wsgi:application") as address:
            reads = _Reads(address, new_key(), run)
            lags, idle = _watch(run, FIRST_SLOT + (blocks - 3) * STEP)
            reads.stop()
        rows, sealed, disk = _stored()
        print(
            f"a day of {blocks} blocks, {blocks * WRITES:,} writes,"
            f" {WRITES / BLOCK_SECONDS:,.0f} a second, sealing {sealing} % of a core:"
            f" {rows:,} as rows, {sealed:,} sealed, {disk / (rows + sealed):.0f} B each with"
            " ledger and indexes",
            flush=True,
        )
        print(f"blocks behind while sealing: {_told(lags)}; else: {_told(idle)}", flush=True)
        print(reads.told(), flush=True)
        print(
            "memory in MB: " + ", ".join(f"{n} {s:.0f}" for n, s in run.memory().items())
            + f"; CPU seconds of {run.cpu()}",
            flush=True,
        )  # fmt: skip


def _wait(run: Run, slot: int) -> None:
    while run.newest() < slot:
        time.sleep(0.1)


def _watch(run: Run, last: int) -> tuple[list[int], list[int]]:
    """How many blocks the archive is behind what is final, while a segment is made and else."""
    found: tuple[list[int], list[int]] = ([], [])
    told = time.monotonic()
    while (newest := run.newest()) < last:
        behind = max(0, (run.finalized - newest) // STEP)
        found[0 if run.is_sealing() else 1].append(behind)
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"at slot {newest - FIRST_SLOT:,}, {behind} behind", file=sys.stderr, flush=True)
        time.sleep(_LOOK_SECONDS)
    return found


def _told(behind: list[int]) -> str:
    if len(behind) < 100:
        return f"seen {len(behind)} times"
    marks = statistics.quantiles(behind, n=100)
    return (
        f"p50 {marks[49]:.0f}, p90 {marks[89]:.0f}, p99 {marks[98]:.0f}, most {max(behind)}"
        f" ({len(behind) * _LOOK_SECONDS:.0f} s)"
    )


class _Reads:
    """One account at a slot of the day so far, twenty times a second, from a thread."""

    def __init__(self, address: tuple[str, int], key: str, run: Run) -> None:
        self._address, self._key, self._run = address, key, run
        self._seconds: list[float] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        from chain.encodings import b58encode

        chance = random.Random(3)
        while not self._stopping.wait(_READ_EVERY_SECONDS):
            pubkey = hashlib.sha256(b"account %d" % chance.randrange(60_000)).digest()
            # The first block of a stream is perhaps not whole.
            first = FIRST_SLOT + 2 * STEP
            last = max(self._run.newest_seen, first)
            config = {"slot": chance.randrange(first, last + 1), "encoding": "base64"}
            request = rpc_request(
                self._key, "getAccountInfo", [b58encode(pubkey), config], path="/rewind"
            )
            began = time.perf_counter()
            answer = json.loads(load.exchange(self._address, request))
            self._seconds.append(time.perf_counter() - began)
            assert "result" in answer, answer

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def told(self) -> str:
        marks = statistics.quantiles(self._seconds, n=100)
        return (
            f"{len(self._seconds):,} reads, a connection each: p50 {marks[49] * 1e3:.1f} ms,"
            f" p99 {marks[98] * 1e3:.1f} ms"
        )


def _stored() -> tuple[int, int, int]:
    """Changes as rows and sealed, and the bytes of the whole database."""
    from columns.raw_queries import fetch_one

    found = fetch_one(
        "SELECT (SELECT count(*) FROM rewind_accountchange),"
        " (SELECT coalesce(sum(changes), 0) FROM rewind_sealedsegment WHERE state = 1),"
        " pg_database_size(current_database())"
    )
    assert found is not None
    rows, sealed, size = (int(each) for each in found)
    return rows, sealed, size


if __name__ == "__main__":
    main()
