"""The archive: rows written a second, and bytes stored for each."""

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from benchmarks.service import database

ACCOUNTS = 44_100
CHANGES_IN_A_SLOT = 2_315
SLOTS = 86
SLOTS_IN_A_TRANSACTION = 9  # about 20,000 rows
TRANSACTIONS_IN_A_SLOT = 500

# Share of the writes, bytes of data, and how much of these is not zero: wallets, token accounts,
# mints, pools, tick arrays, other. Real accounts of these kinds compress about as well (zstd level
# 1: 165 bytes of token account to 95, a pool of 653 to 430).
MIX = [
    (0.28, [0], 0.0),
    (0.40, [165], 0.45),
    (0.03, [82, 234], 0.45),
    (0.17, [324, 653, 1_544], 0.55),
    (0.06, [9_988], 0.2),
    (0.06, [48, 200, 680, 1_300], 0.5),
]


def main() -> None:
    with database():
        write()
        summary()


def write() -> None:
    """Rows per second of the writer alone, and bytes on disk per row with its index."""
    from rewind.recording.services.recording import record_slots

    rows = raw = 0
    busy = wall = 0.0
    for run in _runs():
        cpu, clock = time.process_time(), time.perf_counter()
        told = record_slots(run, source="bench", now=datetime.now(UTC))
        busy += time.process_time() - cpu
        wall += time.perf_counter() - clock
        rows += told.changes
        raw += sum(_raw(write) for record in run for write in record.account_writes or ())
        if not told.recorded:
            raise SystemExit("nothing was recorded")
    stored = _stored()
    print(
        f"archive: {rows:,} changes, {rows / wall:,.0f} a second ({rows / busy:,.0f} per CPU second"
        f" of the writer); raw {raw / rows:,.0f} B a change, stored with its index"
        f" {stored / rows:,.0f} B, ratio {stored / raw:.3f}",
        flush=True,
    )


def summary() -> None:
    """getRewindCoverage over three million slots."""
    from django.db import connection

    from chain.units import I64_MAX
    from gaps.coverage import Window
    from rewind.coverage.services.coverage import coverage

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE rewind_archivedslot, rewind_slottally, rewind_gap")
        cursor.execute(
            "INSERT INTO rewind_archivedslot (slot, parent_slot, recorded_at, changes, granularity,"
            " blockhash, source) SELECT slot, slot - 1, now(), 4000, 0,"
            " sha256(slot::text::bytea), 'bench' FROM generate_series(300000001, 303000000) AS slot"
            " WHERE slot % 20 <> 0"
        )
        cursor.execute(
            "INSERT INTO rewind_slottally SELECT slot / 1000, count(*), 0, sum(changes)"
            " FROM rewind_archivedslot GROUP BY 1"
        )
        cursor.execute(
            "INSERT INTO rewind_gap"
            " (from_slot, to_slot, status, cause, opened_at, closed_by, tries, history)"
            " SELECT slot, slot, 'missing', 'bench', now(), '', 0, '[]'"
            " FROM generate_series(300002000, 302990000, 2000) AS slot"
        )
        cursor.execute("VACUUM ANALYZE rewind_archivedslot, rewind_slottally, rewind_gap")
    for name, lists_gaps in (("summary", False), ("with 1,000 gaps", True)):
        times = []
        for _ in range(20):
            clock = time.perf_counter()
            coverage(Window(0, I64_MAX, 1_000, lists_gaps))
            times.append(time.perf_counter() - clock)
        print(f"getRewindCoverage, 3,000,000 slots, {name}: {min(times) * 1e3:.1f} ms", flush=True)


def _runs() -> Iterator[list[Any]]:
    from chain.blocks import SlotRecord, TransactionRecord
    from chain.units import Slot

    accounts = _Accounts(random.Random(7))
    batch: list[Any] = []
    for number in range(SLOTS):
        slot = 300_000_000 + number
        wires = [
            b"\x01" + slot.to_bytes(32) + index.to_bytes(32) + bytes(8)
            for index in range(TRANSACTIONS_IN_A_SLOT)
        ]
        batch.append(
            SlotRecord(
                slot=Slot(slot),
                parent_slot=Slot(slot - 1),
                blockhash=_hash(slot),
                previous_blockhash=_hash(slot - 1),
                block_time=None,
                block_height=None,
                transactions=[TransactionRecord(wire, None) for wire in wires],
                account_writes=accounts.writes(wires),
            )
        )
        if len(batch) == SLOTS_IN_A_TRANSACTION:
            yield batch
            batch = []
    if batch:
        yield batch


class _Accounts:
    """Accounts whose data changes in a few places from write to write."""

    def __init__(self, chance: random.Random) -> None:
        self._random = chance
        kinds = chance.choices(MIX, [share for share, _, _ in MIX], k=ACCOUNTS)
        self._keys = [chance.randbytes(32) for _ in range(ACCOUNTS)]
        self._data = [_made_up(chance, chance.choice(sizes), filled) for _, sizes, filled in kinds]
        self._owners = [bytes([len(sizes), 1 + sizes[0] % 250]) * 16 for _, sizes, _ in kinds]
        # A few accounts get most of the writes: the weight falls with the rank.
        self._weights = [1 / (rank + 1) for rank in range(ACCOUNTS)]
        chance.shuffle(self._weights)

    def writes(self, wires: list[bytes]) -> list[Any]:
        from chain.accounts import AccountWrite
        from chain.units import U64_MAX

        chance = self._random
        chosen = chance.choices(range(ACCOUNTS), self._weights, k=CHANGES_IN_A_SLOT)
        writes = []
        for version, account in enumerate(chosen):
            data = self._data[account]
            for _ in range(min(len(data) // 8, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            writes.append(
                AccountWrite(
                    self._keys[account], chance.randrange(10**10), self._owners[account],
                    bytes(data), False, U64_MAX, version, wires[version % len(wires)][1:65],
                )
            )  # fmt: skip
        return writes


def _made_up(chance: random.Random, size: int, filled: float) -> bytearray:
    """Random bytes and zeros in runs of 32, as keys and numbers lie in accounts."""
    runs = (
        chance.randbytes(32) if chance.random() < filled else bytes(32)
        for _ in range(-(-size // 32))
    )
    return bytearray(b"".join(runs)[:size])


def _raw(write: Any) -> int:
    """Pubkey, owner, signature, four u64s and a flag, and the data."""
    return 32 + 32 + 64 + 4 * 8 + 1 + len(write.data)


def _hash(number: int) -> str:
    from solders.hash import Hash

    return str(Hash(number.to_bytes(32)))


def _stored() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM rewind_accountchange")
        cursor.execute(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
            " WHERE inhparent = 'rewind_accountchange'::regclass"
        )
        return int(cursor.fetchone()[0])


if __name__ == "__main__":
    main()
