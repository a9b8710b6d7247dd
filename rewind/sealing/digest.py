"""A sum over changes, to compare what was sealed with what is read back."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Self

from xxhash import xxh3_128_intdigest

from rewind.sealing.changes import Change

_MASK = (1 << 128) - 1
_FIELDS = Struct("<32sqiBQQBi")


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
        pack = _FIELDS.pack
        count = lamports = hashes = 0
        for pubkey, slot, position, kind, balance, rent, executable, owner, data in changes:
            fields = pack(pubkey, slot, position, kind, balance, rent, executable, owner)
            hashes += xxh3_128_intdigest(fields + data)
            lamports += balance
            count += 1
        self.count += count
        self.lamports = (self.lamports + lamports) & _MASK
        self.hash = (self.hash + hashes) & _MASK
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
