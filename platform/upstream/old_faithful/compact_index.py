"""compactindexsized, the format of the published indexes: a perfect hash table per bucket of about
10,000 keys. In one of 2,000 cases a key that is not in the table finds the value of another one:
what is found must be checked against what it leads to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import xxhash

from upstream.old_faithful.errors import Damaged
from upstream.old_faithful.ranges import Reading

MAGIC = b"compiszd"
VERSION = 1
HASH_SIZE = 3
BUCKET_HEADER = 16
_START = 4_096
# Bytes of the table of bucket headers that are read at once: the table of an epoch's CIDs has 1 MB.
_TABLE_PAGE = 65_536
# Buckets have about 10,000 entries; this many only if the file is no index.
_MOST_ENTRIES = 200_000
_MOST_METADATA = _START - 25
_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket's entries as bytes, each a hash and a value, in the order of a search tree."""

    domain: int
    entries: bytes
    value_size: int

    def __len__(self) -> int:
        return len(self.entries) // (HASH_SIZE + self.value_size)

    def find(self, key: bytes) -> bytes | None:
        """The value of the key. Descends from the root, entry 0, to the children of entry i, which
        are 2 i + 1 (lower) and 2 i + 2.
        """
        wanted = self.hash_of(key)
        stride, entries, count = HASH_SIZE + self.value_size, self.entries, len(self)
        index = 0
        while index < count:
            at = index * stride
            found = int.from_bytes(entries[at : at + HASH_SIZE], "little")
            if found == wanted:
                return entries[at + HASH_SIZE : at + stride]
            index = 2 * index + (2 if found < wanted else 1)
        return None

    def hash_of(self, key: bytes) -> int:
        """The key's hash in this bucket."""
        return entry_hash(self.domain, key)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """(hash, value) of each entry."""
        stride, entries = HASH_SIZE + self.value_size, self.entries
        for at in range(0, len(entries), stride):
            hashed = int.from_bytes(entries[at : at + HASH_SIZE], "little")
            yield hashed, entries[at + HASH_SIZE : at + stride]


class CompactIndex:
    """An index file, by ranges. `value_size` is the one that its kind has; `metadata` are the
    file's own words of itself, by name. Raises Unreachable, Damaged.
    """

    def __init__(self, path: str, reading: Reading, value_size: int) -> None:
        self.path = path
        start = reading.cached_start(path, _START)
        if start[:8] != MAGIC:
            raise Damaged(path, "not an index of the format compactindexsized")
        size = int.from_bytes(start[8:12], "little")
        if not 13 < size <= _MOST_METADATA or len(start) < 12 + size:
            raise Damaged(path, "the index's header is damaged")
        self._value_size = int.from_bytes(start[12:20], "little")
        self.buckets = int.from_bytes(start[20:24], "little")
        if start[24] != VERSION or self._value_size != value_size or not self.buckets:
            raise Damaged(path, "an index of another version or kind")
        self.metadata, _ = metadata_of(path, start[25 : 12 + size])
        self._table = 12 + size

    def find(self, key: bytes, reading: Reading) -> bytes | None:
        """The value of the key; maybe that of another key where the index does not have it."""
        return self.bucket(bucket_of(key, self.buckets), reading).find(key)

    def bucket(self, number: int, reading: Reading) -> Bucket:
        """One bucket, whole: a tree search by single reads would wait for 14 of them."""
        at = number * BUCKET_HEADER
        page = at - at % _TABLE_PAGE
        length = min(_TABLE_PAGE, self.buckets * BUCKET_HEADER - page)
        table = reading.cached(self.path, self._table + page, length)
        header = table[at - page : at - page + BUCKET_HEADER]
        count = int.from_bytes(header[4:8], "little")
        offset = int.from_bytes(header[10:16], "little")
        first = self._table + self.buckets * BUCKET_HEADER
        if header[8:10] != b"\x03\0" or count > _MOST_ENTRIES or (count and offset < first):
            raise Damaged(self.path, f"the header of bucket {number} is damaged")
        entries = b""
        if count:
            size = count * (HASH_SIZE + self._value_size)
            entries = reading.cached(self.path, offset, size)
        return Bucket(int.from_bytes(header[:4], "little"), entries, self._value_size)


def bucket_of(key: bytes, buckets: int) -> int:
    """The number of the key's bucket: its hash, mixed again while it falls into the part of the
    number space that would make some buckets likelier.
    """
    value = xxhash.xxh64_intdigest(key)
    unfair = (2**64 - buckets) % buckets
    while value < unfair:
        value = _mixed(value)
    return value % buckets


def entry_hash(domain: int, key: bytes) -> int:
    """A key's hash in a bucket of that hash domain."""
    block = domain.to_bytes(4, "little") + bytes(28)
    return xxhash.xxh64_intdigest(block + key) & 0xFFFFFF


def _mixed(value: int) -> int:
    """The finalizer of MurmurHash3."""
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33


def metadata_of(path: str, data: bytes) -> tuple[dict[str, bytes], int]:
    """What a file says of itself, by name, and the bytes that it takes: a count, then names and
    values, each behind a byte of its length. Raises Damaged.
    """
    found: dict[str, bytes] = {}
    at = 1
    for _ in range(data[0] if data else 0):
        pair = []
        for _ in range(2):
            size = data[at] if at < len(data) else 0
            pair.append(data[at + 1 : at + 1 + size])
            at += 1 + size
            if at > len(data):
                raise Damaged(path, "the index's metadata ends too early")
        found.setdefault(pair[0].decode("latin-1"), pair[1])
    return found, at
