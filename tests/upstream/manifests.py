"""Writes a snapshot's manifest by hand, whole, as validators of several ages have it."""

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from solders.epoch_schedule import EpochSchedule
from solders.rent import Rent
from solders.stake_history import StakeHistoryEntry

from chain.lattice import bank_hash, hard_fork_data

KEYS = [bytes([number]) * 32 for number in range(1, 9)]
HASH = b"\xaa" * 32
SIGNATURES = 9_000
STAKES = {0: 5_000_000, 1: 5_000_000, 2: 5_000_000}


@dataclass(frozen=True)
class Age:
    """What one age of the format wrote, beside what all of them did."""

    epoch_stakes: bool = False
    root_lists: bool = True
    extras: bool = True
    delta_hash: bytes = bytes(32)
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
    lattice: bytes | None = None,
    of_bank: bytes | None = None,
    forks: Sequence[tuple[int, int]] = ((50, 1),),
    stakes: Mapping[int, int] | None = None,
) -> bytes:
    """A manifest that names these storages (`slot.id`) with their live lengths. With a lattice
    hash, its bank's hash is that over it, unless another is given `of_bank`. `stakes` are of the
    keys by their number.
    """
    parent = max(slot - 1, 0) if parent_slot is None else parent_slot
    if of_bank is None:
        of_bank = HASH if lattice is None else _hash(slot, parent, age, blockhashes, lattice, forks)
    return b"".join(
        [
            _bank(
                slot if bank_slot is None else bank_slot,
                parent,
                age,
                capitalization,
                blockhashes,
                of_bank,
                forks,
            ),
            _database(lengths, slot if database_slot is None else database_slot, age),
            _extras(lattice, stakes) if age.extras else b"",
        ]
    )


def _hash(
    slot: int,
    parent_slot: int,
    age: Age,
    blockhashes: Mapping[int, bytes] | None,
    lattice: bytes,
    forks: Sequence[tuple[int, int]],
) -> bytes:
    newest = HASH if blockhashes is None else blockhashes[max(blockhashes)]
    fork = hard_fork_data(forks, slot, parent_slot)
    if not any(age.delta_hash):
        return bank_hash(HASH, SIGNATURES, newest, lattice, hard_fork=fork)
    head = hashlib.sha256(HASH + age.delta_hash + _u64(SIGNATURES) + newest).digest()
    found = hashlib.sha256(head + lattice).digest()
    return found if fork is None else hashlib.sha256(found + fork).digest()


def _bank(
    slot: int,
    parent_slot: int,
    age: Age,
    capitalization: int,
    blockhashes: Mapping[int, bytes] | None,
    of_bank: bytes,
    forks: Sequence[tuple[int, int]],
) -> bytes:
    return b"".join(
        [
            _blockhash_queue(blockhashes),
            _list(_u64(each, 0) for each in (slot, parent_slot)),  # ancestors
            of_bank + HASH + _u64(parent_slot),
            _list(_u64(*each) for each in forks),
            _u64(7_000, 6_464, SIGNATURES, capitalization, 6_464 + 64),
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


def _stakes(*, credits_observed: bytes = b"", stakes: Mapping[int, int] = STAKES) -> bytes:
    history = (_u64(epoch) + bytes(StakeHistoryEntry(9, 8, 7)) for epoch in range(3))
    return b"".join(
        [
            _list(_vote_account(*each) for each in stakes.items()),
            _list(_delegation(number) + credits_observed for number in range(4)),
            _u64(0, 3),
            _list(history),
        ]
    )


def _vote_account(number: int, stake: int) -> bytes:
    data = bytes([1, 0, 0, 0]) + bytes(range(number, 250)) * number
    account = _u64(27_000_000, len(data)) + data + KEYS[3] + b"\x00" + _u64(2**64 - 1)
    return KEYS[number] + _u64(stake) + account


def _delegation(number: int) -> bytes:
    return KEYS[number] + KEYS[4] + struct.pack("<QQQd", 6_000, 1, 2**64 - 1, 0.25)


def _epoch_stakes(epoch: int) -> bytes:
    return _u64(epoch) + _stakes() + _of_epoch(STAKES)


def _versioned_epoch_stakes(epoch: int, stakes: Mapping[int, int]) -> bytes:
    variant = struct.pack("<I", 0)
    told = _stakes(credits_observed=_u64(77), stakes=stakes)
    return _u64(epoch) + variant + told + _of_epoch(stakes)


def _of_epoch(stakes: Mapping[int, int]) -> bytes:
    node = KEYS[5] + _list(KEYS[:2]) + _u64(10_000_000)
    voters = _list([KEYS[0] + KEYS[6], KEYS[1] + KEYS[7]])
    return _u64(sum(stakes.values())) + _list([node]) + voters


def _database(lengths: dict[str, int], slot: int, age: Age) -> bytes:
    by_slot: dict[int, list[bytes]] = {}
    for name, length in lengths.items():
        of_slot, number = map(int, name.split("."))
        by_slot.setdefault(of_slot, []).append(_u64(number, length))
    storages = _list(_u64(each) + _list(entries) for each, entries in by_slot.items())
    told = storages + _u64(0, slot) + age.delta_hash + HASH + _u64(5, 4, 3, 2, 1)
    if age.root_lists:
        told += _list(_u64(each) for each in (97, 98)) + _list([_u64(97) + HASH])
    return told


def _extras(lattice: bytes | None, stakes: Mapping[int, int] | None) -> bytes:
    return b"".join(
        [
            _u64(5_000),
            _option(_u64(90) + HASH + _u64(1) + HASH + _u64(2)),  # of the full snapshot
            _option(HASH),
            _list([_versioned_epoch_stakes(3, STAKES if stakes is None else stakes)]),
            _option(lattice),  # accounts_lt_hash
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
