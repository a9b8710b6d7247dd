"""Ten thousand submissions on as many durable nonces: what watching them costs."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil

from benchmarks.service import database

WATCHED = 10_000
# Of a block: writes, and those among them that are of nonces, none of them watched.
_WRITES, _OF_NONCES = 12_000, 200
_BLOCKS = 40
_SYSTEM = bytes(32)


def measure() -> None:
    """CPU of this process and of PostgreSQL's, without and with watched nonces."""
    from chain.accounts import AccountWrite
    from chain.units import U64_MAX
    from ingest.services import fates
    from ingest.services.slots import store_records
    from priority.models import Submission

    def write(number: int, hash_number: int) -> AccountWrite:
        data = (1).to_bytes(4, "little") * 2 + bytes([7]) * 32 + hash_number.to_bytes(32)
        data += (5_000).to_bytes(8, "little")
        key = b"nonce" + number.to_bytes(27)
        return AccountWrite(key, 1_500_000, _SYSTEM, data, False, U64_MAX, number, None)

    now = datetime.now(UTC)
    nonces = [write(number, 1) for number in range(WATCHED)]
    store_records([_block(0), _block(1, nonces)], source="stream", now=now)
    others = [
        write(WATCHED + number, 2)._replace(
            owner=_SYSTEM if number < _OF_NONCES else bytes(31) + b"1"
        )
        for number in range(_WRITES)
    ]
    blocks = [replace(_block(slot), account_writes=others) for slot in range(2, 2 + _BLOCKS)]

    def settle() -> None:
        for each in blocks:
            fates.settle_stored([each], late=None, now=now)

    settle()
    _show(
        f"settling {_BLOCKS} blocks of {_WRITES:,} writes, {_OF_NONCES} of nonces, none watched",
        settle,
    )
    rows = [
        Submission(
            signature=number.to_bytes(64),
            kind="transaction",
            blockhash=(1).to_bytes(32),
            accepted_at=now - timedelta(minutes=1),
            accepted_slot=0,
            state="sent",
            sent_at=now,
            is_nonced=True,
            is_watched=True,
            nonce=each.pubkey,
            nonce_signers=bytes([7]) * 32,
        )
        for number, each in enumerate(nonces)
    ]
    Submission.objects.bulk_create(rows, batch_size=2_000)
    settle()
    _show(f"the same with {WATCHED:,} watched", settle)

    def look() -> None:
        for _ in range(WATCHED // 500):
            fates.settle_due(node=None, now=now)

    _show(f"a look at all {WATCHED:,}, every ten minutes", look)
    assert not Submission.objects.filter(settled_at__isnull=False).exists()
    moved = _block(2 + _BLOCKS, [write(number, 3) for number in range(1_000)])

    def move() -> None:
        store_records([*map(_block, range(2, 2 + _BLOCKS)), moved], source="stream", now=now)

    _show(f"{_BLOCKS + 1} blocks stored, and the last one moves 1,000 of them", move)
    assert Submission.objects.filter(settled_at__isnull=False).count() == 1_000


def _block(slot: int, writes: Sequence[Any] = ()) -> Any:
    from chain.blocks import SlotRecord
    from chain.encodings import b58encode
    from chain.units import Slot

    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(max(slot - 1, 0)),
        blockhash=b58encode((slot + 1).to_bytes(8) * 4),
        previous_blockhash=b58encode(slot.to_bytes(8) * 4),
        block_time=None,
        block_height=slot,
        transactions=[],
        account_writes=list(writes),
    )


def _show(name: str, work: Any) -> None:
    me, before, began = psutil.Process(), _server_seconds(), time.process_time()
    work()
    ours, server = time.process_time() - began, _server_seconds() - before
    memory = me.memory_info().rss / 1e6
    print(
        f"{name}: {ours * 1e3:.0f} ms of CPU, PostgreSQL's {server * 1e3:.0f} ms, {memory:.0f} MB",
        flush=True,
    )


def _server_seconds() -> float:
    """CPU seconds of this connection's PostgreSQL process."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        times = psutil.Process(cursor.fetchone()[0]).cpu_times()
    return float(times.user + times.system)


def main() -> None:
    with database():
        measure()


if __name__ == "__main__":
    main()
