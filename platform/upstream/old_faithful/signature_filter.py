"""The index sig-exists (bucketteer 2): whether an epoch may have a signature, without where."""

import xxhash

from upstream.old_faithful.compact_index import metadata_of
from upstream.old_faithful.errors import Damaged
from upstream.old_faithful.ranges import Reading

MAGIC = b"buckette"
VERSION = 2
PREFIXES = 65_536
_START = 4_096
# An entry of the table: a prefix of signatures and where its hashes begin behind the header.
_ENTRY = 10
_TABLE_PAGE = 65_536
_NONE = 2**64 - 1
# A prefix of an epoch has some 15,000 hashes; this many only if the file is no index.
_MOST_HASHES = 1_000_000


class SignatureFilter:
    """The file, by ranges. `metadata` are the file's own words of itself, by name. Raises
    Unreachable, and Damaged; UnknownForm where it is one of another version.
    """

    def __init__(self, path: str, reading: Reading) -> None:
        self.path = path
        start = reading.cached_start(path, _START)
        if start[4:12] != MAGIC:
            raise Damaged(path, "not an index of the format bucketteer")
        if int.from_bytes(start[12:20], "little") != VERSION:
            raise UnknownForm(path, "an index of another version")
        self.metadata, size = metadata_of(path, start[20:])
        self._table = 20 + size + 8
        self._content = 4 + int.from_bytes(start[:4], "little")
        count = int.from_bytes(start[20 + size : self._table], "little")
        if count != PREFIXES or self._content != self._table + count * _ENTRY:
            raise Damaged(path, "the index's header is damaged")

    def may_have(self, signature: bytes, reading: Reading) -> bool:
        """False where the epoch does not have the signature."""
        prefix = int.from_bytes(signature[:2], "little")
        start = self._offset(prefix, reading)
        if start == _NONE:
            return False
        if prefix + 1 < PREFIXES and (end := self._offset(prefix + 1, reading)) != _NONE:
            size = end - start
        else:
            head = reading.cached(self.path, self._content + start, 4)
            size = 4 + 8 * int.from_bytes(head, "little")
        if not 4 <= size <= 4 + 8 * _MOST_HASHES:
            raise self._damaged(prefix)
        hashes = reading.cached(self.path, self._content + start, size)
        if 4 + 8 * int.from_bytes(hashes[:4], "little") != size:
            raise self._damaged(prefix)
        return _is_in(hashes, xxhash.xxh64_intdigest(signature))

    def _offset(self, prefix: int, reading: Reading) -> int:
        at = prefix * _ENTRY
        # Pages end where an entry does.
        page = at - at % (_TABLE_PAGE - _TABLE_PAGE % _ENTRY)
        length = min(_TABLE_PAGE - _TABLE_PAGE % _ENTRY, PREFIXES * _ENTRY - page)
        table = reading.cached(self.path, self._table + page, length)
        entry = table[at - page : at - page + _ENTRY]
        if int.from_bytes(entry[:2], "little") != prefix:
            raise self._damaged(prefix)
        return int.from_bytes(entry[2:], "little")

    def _damaged(self, prefix: int) -> Damaged:
        return Damaged(self.path, f"the hashes of prefix {prefix} are damaged")


class UnknownForm(Exception):
    """A file of a version that is not read here."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


def _is_in(hashes: bytes, wanted: int) -> bool:
    """Descends from the root, entry 0, to the children of entry i: 2 i + 1 (lower), 2 i + 2."""
    count, index = (len(hashes) - 4) // 8, 0
    while index < count:
        found = int.from_bytes(hashes[4 + 8 * index : 12 + 8 * index], "little")
        if found == wanted:
            return True
        index = 2 * index + (2 if found < wanted else 1)
    return False
