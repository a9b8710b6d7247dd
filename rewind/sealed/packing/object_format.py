"""An object of cold storage: the sealed blocks of one segment and one first byte of pubkeys.

It stands alone. A header, the segment's dictionary, the blocks one after the other, an index of
them, and a trailer whose checksum covers all bytes before it. Numbers are big-endian.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from struct import Struct
from typing import BinaryIO, NamedTuple

from xxhash import xxh3_64_intdigest, xxh3_128

# The last byte of it is the version.
_MAGIC = b"TMCOLD\r\x01"
# Magic, bucket, first slot, last slot, size of the dictionary.
_HEADER = Struct(">8sBqqI")
# Pubkey, slot and position of the first change, changes, offset, size, checksum.
_ENTRY = Struct(">32sqiIQIQ")
# Offset of the index, blocks, changes.
_TRAILER = Struct(">QIQ")
_CHECKSUM = 16
HEADER_BYTES = _HEADER.size
# Besides the blocks and their entries.
_FIXED = _HEADER.size + _TRAILER.size + _CHECKSUM


class ObjectDamaged(ValueError):
    """The bytes are no object of cold storage, or not those that were written."""


class About(NamedTuple):
    """What an object has: changes of the slots from `first_slot` to `last_slot`, both included,
    whose pubkeys begin with `bucket`.
    """

    first_slot: int
    last_slot: int
    bucket: int


class Packed(NamedTuple):
    """A sealed block: its first change's key, how many changes it has, and its bytes."""

    pubkey: bytes  # 32 bytes
    slot: int
    position: int
    changes: int
    body: bytes  # at least one byte


class Entry(NamedTuple):
    """Where a block lies in the object: `size` bytes from `at` on, with their XXH3 (64 bits)."""

    pubkey: bytes
    slot: int
    position: int
    changes: int
    at: int
    size: int
    checksum: int


class Written(NamedTuple):
    """A finished object: bytes, changes, and the XXH3 (128 bits) of all its bytes."""

    size: int
    changes: int
    whole: bytes


class SealedObject(NamedTuple):
    """A whole object. `dictionary` is None where its blocks have none."""

    about: About
    dictionary: bytes | None
    entries: tuple[Entry, ...]
    data: bytes

    @property
    def changes(self) -> int:
        return sum(each.changes for each in self.entries)

    def blocks(self) -> Iterator[Packed]:
        """Its blocks, in order."""
        for each in self.entries:
            yield Packed(*each[:4], self.data[each.at : each.at + each.size])


class Writer:
    """Writes an object into a file, block by block, in little memory."""

    def __init__(self, file: BinaryIO, about: About, dictionary: bytes | None) -> None:
        self._file = file
        self._checksum = xxh3_128()
        self._at = 0
        self._entries: list[Entry] = []
        dictionary = dictionary or b""
        self._write(_HEADER.pack(_MAGIC, *about[2:], *about[:2], len(dictionary)))
        self._write(dictionary)

    def add(self, block: Packed) -> int:
        """Where the block begins in the object. Blocks come in the order of their keys."""
        at, checksum = self._at, xxh3_64_intdigest(block.body)
        self._entries.append(Entry(*block[:4], at, len(block.body), checksum))
        self._write(block.body)
        return at

    def end(self) -> Written:
        """Writes the index; nothing may be added any more."""
        begin, changes = self._at, sum(each.changes for each in self._entries)
        for each in self._entries:
            self._write(_ENTRY.pack(*each))
        self._write(_TRAILER.pack(begin, len(self._entries), changes))
        self._write(self._checksum.digest())
        # That of the checksum too.
        return Written(self._at, changes, self._checksum.digest())

    def _write(self, part: bytes) -> None:
        self._file.write(part)
        self._checksum.update(part)
        self._at += len(part)


def dictionary_size(header: bytes) -> int:
    """Bytes of the dictionary behind an object's first HEADER_BYTES; 0 if that is no header."""
    if len(header) != HEADER_BYTES or not header.startswith(_MAGIC):
        return 0
    return int(_HEADER.unpack(header)[-1])


def parse(data: bytes) -> SealedObject:
    """The object that the bytes are. ObjectDamaged unless they are those that a Writer wrote for
    blocks in order.
    """
    if len(data) < _FIXED:
        raise ObjectDamaged("it ends early")
    magic, bucket, first_slot, last_slot, dictionary_size = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise ObjectDamaged("it does not begin as an object does")
    end = len(data) - _CHECKSUM
    view = memoryview(data)
    if xxh3_128(view[:end]).digest() != view[end:]:
        raise ObjectDamaged("the checksum of the whole differs")
    begin, count, changes = _TRAILER.unpack_from(data, end - _TRAILER.size)
    at = _HEADER.size + dictionary_size
    if at > begin or begin + count * _ENTRY.size + _TRAILER.size != end:
        raise ObjectDamaged("its parts do not agree with its size")
    index = view[begin : end - _TRAILER.size]
    entries = tuple(Entry(*each) for each in _ENTRY.iter_unpack(index)) if count else ()
    _check_places(entries, at, begin)
    for each in entries:
        if each.pubkey[0] != bucket:
            raise ObjectDamaged("a block of another bucket")
        if xxh3_64_intdigest(view[each.at : each.at + each.size]) != each.checksum:
            raise ObjectDamaged(f"the checksum of the block at {each.at} differs")
    if any(one[:3] >= other[:3] for one, other in pairwise(entries)):
        raise ObjectDamaged("its blocks are out of order")
    if changes != sum(each.changes for each in entries):
        raise ObjectDamaged("its changes are counted wrong")
    dictionary = data[_HEADER.size : at] or None
    return SealedObject(About(first_slot, last_slot, bucket), dictionary, entries, data)


def _check_places(entries: Iterable[Entry], at: int, end: int) -> None:
    for each in entries:
        if each.at != at or not each.size:
            raise ObjectDamaged("its blocks do not lie one after the other")
        at += each.size
    if at != end:
        raise ObjectDamaged("its blocks do not end where its index begins")
