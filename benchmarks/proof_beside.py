"""The running proof beside ingest, each in a process of its own, at 2.5 slots and 2,500
transactions a second: how far it lags behind the head and what it costs; and what the newest states
of filtered accounts take.

PROOF_BENCH says how many slots (60), PROOF_BENCH_ACCOUNTS how many filtered accounts (1000000).
"""

import multiprocessing
import os
import random
import time
import traceback
from datetime import UTC, datetime
from typing import Any

import psutil

from benchmarks.proof import _VOTE, SLOTS, VOTES, _records, _resident, keep_stakes
from benchmarks.service import database

ACCOUNTS = int(os.environ.get("PROOF_BENCH_ACCOUNTS", "1000000"))
_SLOT_SECONDS = 0.4
# As the schedule of rewind/tasks.py has it.
_PERIOD_SECONDS = 2.0
_AT_ONCE = 10_000


def main() -> None:
    with database():
        beside_ingest()
        newest_states()


def beside_ingest() -> None:
    from django.db import connection
    from solders.pubkey import Pubkey

    from rewind.recording.services import filters
    from rewind.recording.services.recording import record_slots

    filters.filter_owner(Pubkey.from_string(_VOTE), filtered=True)
    keep_stakes()
    records = list(_records())
    record_slots(records[:1], source="bench", now=datetime.now(UTC))
    connection.close()
    fork = multiprocessing.get_context("fork")
    recorded = fork.Array("d", SLOTS)  # when each slot was
    ready, results = fork.Event(), fork.SimpleQueue()
    prover = fork.Process(target=_prove, args=(recorded, ready, results))
    prover.start()
    ready.wait()
    session = _session()
    spent, theirs = time.process_time(), _cpu(session)
    writes, began, late = 0, time.monotonic(), 0.0
    for number, record in enumerate(records[1:], start=1):
        pause = began + number * _SLOT_SECONDS - time.monotonic()
        late = max(late, -pause)
        time.sleep(max(0.0, pause))
        record_slots([record], source="bench", now=datetime.now(UTC))
        writes += len(record.account_writes or ())
        recorded[record.slot] = time.monotonic()
    wall = time.monotonic() - began
    spent, theirs = time.process_time() - spent, _cpu(session) - theirs
    lags, slots_behind, cpu, its_session, its_memory, checking = results.get()
    prover.join()
    lags.sort()
    slots_behind.sort()
    print(
        f"proof_beside: {wall:.0f} s, {writes / wall:,.0f} writes/s, at most {late:.1f} s late;"
        f" recording {_percent(spent, wall)} of a core and {_percent(theirs, wall)} of its session"
        f" with PostgreSQL; the prover {_percent(cpu, wall)} and {_percent(its_session, wall)},"
        f" {its_memory / 1e6:.0f} MB more resident; of that checks of {VOTES:,} votes a slot"
        f" {_percent(checking, wall)}",
        flush=True,
    )
    print(
        f"proof_beside: a slot is proven p50 {lags[len(lags) // 2]:.2f} s after it was recorded,"
        f" p99 {lags[int(len(lags) * 0.99)]:.2f}, most {lags[-1]:.2f}; behind the head at the"
        f" end of a run p50 {slots_behind[len(slots_behind) // 2]} slots, most {slots_behind[-1]}",
        flush=True,
    )


def _prove(recorded: Any, ready: Any, results: Any) -> None:
    """The task's runs, in a process: sends how long after its recording each slot was proven, how
    many slots the last proven one was behind the head after each run, and its costs.
    """
    try:
        from django.conf import settings

        from rewind.proof.services import proving
        from rewind.proof.store import proof_runs

        cache_bytes = settings.ARCHIVE_PROOF_CACHE_MB << 20
        policy = proving.Policy(cache_bytes=cache_bytes, trusts_node=True)
        settle, checking = proving._settle_all, 0.0

        def timed(*arguments: Any) -> bool:
            nonlocal checking
            clock = time.process_time()
            goes_on = settle(*arguments)
            checking += time.process_time() - clock
            return goes_on

        proving._settle_all = timed  # type: ignore[assignment]
        while proving.prove_step(policy):  # the first slot has all accounts
            pass
        proven, lags, behind = -1, list[float](), list[int]()
        before, session = _resident(), _session()
        spent, theirs, checking = time.process_time(), _cpu(session), 0.0
        ready.set()
        while proven < SLOTS - 2:
            began = time.monotonic()
            end = began + _PERIOD_SECONDS * settings.ARCHIVE_PROOF_PERCENT / 100
            while time.monotonic() < end and proving.prove_step(policy):
                through = proof_runs.proven_through(SLOTS)
                for slot in range(max(proven, 0) + 1, (through or 0) + 1):
                    lags.append(time.monotonic() - recorded[slot])
                proven = proven if through is None else through
            proving.trim(policy)
            head = max((slot for slot in range(SLOTS) if recorded[slot]), default=0)
            if 0 < head < SLOTS - 1:
                behind.append(head - max(proven, 0))
            time.sleep(max(0.0, began + _PERIOD_SECONDS - time.monotonic()))
        cpu = time.process_time() - spent
        theirs = _cpu(session) - theirs
        results.put((lags, behind, cpu, theirs, _resident() - before, checking))
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _session() -> psutil.Process:
    """PostgreSQL's process for this one's connection."""
    from django.db import connection

    connection.ensure_connection()
    return psutil.Process(connection.connection.info.backend_pid)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _percent(seconds: float, wall: float) -> str:
    return f"{100 * seconds / wall:.1f} %"


def newest_states() -> None:
    """Token accounts of a filtered program, in the table that the proof keeps."""
    from django.db import connection, transaction

    from rewind.proof.accounts import KeptState
    from rewind.proof.store import slot_proofs

    chance, owner = random.Random(5), os.urandom(32)
    mints = [os.urandom(32) for _ in range(1_000)]
    keys = list[bytes]()
    before, began, spent = _resident(), time.monotonic(), 0.0
    for first in range(0, ACCOUNTS, _AT_ONCE):
        states = []
        for _ in range(min(_AT_ONCE, ACCOUNTS - first)):
            pubkey = os.urandom(32)
            amount = chance.randrange(10**12).to_bytes(8, "little")
            data = chance.choice(mints) + os.urandom(32) + amount + b"\0" * 36 + b"\x01" + bytes(56)
            states.append((first, KeptState(pubkey, owner, 2_039_280, False, data)))
        keys += [chance.choice(states)[1].pubkey for _ in range(20)]
        clock = time.monotonic()
        with transaction.atomic():
            slot_proofs.keep_states(0, states)
        spent += time.monotonic() - clock
    chance.shuffle(keys)
    clock = time.monotonic()
    found = 0
    for at in range(0, min(2_000, len(keys)), 500):
        found += len(slot_proofs.kept_states(0, keys[at : at + 500]))
    took = time.monotonic() - clock
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_table_size('rewind_neweststate'), pg_indexes_size('rewind_neweststate')"
        )
        table, index = cursor.fetchone()
    print(
        f"proof_beside: {ACCOUNTS:,} filtered accounts of 165 bytes are {table / 1e6:,.0f} MB and"
        f" {index / 1e6:,.0f} MB of index, {(table + index) / ACCOUNTS:.0f} bytes each, written"
        f" {1e6 * spent / ACCOUNTS:.1f} µs each in {time.monotonic() - began:.0f} s; the process"
        f" holds none of them ({(_resident() - before) / 1e6:.0f} MB more resident with the"
        f" benchmark's {len(keys):,} keys); {found:,} read back at random"
        f" {1e6 * took / max(1, found):.0f} µs each",
        flush=True,
    )


if __name__ == "__main__":
    main()
