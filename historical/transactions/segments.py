"""Which transactions an address occurs in: packed per address and run of slots.

A segment is SEGMENT_SLOTS consecutive slots. A row covers slots of one segment, so that rows
read newest first can be sorted segment by segment, however the blocks arrived. An address is
known by a 16-byte digest: any client can put any 32 bytes into a transaction's keys, so a prefix of
the key would mix the histories of unrelated addresses; a collision of digests takes 2**64
work and gains the attacker only their own addresses' mixture.
"""

import struct
from collections.abc import Iterable, Iterator
from hashlib import blake2b

SEGMENT_SLOTS = 64
DIGEST_BYTES = 16
MAX_POSITION = 2**24 - 1
_UNPACKED_AT_ONCE = 128 * 4  # bytes


def digest(address: bytes) -> bytes:
    """The 16 bytes that stand for an address in the index."""
    return blake2b(address, digest_size=DIGEST_BYTES).digest()


def segment_of(slot: int) -> int:
    return slot // SEGMENT_SLOTS


def pack_entries(first_slot: int, entries: Iterable[tuple[int, int]]) -> bytes:
    """(slot, position) pairs of one segment, ascending, 4 bytes each."""
    words = [(slot - first_slot) << 24 | position for slot, position in entries]
    return struct.pack(f">{len(words)}I", *words)


def unpack_entries(first_slot: int, packed: bytes) -> list[tuple[int, int]]:
    words = struct.unpack(f">{len(packed) // 4}I", packed)
    return [(first_slot + (word >> 24), word & MAX_POSITION) for word in words]


def unpack_backwards(first_slot: int, packed: bytes) -> Iterator[list[tuple[int, int]]]:
    """The same from the last one on, some at a time: of a long run mostly the newest are wanted."""
    for end in range(len(packed), 0, -_UNPACKED_AT_ONCE):
        some = unpack_entries(first_slot, packed[max(0, end - _UNPACKED_AT_ONCE) : end])
        yield some[::-1]


def last_slot(first_slot: int, packed: bytes) -> int:
    """The slot of a run's last entry."""
    return first_slot + packed[-4]
