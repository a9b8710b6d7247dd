"""Writes a snapshot's manifest by hand, whole, as validators of several ages have it."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from solders.epoch_schedule import EpochSchedule
from solders.rent import Rent
from solders.stake_history import StakeHistoryEntry

KEYS = [bytes([number]) * 32 for number in range(1, 9)]
HASH = b"\xaa" * 32


@dataclass(frozen=True)
class Age:
    """What one age of the format wrote, beside what all of them did."""

    epoch_stakes: bool = False
    root_lists: bool = True
    extras: bool = True
    hashes_per_tick: int | None = 62_500


OLD = Age(epoch_stakes=True, root_lists=False, extras=False, hashes_per_tick=None)
MIDDLE = Age(epoch_stakes=True)
NEW = Age()


def manifest(
    lengths: dict[str, int],
    *,
    slot: int = 100,
    age: Age = NEW,
    bank_slot: int | None = None,
    database_slot: int | None = None,
    parent_slot: int | None = None,
    capitalization: int = 10**18,
    blockhashes: Mapping[int, bytes] | None = None,
) -> bytes:
    """A manifest that names these storages (`slot.id`) with their live lengths."""
    parent = max(slot - 1, 0) if parent_slot is None else parent_slot
    return b"".join(
        [
            _bank(
                slot if bank_slot is None else bank_slot, parent, age, capitalization, blockhashes
            ),
            _database(lengths, slot if database_slot is None else database_slot, age),
            _extras() if age.extras else b"",
        ]
    )


def _bank(
    slot: int,
    parent_slot: int,
    age: Age,
    capitalization: int,
    blockhashes: Mapping[int, bytes] | None,
) -> bytes:
    return b"".join(
        [
            _blockhash_queue(blockhashes),
            _list(_u64(each, 0) for each in (slot, parent_slot)),  # ancestors
            HASH + HASH + _u64(parent_slot),
            _list([_u64(50, 1)]),  # hard_forks
            _u64(7_000, 6_464, 9_000, capitalization, 6_464 + 64),
            _option(None if age.hashes_per_tick is None else _u64(age.hashes_per_tick)),
            _u64(64) + (400_000_000).to_bytes(16, "little"),
            struct.pack("<qdQ", 1_584_368_940, 78_892_314.984, 123_456),
            _u64(slot, slot // 32, parent_slot) + KEYS[0],
            _u64(15, 5_000),  # collector_fees, fee_calculator
            _u64(10_000, 20_000, 5_000, 100_000) + b"\x32",  # fee_rate_governor
            _u64(0),
            _rent_collector(),
            bytes(EpochSchedule(432_000)),
            struct.pack("<6d", 0.08, 0.015, 0.15, 0.0, 7.0, 0.0),
            _stakes(),
            _list([KEYS[1]]) + _list([]) + _list([KEYS[2] + _u64(4)]),  # unused accounts
            _list(_epoch_stakes(epoch) for epoch in ((2, 3) if age.epoch_stakes else ())),
            b"\x01",  # is_delta
        ]
    )


def _blockhash_queue(blockhashes: Mapping[int, bytes] | None) -> bytes:
    """By default three hashes, the first of them of genesis, and another one as the newest."""
    told = dict(enumerate(KEYS[:3])) if blockhashes is None else blockhashes
    newest = HASH if blockhashes is None else blockhashes[max(blockhashes)]
    hashes = (each + _u64(5_000, number, 1_700_000_000) for number, each in told.items())
    return _u64(301) + _option(newest) + _list(hashes) + _u64(300)


def _rent_collector() -> bytes:
    return b"".join(
        [
            _u64(3),
            bytes(EpochSchedule(432_000)),
            struct.pack("<d", 78_892_314.984),
            bytes(Rent.default()),
        ]
    )


def _stakes(*, credits_observed: bytes = b"") -> bytes:
    history = (_u64(epoch) + bytes(StakeHistoryEntry(9, 8, 7)) for epoch in range(3))
    return b"".join(
        [
            _list(_vote_account(number) for number in range(3)),
            _list(_delegation(number) + credits_observed for number in range(4)),
            _u64(0, 3),
            _list(history),
        ]
    )


def _vote_account(number: int) -> bytes:
    data = bytes([1, 0, 0, 0]) + bytes(range(number, 250)) * number
    account = _u64(27_000_000, len(data)) + data + KEYS[3] + b"\x00" + _u64(2**64 - 1)
    return KEYS[number] + _u64(5_000_000) + account


def _delegation(number: int) -> bytes:
    return KEYS[number] + KEYS[4] + struct.pack("<QQQd", 6_000, 1, 2**64 - 1, 0.25)


def _epoch_stakes(epoch: int) -> bytes:
    return _u64(epoch) + _stakes() + _of_epoch()


def _versioned_epoch_stakes(epoch: int) -> bytes:
    variant = struct.pack("<I", 0)
    return _u64(epoch) + variant + _stakes(credits_observed=_u64(77)) + _of_epoch()


def _of_epoch() -> bytes:
    node = KEYS[5] + _list(KEYS[:2]) + _u64(10_000_000)
    voters = _list([KEYS[0] + KEYS[6], KEYS[1] + KEYS[7]])
    return _u64(15_000_000) + _list([node]) + voters


def _database(lengths: dict[str, int], slot: int, age: Age) -> bytes:
    by_slot: dict[int, list[bytes]] = {}
    for name, length in lengths.items():
        of_slot, number = map(int, name.split("."))
        by_slot.setdefault(of_slot, []).append(_u64(number, length))
    storages = _list(_u64(each) + _list(entries) for each, entries in by_slot.items())
    told = storages + _u64(0, slot) + HASH + HASH + _u64(5, 4, 3, 2, 1)
    if age.root_lists:
        told += _list(_u64(each) for each in (97, 98)) + _list([_u64(97) + HASH])
    return told


def _extras() -> bytes:
    return b"".join(
        [
            _u64(5_000),
            _option(_u64(90) + HASH + _u64(1) + HASH + _u64(2)),  # of the full snapshot
            _option(HASH),
            _list([_versioned_epoch_stakes(3)]),
            _option(bytes(2_048)),  # accounts_lt_hash
            _option(HASH),  # block_id
        ]
    )


def _u64(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def _list(members: Iterable[bytes]) -> bytes:
    parts = list(members)
    return _u64(len(parts)) + b"".join(parts)


def _option(value: bytes | None) -> bytes:
    return b"\x00" if value is None else b"\x01" + value
