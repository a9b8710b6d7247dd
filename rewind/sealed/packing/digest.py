"""A sum over changes, to compare what was sealed with what is read back."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import add
from struct import Struct
from typing import Self

from xxhash import xxh3_128_intdigest

from rewind.sealed.packing.changes import Change

_MASK = (1 << 128) - 1
_FIELDS = Struct("<32sqiBQQBi")
_LAMPORTS = Change._fields.index("lamports")
_AT_ONCE = 1_000


@dataclass(slots=True)
class Digest:
    """Count, sum of lamports and sum of hashes (xxh3, 128 bits): the same in any order of changes.

    Both sums are modulo 2**128. Digests of parts add up to that of the whole.
    """

    count: int = 0
    lamports: int = 0
    hash: int = 0

    def add(self, changes: Iterable[Change]) -> Self:
        """Count these too."""
        rest = iter(changes)
        while some := list(islice(rest, _AT_ONCE)):
            *fields, datas = zip(*some, strict=True)
            packed = map(_FIELDS.pack, *fields)
            self.count += len(some)
            self.lamports += sum(fields[_LAMPORTS])
            self.hash += sum(map(xxh3_128_intdigest, map(add, packed, datas)))
        self.lamports &= _MASK
        self.hash &= _MASK
        return self

    def over(self, changes: Iterable[Change]) -> Iterator[Change]:
        """The same changes, counted as they pass."""
        for change in changes:
            self.add((change,))
            yield change

    def __add__(self, other: "Digest") -> "Digest":
        return Digest(
            self.count + other.count,
            (self.lamports + other.lamports) & _MASK,
            (self.hash + other.hash) & _MASK,
        )
