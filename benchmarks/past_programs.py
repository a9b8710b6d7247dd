"""A program's accounts of past slots at mainnet's density: slots read a second, hot and sealed.

As many slots as make some windows, each with 4,500 changed accounts: few are written in each slot,
most once in a while. Read by one thread as a subscription with a memory does, data included.
"""

import os
import random
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache

from benchmarks.service import database
from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58encode
from chain.units import U64_MAX, Slot
from tests.rewind.samples import signature, wire

SLOTS = int(os.environ.get("PAST_SLOTS", "600"))
WRITES, ACCOUNTS = 4_500, 400_000
_FIRST = 432_000
_AT_ONCE = 16
_TRANSACTIONS = 100
_CHAIN = 2.5
# Shares of the writes: a program with two fifths, as tokens have, a middle and a small one.
_SHARES = ((bytes([1]) * 32, 0.4), (bytes([2]) * 32, 0.03), (bytes([3]) * 32, 0.001))
_REST = bytes([4]) * 32
_SIZES = (0, 165, 165, 165, 165, 200, 300, 680, 1_544)


def main() -> None:
    with database():
        _fill()
        measure("hot")
        _seal()
        measure("sealed")


def _fill() -> None:
    from django.db import connection

    from rewind.recording.services.recording import record_slots

    chance = random.Random(7)
    owners = [_owner(chance.random()) for _ in range(ACCOUNTS)]
    began, now = time.perf_counter(), datetime.now(UTC)
    for begin in range(_FIRST, _FIRST + SLOTS, _AT_ONCE):
        end = min(begin + _AT_ONCE, _FIRST + SLOTS)
        records = [_record(slot, chance, owners) for slot in range(begin, end)]
        record_slots(records, source="bench", now=now)
    seconds = time.perf_counter() - began
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT pg_total_relation_size('rewind_slotowners')")
        (size,) = cursor.fetchone()
    print(
        f"recorded {SLOTS} slots of {WRITES:,} accounts in {seconds:.0f} s; lists of accounts"
        f" {size / SLOTS / WRITES:.2f} B an account",
        flush=True,
    )


def _owner(drawn: float) -> bytes:
    for owner, share in _SHARES:
        drawn -= share
        if drawn < 0:
            return owner
    return _REST


@cache
def _key(account: int) -> bytes:
    return random.Random(account).randbytes(32)


def _record(slot: int, chance: random.Random, owners: Sequence[bytes]) -> SlotRecord:
    """A third of the writes is of accounts that are written in nearly every slot."""
    accounts: set[int] = set()
    while len(accounts) < WRITES:
        most = WRITES // 2 if len(accounts) % 3 == 0 else ACCOUNTS
        accounts.add(chance.randrange(most))
    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(slot - 1),
        blockhash=b58encode(slot.to_bytes(32)),
        previous_blockhash=b58encode((slot - 1).to_bytes(32)),
        block_time=None,
        block_height=slot,
        transactions=[TransactionRecord(wire(slot, each), None) for each in range(_TRANSACTIONS)],
        rewards=None,
        account_writes=list(_writes(slot, sorted(accounts), owners)),
    )


def _writes(slot: int, accounts: Sequence[int], owners: Sequence[bytes]) -> Iterator[AccountWrite]:
    for version, account in enumerate(accounts):
        size = _SIZES[account % len(_SIZES)]
        data = random.Random(account).randbytes(size)
        data = data[: size // 2] + slot.to_bytes(8) + data[size // 2 + 8 :] if size else b""
        by = signature(slot, version % _TRANSACTIONS)
        key, owner = _key(account), owners[account]
        yield AccountWrite(key, 1_000_000 + slot, owner, data, False, U64_MAX, version, by)


def _seal() -> None:
    from django.utils import timezone

    from rewind.sealed.services.sealing import Policy, seal_step

    began = time.perf_counter()
    while seal_step(Policy(margin=-1_000_000), now=timezone.now()):
        pass
    print(f"sealed in {time.perf_counter() - began:.0f} s", flush=True)


def measure(form: str) -> None:
    """Prints slots a second of CPU for programs of each size, and for all accounts."""
    asked: list[tuple[str, Collection[bytes] | None]] = [
        (f"a program of {share:.1%} of the writes", [owner]) for owner, share in _SHARES
    ]
    for name, owners in [*asked, ("all accounts", None)]:
        slots, writes, spent, served = _read(owners)
        both = spent + served
        print(
            f"{form}, {name}: {slots / both:,.1f} slots a CPU second with PostgreSQL's"
            f" ({slots / both / _CHAIN:,.1f} of the chain's pace), {writes / both:,.0f} accounts;"
            f" {spent / both:.0%} of it here",
            flush=True,
        )


def _read(owners: Collection[bytes] | None) -> tuple[int, int, float, float]:
    """Slots, accounts, CPU seconds of this process and of its PostgreSQL backend."""
    from benchmarks.sealing import _backend, _cpu_of
    from rewind.accounts.services.owned_between import owned_between
    from rewind.sealed.store import open_blocks

    open_blocks.forget()
    pid = _backend()
    at, last, writes, size = _FIRST, _FIRST + SLOTS - 1, 0, 0
    began, process, server = time.perf_counter(), time.process_time(), _cpu_of(pid)
    while at <= last and time.perf_counter() - began < 60.0:
        page = owned_between(owners, at, min(at + 99, last), most=2_000)
        for found in page.slots.values():
            for each in found:
                size += len(each.written().data)
                writes += 1
        at = page.last + 1
    spent, served = time.process_time() - process, _cpu_of(pid) - server
    return at - _FIRST, writes, spent, served


if __name__ == "__main__":
    main()
