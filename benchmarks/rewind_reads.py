"""getAccountInfo at a past slot through the whole stack, against the same look-up by a bare psycopg
loop, with a million and with twenty million changes in the archive.
"""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

from benchmarks import load
from benchmarks.service import database, new_key, rpc_request, served

SIZES = [int(each) for each in os.environ.get("REWIND_BENCH", "1000000,20000000").split(",")]
# Twelve partitions of one segment, which is indexed, and four of the next.
FIRST_SLOT = 300_240_000
PARTITIONS = 16
ACCOUNTS = 400_000
# Accounts that were written once, in the first partition, and never again.
COLD = 20_000
_SAMPLE = 4_000
_ROUNDS = 5
_SECONDS = 1.5

# A few accounts get most of the writes: the chance falls with the rank. Bytes of data by share as
# in benchmarks/archive.py, as they are stored: random, for they are packed already.
_FILL = """
INSERT INTO {table} (slot, write_version, lamports, rent_epoch, position, owner_id, kind,
    executable, pubkey, data)
SELECT {first} + number * {slots} / {rows}, number, 1 + number, -1, number % 100000,
    {owner} + account % 50, 0, false, sha256(account::text::bytea),
    decode(repeat(md5(number::text || account::text), CASE
        WHEN account % 100 < 28 THEN 0 WHEN account % 100 < 68 THEN 7 WHEN account % 100 < 71 THEN 6
        WHEN account % 100 < 88 THEN 32 WHEN account % 100 < 94 THEN 160 ELSE 20 END), 'hex')
FROM (
    SELECT number, floor(exp(ln({accounts}) * random()))::bigint AS account
    FROM generate_series(0::bigint, {rows} - 1) AS number
) AS written
"""
_FILL_COLD = """
INSERT INTO {table} (slot, write_version, lamports, rent_epoch, position, owner_id, kind,
    executable, pubkey, data)
SELECT {first} + number % 1000, number, 1 + number, -1, 200000 + number / 1000, {owner}, 0, false,
    sha256(('cold ' || number)::bytea), decode(repeat(md5(number::text), 7), 'hex')
FROM generate_series(0, {cold} - 1) AS number
"""
BARE = (
    "SELECT c.slot, c.lamports, c.rent_epoch, c.executable, o.pubkey, c.data"
    " FROM rewind_accountchange c JOIN rewind_owner o ON o.id = c.owner_id"
    " WHERE c.pubkey = %s AND c.slot <= %s ORDER BY c.slot DESC, c.position DESC LIMIT 1"
)

# Pubkey, and the slot that it is asked at.
Lookup = tuple[bytes, int]
Figures = dict[str, tuple[float, float]]


def main() -> None:
    with database():
        found = {size: measure(size) for size in SIZES}
    for name in next(iter(found.values())):
        for percentile, label in enumerate(("p50", "p99")):
            growth = found[SIZES[-1]][name][percentile] / found[SIZES[0]][name][percentile]
            print(f"{name}: {label} with {SIZES[-1]:,} changes to {SIZES[0]:,}: {growth:.2f}")


def measure(changes: int) -> Figures:
    """Kind of account → p50 and p99 in seconds, of look-ups through the service."""
    clock = time.perf_counter()
    size = fill(changes)
    print(
        f"archive of {changes:,} changes, {size / 1e9:.1f} GB in {PARTITIONS} partitions, filled"
        f" in {time.perf_counter() - clock:,.0f} s",
        flush=True,
    )
    chance = random.Random(11)
    lookups = {"hot accounts": hot_accounts(chance), "cold accounts": _cold(chance)}
    lookups["both"] = [each for pair in zip(*lookups.values(), strict=True) for each in pair]
    key = new_key()
    found: Figures = {}
    with served("config.wsgi:application") as address, bare_connection() as bare:
        for name, asked in lookups.items():
            requests = [_request(key, *lookup) for lookup in asked]
            _check(address, requests[:50], bare, asked[:50])
            found[name] = _turns(name, address, requests, bare, asked)
    for percentile, label in enumerate(("p50", "p99")):
        ratio = found["cold accounts"][percentile] / found["hot accounts"][percentile]
        print(f"{changes:,} changes: {label} of cold accounts to hot ones: {ratio:.2f}", flush=True)
    return found


def fill(changes: int) -> int:
    """The archive is as if so many changes had been recorded; its bytes on disk."""
    from django.db import connection, transaction

    from rewind.models import ArchivedSlot
    from rewind.recording.store import owners, partitions
    from rewind.sealed.services.segments import index_next

    slots = partitions.PARTITION_SLOTS
    last = FIRST_SLOT + PARTITIONS * slots - 1
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("TRUNCATE rewind_accountsegments, rewind_archivedslot, rewind_archivestate")
        for partition in partitions.existing():
            cursor.execute(f"DROP TABLE {partition.table}")
        with transaction.atomic():
            ids = owners.ids_of([bytes([1, number]) * 16 for number in range(50)])
        terms = {"rows": changes // PARTITIONS, "slots": slots, "accounts": ACCOUNTS}
        terms |= {"cold": min(COLD, changes // PARTITIONS), "owner": min(ids.values())}
        for first in range(FIRST_SLOT, last, slots):
            with transaction.atomic():
                partitions.ensure([first])
            table = partitions.partition_of(first).table
            # The figures are of reads; filling would else be a matter of the log. The index is
            # what it would be, though more compact than one that grew.
            cursor.execute(f"ALTER TABLE {table} SET UNLOGGED")
            cursor.execute(f"DROP INDEX {table}_key")
            cursor.execute(_FILL.format(table=table, first=first, **terms))
            if first == FIRST_SLOT:
                cursor.execute(_FILL_COLD.format(table=table, first=first, **terms))
            cursor.execute(f"CREATE UNIQUE INDEX {table}_key ON {table} (pubkey, slot, position)")
        cursor.execute(
            "INSERT INTO rewind_archivedslot (slot, parent_slot, recorded_at, changes, granularity,"
            " blockhash, source) SELECT slot, slot - 1, now(), 1, 0, sha256(slot::text::bytea),"
            " 'bench' FROM generate_series(%s::bigint, %s) AS slot",
            [FIRST_SLOT, last],
        )
    for _ in range(200):
        if index_next() is not None:
            break
    else:
        raise SystemExit("no segment was indexed")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE rewind_accountchange")
        cursor.execute("VACUUM ANALYZE rewind_accountsegments, rewind_archivedslot, rewind_owner")
        cursor.execute(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
            " WHERE inhparent = 'rewind_accountchange'::regclass"
        )
        size = int(cursor.fetchone()[0])
    assert ArchivedSlot.objects.count() == PARTITIONS * slots
    return size


def hot_accounts(chance: random.Random) -> list[Lookup]:
    """Accounts as often as they are written, at any slot behind the first of the partitions."""
    from hashlib import sha256

    accounts = [int(ACCOUNTS ** chance.random()) for _ in range(_SAMPLE)]
    return [(sha256(str(each).encode()).digest(), _any_slot(chance)) for each in accounts]


def _cold(chance: random.Random) -> list[Lookup]:
    from hashlib import sha256

    accounts = [chance.randrange(min(COLD, SIZES[0] // PARTITIONS)) for _ in range(_SAMPLE)]
    return [(sha256(f"cold {each}".encode()).digest(), _any_slot(chance)) for each in accounts]


def _any_slot(chance: random.Random) -> int:
    from rewind.recording.store.partitions import PARTITION_SLOTS

    return FIRST_SLOT + chance.randrange(PARTITION_SLOTS, PARTITIONS * PARTITION_SLOTS)


def _request(key: str, pubkey: bytes, slot: int) -> bytes:
    from chain.encodings import b58encode

    params = [b58encode(pubkey), {"slot": slot, "encoding": "base64"}]
    return rpc_request(key, "getAccountInfo", params, path="/rewind")


def _check(address: tuple[str, int], requests: list[bytes], bare: Any, asked: list[Lookup]) -> None:
    """Both find the same."""
    import json

    for request, lookup in zip(requests, asked, strict=True):
        value = json.loads(load.exchange(address, request))["result"]["value"]
        row = bare.execute(BARE, lookup).fetchone()
        ours = None if value is None else (value["rewindSlot"], value["lamports"])
        assert ours == (row and row[:2]), (lookup, value, row)


def _turns(
    name: str, address: tuple[str, int], requests: list[bytes], bare: Any, asked: list[Lookup]
) -> tuple[float, float]:
    """The service and the loop take turns, so that both meet the same neighbours."""

    def alone(lookup: Lookup) -> None:
        bare.execute(BARE, lookup).fetchone()

    load.run(address, requests, connections=1, seconds=0.5)
    for read in (alone, _in_process):
        _loop(read, asked, 0.5)
    rounds = []
    for _ in range(_ROUNDS):
        ours = load.run(address, requests, connections=1, seconds=_SECONDS)
        here = _loop(_in_process, asked, _SECONDS / 2)
        theirs = _loop(alone, asked, _SECONDS)
        ratios = ours.p50 / theirs[0], ours.p99 / theirs[1], here[0] / theirs[0]
        rounds.append((ours.p50, ours.p99, *here, *theirs, *ratios))
    told = [statistics.median(column) for column in zip(*rounds, strict=True)]
    times = [f"{each * 1e3:.3f}" for each in told[:6]]
    print(
        f"{name}: p50 {times[0]} ms p99 {times[1]} ms, of which the reads take p50 {times[2]} ms"
        f" p99 {times[3]} ms; psycopg alone p50 {times[4]} ms p99 {times[5]} ms; ratio of p50"
        f" {told[6]:.2f}, of p99 {told[7]:.2f}, of the reads' p50 {told[8]:.2f}",
        flush=True,
    )
    return told[0], told[1]


def _in_process(lookup: Lookup) -> None:
    """All that the service asks of the database for it, without HTTP, key and limit."""
    from solders.pubkey import Pubkey

    from rewind.accounts.services.accounts import load_accounts
    from rewind.positions import Asked

    load_accounts([Pubkey(lookup[0])], Asked(slot=lookup[1]), tolerate_gaps=False)


def _loop(
    read: Callable[[Lookup], None], asked: list[Lookup], seconds: float
) -> tuple[float, float]:
    """p50 and p99 of the look-ups one after the other."""
    taken: list[float] = []
    end = time.perf_counter() + seconds
    for lookup in _round_and_round(asked):
        begun = time.perf_counter()
        read(lookup)
        now = time.perf_counter()
        taken.append(now - begun)
        if now >= end:
            break
    taken.sort()
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


def _round_and_round(asked: list[Lookup]) -> Iterator[Lookup]:
    while True:
        yield from asked


def bare_connection() -> Any:
    from django.db import connection

    terms = connection.get_connection_params()
    given = {
        name: terms[name]
        for name in ("dbname", "user", "password", "host", "port")
        if name in terms
    }
    return psycopg.connect(**given, autocommit=True)


if __name__ == "__main__":
    main()
