"""How the indexes of sealed transactions are stored: sorted entries in blocks of about 4 kB.

An entry is a key and, behind it, a place: 5 bytes of the slot, 3 of the position. Of a signature
the key is 5 bytes of a digest, of an address its digest. Blocks of signatures are not compressed:
their bytes are random, and PostgreSQL looks for one in them itself. Blocks of addresses are
compressed by columns. A run is some sorted blocks without overlap.
"""

import zlib
from array import array
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate
from struct import Struct

import zstandard

from historical.blocks import bodies as block_bodies
from historical.transactions.segments import DIGEST_BYTES

SIGNATURE_BYTES = 5
PLACE_BYTES = 8
_SIGNATURE_ENTRY = SIGNATURE_BYTES + PLACE_BYTES

# A page of PostgreSQL's holds two of them with what stands around them.
_LARGEST = 3_980
_SMALLEST = 3_700
# Reading a few places of a busy address unpacks all that it has in a block.
_MOST_ENTRIES = 2_048
_CHECKSUM_BYTES = 4
# Entries, bytes of a slot and of a position, the lowest slot.
_SIGNATURE_HEAD = Struct("<HBBQ")
# Keys, entries, the lowest slot.
_ADDRESS_HEAD = Struct("<HHQ")
_LEVEL = 9

Place = tuple[int, int]


class DamagedBlock(Exception):
    """A block is not what was written."""


def signature_key(signature: bytes) -> bytes:
    """A digest: that of signatures made to be alike is not."""
    return blake2b(signature, digest_size=SIGNATURE_BYTES).digest()


def packed_place(slot: int, position: int) -> bytes:
    return (slot << 24 | position).to_bytes(PLACE_BYTES)


def place_of(entry: bytes) -> Place:
    word = int.from_bytes(entry[-PLACE_BYTES:])
    return word >> 24, word & 0xFFFFFF


class SignatureIndex:
    """Of signatures, whose keys are not unique: what is found has to be compared."""

    kind = 1
    key_bytes = SIGNATURE_BYTES

    @staticmethod
    def pack(entries: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """(first entry, block) of sorted entries. Those of one key stand in one block."""
        start = 0
        while start < len(entries):
            end = min(start + (_LARGEST - 16) // _SIGNATURE_ENTRY, len(entries))
            block = _pack_signatures(entries[start:end])
            if end < len(entries):  # narrow places leave room for more
                size = SIGNATURE_BYTES + block[_CHECKSUM_BYTES + 2] + block[_CHECKSUM_BYTES + 3]
                end = min(start + (_LARGEST - 32) // (size + 1), len(entries))
                while end < len(entries) and _same_key(entries[end - 1], entries[end]):
                    end += 1
                block = _pack_signatures(entries[start:end])
            yield entries[start], block
            start = end

    @staticmethod
    def unpack(block: bytes) -> list[bytes]:
        """The entries. Raises DamagedBlock."""
        count, head, places, widths, lowest = _open_signatures(block)
        keys = [block[at : at + SIGNATURE_BYTES] for at in range(head, places, SIGNATURE_BYTES)]
        return [
            key + packed_place(*_signature_place(block, places, widths, lowest, number))
            for number, key in enumerate(keys[:count])
        ]

    @staticmethod
    def places(block: bytes, key: bytes) -> list[Place]:
        """Of the key, ascending. Raises DamagedBlock."""
        _, head, places, widths, lowest = _open_signatures(block)
        found = []
        at = block.find(key, head, places)
        while at >= 0:
            number, rest = divmod(at - head, SIGNATURE_BYTES)
            if not rest:
                found.append(_signature_place(block, places, widths, lowest, number))
            at = block.find(key, at + 1, places)
        return found


def _same_key(one: bytes, other: bytes) -> bool:
    return one[:SIGNATURE_BYTES] == other[:SIGNATURE_BYTES]


def _pack_signatures(entries: Sequence[bytes]) -> bytes:
    places = [place_of(entry) for entry in entries]
    lowest = min(slot for slot, _ in places)
    slot_width = _width(max(slot for slot, _ in places) - lowest)
    position_width = _width(max(position for _, position in places))
    parts = [_SIGNATURE_HEAD.pack(len(entries), slot_width, position_width, lowest)]
    parts += [entry[:SIGNATURE_BYTES] for entry in entries]
    for slot, position in places:
        parts.append((slot - lowest).to_bytes(slot_width) + position.to_bytes(position_width))
    return _with_checksum(b"".join(parts))


def _open_signatures(block: bytes) -> tuple[int, int, int, tuple[int, int], int]:
    _check(block)
    count, slot_width, position_width, lowest = _SIGNATURE_HEAD.unpack_from(block, _CHECKSUM_BYTES)
    head = _CHECKSUM_BYTES + _SIGNATURE_HEAD.size
    return count, head, head + count * SIGNATURE_BYTES, (slot_width, position_width), lowest


def _signature_place(
    block: bytes, places: int, widths: tuple[int, int], lowest: int, number: int
) -> Place:
    slot_width, position_width = widths
    at = places + number * (slot_width + position_width)
    slot = int.from_bytes(block[at : at + slot_width])
    at += slot_width
    return lowest + slot, int.from_bytes(block[at : at + position_width])


class AddressIndex:
    """Of addresses' digests."""

    kind = 2
    key_bytes = DIGEST_BYTES

    @staticmethod
    def pack(entries: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """(first entry, block) of sorted entries."""
        start, guess = 0, 600
        while start < len(entries):
            left = len(entries) - start
            low, high = 0, min(left, _MOST_ENTRIES)
            block, taken = b"", 0
            for _ in range(8):
                count = min(max(guess, low + 1), high)
                packed = _pack_addresses(entries[start : start + count])
                if len(packed) <= _LARGEST:
                    block, taken, low = packed, count, count
                    if len(packed) >= _SMALLEST or count == high:
                        break
                else:
                    high = count - 1
                guess = count * (_LARGEST - 80) // len(packed)
                if high <= low:
                    break
            if not block:  # a single entry always fits
                taken = max(low, 1)
                block = _pack_addresses(entries[start : start + taken])
            yield entries[start], block
            start, guess = start + taken, taken

    @staticmethod
    def unpack(block: bytes) -> list[bytes]:
        """The entries. Raises DamagedBlock."""
        opened = OpenAddresses(block)
        entries = []
        for number, key in enumerate(opened.keys):
            raw = key.to_bytes(DIGEST_BYTES)
            entries += [raw + packed_place(*place) for place in opened.places_of(number)]
        return entries

    @staticmethod
    def places(block: bytes, key: bytes) -> list[Place]:
        """Of the key, ascending. Raises DamagedBlock."""
        opened = OpenAddresses(block)
        try:
            number = opened.keys.index(int.from_bytes(key))
        except ValueError:
            return []
        return opened.places_of(number)


def _pack_addresses(entries: Sequence[bytes]) -> bytes:
    lowest = min(entry[DIGEST_BYTES:] for entry in entries)
    lowest_slot = int.from_bytes(lowest) >> 24
    deltas: list[bytes] = []
    counts: list[int] = []
    slots: list[int] = []
    positions: list[int] = []
    key, known, slot, position = b"", 0, 0, 0
    for entry in entries:
        next_slot, next_position = place_of(entry)
        if entry[:DIGEST_BYTES] != key:
            key = entry[:DIGEST_BYTES]
            number = int.from_bytes(key)
            deltas.append((number - known).to_bytes(DIGEST_BYTES))
            known = number
            counts.append(0)
            slot, position = lowest_slot, -1
        counts[-1] += 1
        slots.append(next_slot - slot)
        # Behind another of its slot, the distance to that one.
        is_first = next_slot != slot or counts[-1] == 1
        positions.append(next_position if is_first else next_position - position)
        slot, position = next_slot, next_position
    joined = b"".join(deltas)
    head = _ADDRESS_HEAD.pack(len(deltas), len(entries), lowest_slot)
    columns = [joined[at::DIGEST_BYTES] for at in range(DIGEST_BYTES)]
    columns += [part for each in (counts, slots, positions) for part in _planes(each)]
    return _with_checksum(zstandard.ZstdCompressor(level=_LEVEL).compress(head + b"".join(columns)))


# Of a digest, as two numbers.
_HALVES = Struct(">QQ")


class OpenAddresses:
    """A block of addresses, decompressed. Raises DamagedBlock."""

    def __init__(self, block: bytes) -> None:
        _check(block)
        raw = block_bodies.open_frame(block[_CHECKSUM_BYTES:])
        count, self._entries, self._lowest = _ADDRESS_HEAD.unpack_from(raw)
        at = _ADDRESS_HEAD.size
        deltas = bytearray(count * DIGEST_BYTES)
        for plane in range(DIGEST_BYTES):
            deltas[plane::DIGEST_BYTES] = raw[at : at + count]
            at += count
        halves = _HALVES.iter_unpack(deltas)
        self.keys = list(accumulate([high << 64 | low for high, low in halves]))
        counts = _from_planes(raw, at, count)
        self._ends = list(accumulate(counts, initial=0))
        at += 4 * count
        self._slots = _from_planes(raw, at, self._entries)
        self._positions = _from_planes(raw, at + 4 * self._entries, self._entries)

    def places_of(self, number: int) -> list[Place]:
        """Of the key of that number, ascending."""
        first, end = self._ends[number : number + 2]
        slots = accumulate(self._slots[first:end], initial=self._lowest)
        before = next(slots)
        places: list[Place] = []
        position = -1
        for slot, given in zip(slots, self._positions[first:end], strict=True):
            position = position + given if places and slot == before else given
            places.append((slot, position))
            before = slot
        return places


def _planes(values: Sequence[int]) -> list[bytes]:
    """The values' lowest bytes, then the next, four in all."""
    raw = array("I", values).tobytes()
    return [raw[plane::4] for plane in range(4)]


def _from_planes(raw: bytes, at: int, count: int) -> "array[int]":
    joined = bytearray(4 * count)
    for plane in range(4):
        joined[plane::4] = raw[at + plane * count : at + (plane + 1) * count]
    values = array("I")
    values.frombytes(bytes(joined))
    return values


def _width(most: int) -> int:
    return max(1, (most.bit_length() + 7) // 8)


def _with_checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little") + content


def _check(block: bytes) -> None:
    if zlib.crc32(memoryview(block)[_CHECKSUM_BYTES:]) != int.from_bytes(
        block[:_CHECKSUM_BYTES], "little"
    ):
        raise DamagedBlock("its checksum differs")


Index = SignatureIndex | AddressIndex
INDEXES: dict[int, type[SignatureIndex] | type[AddressIndex]] = {
    SignatureIndex.kind: SignatureIndex,
    AddressIndex.kind: AddressIndex,
}
