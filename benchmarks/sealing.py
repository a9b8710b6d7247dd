"""Sealing: bytes a change hot, sealed and in cold storage, changes sealed and moved a second, and
reads of both in turns.

Two epochs have the same accounts and writes; the first is sealed and merged, and then moved to a
folder; the second stays as it was written.
"""

import os
import random
import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import load, sealing_codec
from benchmarks.service import database, new_key, rpc_request, served
from rewind.sealed.packing.changes import Change

CHANGES = int(os.environ.get("SEALING_BENCH", "1000000"))
# Accounts are made so many changes at a time, and rows written.
_AT_ONCE, _COPIED = 250_000, 20_000
_FIRST, _SLOTS = sealing_codec.FIRST_SLOT // 432_000 * 432_000, 432_000
_SAMPLE, _ROUNDS, _SECONDS = 2_000, 7, 1.5


def main() -> None:
    with database() as run_dir:
        asked = fill()
        hot = _bytes("rewind_changes_%")
        count = seal()
        sealed = _bytes("rewind_sealedblock")
        hot_each, sealed_each = hot / 2 / count, sealed / count
        print(
            f"stored: {hot_each:.0f} B a change as rows, {sealed_each:.1f} B sealed, with indexes:"
            f" {sealed_each / hot_each:.3f}",
            flush=True,
        )
        read("sealed", asked)
        folder = run_dir / "cold"
        move(folder, count)
        store = {"ARCHIVE_STORE": f"file://{folder}"}
        read("cold, cached", asked, store)
        # The least that a process may keep: most reads ask the store.
        read("cold", asked, {**store, "ARCHIVE_STORE_CACHE_MB": "1"})


def fill() -> list[tuple[bytes, int]]:
    """Both epochs; some accounts with a slot of theirs, counted from the epoch's first."""
    from django.db import connection, transaction

    from rewind.models import ArchivedSlot
    from rewind.recording.store import owners, partitions, writing

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
    with transaction.atomic():
        ids = owners.ids_of([bytes([1, number]) * 16 for number in range(1, 20)])
        partitions.ensure(range(_FIRST, _FIRST + 2 * _SLOTS, partitions.PARTITION_SLOTS))
    lowest = min(ids.values())
    chance, asked, made = random.Random(5), [], 0
    began = time.perf_counter()
    while made < CHANGES:
        changes = list(_changes(made, lowest))
        made += len(changes)
        asked += [(each.pubkey, each.slot - _FIRST) for each in chance.choices(changes, k=_SAMPLE)]
        changes.sort(key=lambda each: each[1:3])
        for shift in (0, _SLOTS):
            rows = (each._replace(slot=each.slot + shift) for each in changes)
            while some := list(islice(rows, _COPIED)):
                packed = map(writing.packed_change, some)
                writing.copy_rows("rewind_accountchange", writing.COLUMNS, packed)
    slots = range(_FIRST, _FIRST + 2 * _SLOTS, 100)
    ArchivedSlot.objects.bulk_create(
        (
            ArchivedSlot(
                slot=slot,
                parent_slot=max(slot - 100, _FIRST - 1),
                recorded_at=datetime.now(UTC),
                changes=1,
                granularity=0,
                blockhash=sealing_codec.FIRST_SLOT.to_bytes(32),
                source="bench",
            )
            for slot in [*slots, _FIRST + 2 * _SLOTS - 1]
        ),
        batch_size=2_000,
    )
    print(f"filled: {made:,} changes twice in {time.perf_counter() - began:,.0f} s", flush=True)
    return chance.sample(asked, _SAMPLE)


def _changes(made: int, lowest_owner: int) -> Iterator[Change]:
    """Other accounts each time, all over the pubkeys."""
    salt = random.Random(made)
    offset = _FIRST - sealing_codec.FIRST_SLOT
    keys: dict[bytes, bytes] = {}
    for change in sealing_codec.made_changes(min(_AT_ONCE, CHANGES)):
        pubkey = keys.get(change.pubkey)
        if pubkey is None:
            pubkey = keys[change.pubkey] = salt.randbytes(32)
        yield change._replace(
            pubkey=pubkey, slot=change.slot + offset, owner_id=change.owner_id + lowest_owner
        )


def seal() -> int:
    """How many changes were sealed; the second epoch is not."""
    from django.db import connection
    from django.utils import timezone

    from rewind.sealed.models import SealedSegment
    from rewind.sealed.services.sealing import Policy, seal_step
    from rewind.sealed.services.segments import index_next

    policy = Policy(margin=_SLOTS)
    pid = _backend()
    begun, spent, served_ = time.perf_counter(), time.process_time(), _cpu_of(pid)
    merging: tuple[float, float, float] | None = None
    while seal_step(policy, now=timezone.now()):
        segment = SealedSegment.objects.filter(state=0).first()
        if merging is None and segment is not None and segment.segments:
            merging = time.perf_counter(), time.process_time(), _cpu_of(pid)
    ended = time.perf_counter(), time.process_time(), _cpu_of(pid)
    assert merging is not None
    segment = SealedSegment.objects.get(state=1)
    for name, first, last in (
        ("sealed by partition", (begun, spent, served_), merging),
        ("merged", merging, ended),
    ):
        wall, worker, server = (b - a for a, b in zip(first, last, strict=True))
        print(
            f"{name}: {segment.changes:,} changes, {segment.changes / worker:,.0f} per CPU second"
            f" of the worker, {segment.changes / (worker + server):,.0f} with PostgreSQL's,"
            f" {segment.changes / wall:,.0f} a second",
            flush=True,
        )
    while seal_step(policy, now=timezone.now() + timedelta(days=1)):
        pass
    while index_next() is not None:
        pass
    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL rewind_sealedblock")
        cursor.execute("VACUUM ANALYZE")
    return segment.changes


def move(folder: Path, count: int) -> None:
    """The sealed epoch, into the folder."""
    from django.db import connection
    from django.utils import timezone

    from rewind.sealed.models import SealedSegment
    from rewind.sealed.services.moving import Policy, move_step
    from rewind.sealed.store import cold_store

    folder.mkdir()
    cold_store.configure(cold_store.Terms(f"file://{folder}"))
    began, spent = time.perf_counter(), time.process_time()
    while move_step(Policy(after=_SLOTS), now=timezone.now()):
        pass
    wall, worker = time.perf_counter() - began, time.process_time() - spent
    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL rewind_sealedblock")
        cursor.execute("VACUUM ANALYZE")
    sizes = [file.stat().st_size for file in folder.rglob("*.blocks")]
    left = _bytes("rewind_sealedblock")
    dictionary = SealedSegment.objects.get(state=1).dictionary or b""
    copies = len(sizes) * len(dictionary)
    print(
        f"moved: {len(sizes)} objects, {(sum(sizes) - copies) / count:.1f} B a change and"
        f" {copies:,} B of dictionaries; {left / count:.1f} B a change left in the"
        f" database; {count / wall:,.0f} changes a second, {count / worker:,.0f} per"
        " CPU second of the worker",
        flush=True,
    )


def read(
    form: str, asked: list[tuple[bytes, int]], environment: dict[str, str] | None = None
) -> None:
    """One account at a slot, and 400 changes of one account, in turns."""
    from chain.encodings import b58encode

    key = new_key()

    def requests(method: str, shift: int, pairs: list[tuple[bytes, int]]) -> list[bytes]:
        found = []
        for pubkey, slot in pairs:
            config: dict[str, Any] = {"slot": _FIRST + slot + shift, "encoding": "base64"}
            if method == "getAccountChanges":
                config = {"fromSlot": _FIRST + shift, "toSlot": _FIRST + shift + _SLOTS - 1}
                config |= {"limit": 400}
            params = [b58encode(pubkey), config]
            found.append(rpc_request(key, method, params, path="/rewind"))
        return found

    busy = _busy()
    with served("config.wsgi:application", environment=environment) as address:
        for method, pairs in (("getAccountInfo", asked), ("getAccountChanges", busy)):
            sealed, hot = requests(method, 0, pairs), requests(method, _SLOTS, pairs)
            for each in (sealed, hot):
                load.run(address, each, connections=1, seconds=1.0)
            rounds = []
            for _ in range(_ROUNDS):
                ours = load.run(address, sealed, connections=1, seconds=_SECONDS)
                rows = load.run(address, hot, connections=1, seconds=_SECONDS)
                rounds.append(
                    (ours.p50, ours.p99, rows.p50, rows.p99, ours.p50 / rows.p50,
                     ours.p99 / rows.p99)
                )  # fmt: skip
            told = [statistics.median(column) for column in zip(*rounds, strict=True)]
            print(
                f"{method}: {form} p50 {told[0] * 1e3:.3f} ms p99 {told[1] * 1e3:.3f} ms, rows p50"
                f" {told[2] * 1e3:.3f} ms p99 {told[3] * 1e3:.3f} ms; ratio of p50 {told[4]:.2f},"
                f" of p99 {told[5]:.2f}",
                flush=True,
            )


def _busy() -> list[tuple[bytes, int]]:
    """Accounts with the most changes in the second epoch's first partition."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pubkey FROM rewind_accountchange WHERE slot BETWEEN %s AND %s"
            " GROUP BY pubkey HAVING count(*) > 40 ORDER BY pubkey LIMIT 50",
            [_FIRST + _SLOTS, _FIRST + _SLOTS + 35_999],
        )
        return [(bytes(pubkey), 0) for (pubkey,) in cursor.fetchall()]


def _bytes(like: str) -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
            " WHERE relkind = 'r' AND relname LIKE %s",
            [like],
        )
        return int(cursor.fetchone()[0])


def _backend() -> int:
    from columns.raw_queries import fetch_one

    found = fetch_one("SELECT pg_backend_pid()")
    assert found is not None
    return int(found[0])


def _cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
