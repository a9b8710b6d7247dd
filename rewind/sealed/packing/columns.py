"""Columns of unsigned numbers: the lowest bytes of all numbers, then the next ones, and so on.

Zeros of the higher bytes lie together that way, and numpy reads any part of a column in two steps.
"""

from collections.abc import Sequence
from struct import unpack
from typing import Any, NamedTuple
from zlib import adler32

import numpy as np
import numpy.typing as npt

from rewind.sealed.packing.changes import BlockDamaged

Unsigned = npt.NDArray[np.uint64]
Signed = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]

_U64 = np.dtype("<u8")
_ONE = np.uint64(1)
# As many bytes as adler32 adds up without a remainder; fewer than those are added sooner so.
_SUMMED, _FEW = 256, 2_048
_SHIFTS = range(0, 64, 8)
_ODD = bytes((0, 255)) * 128
# Of each width the next one that struct has.
_SIZES = {2: (2, "H"), 3: (4, "I"), 4: (4, "I"), **dict.fromkeys((5, 6, 7, 8), (8, "Q"))}


def zigzag(differences: Signed) -> Unsigned:
    """0, -1, 1, -2 … as 0, 1, 2, 3 …: small numbers have few bytes, whatever their sign."""
    return ((differences << 1) ^ (differences >> 63)).view(np.uint64)


def unzigzag(numbers: Unsigned) -> Unsigned:
    """The differences modulo 2**64."""
    halves: Unsigned = (numbers >> _ONE) ^ -(numbers & _ONE)
    return halves


def put(out: bytearray, numbers: npt.NDArray[Any]) -> int:
    """Append a column of uint64 or int64 from 0 on; its width, in bytes a number."""
    if not len(numbers):
        return 0
    width = (int(numbers.max()).bit_length() + 7) >> 3
    if width:
        octets = numbers.astype(_U64, copy=False).view(np.uint8).reshape(-1, 8)
        out += octets[:, :width].T.tobytes()
    return width


class Column(NamedTuple):
    """Where a column lies in a block's content; its bytes are known to be there."""

    content: bytes
    at: int
    length: int
    width: int

    def part(self, begin: int, end: int) -> Unsigned:
        """Some of the numbers. BlockDamaged if there are not so many."""
        content, at, length, width = self
        if end > length:
            raise BlockDamaged("a column has too few numbers")
        octets = np.zeros((end - begin, 8), np.uint8)
        if width and begin < end:
            planes = np.frombuffer(content, np.uint8, width * length, at).reshape(width, length)
            octets[:, :width] = planes[:, begin:end].T
        return octets.view(_U64)[:, 0]

    def octets(self) -> Octets:
        """All numbers of a column that has one byte for each. BlockDamaged if it has more."""
        if self.width > 1:
            raise BlockDamaged("a number is too large")
        if not self.width:
            return np.zeros(self.length, np.uint8)
        return np.frombuffer(self.content, np.uint8, self.length, self.at)

    def small(self, begin: int, end: int, most: int) -> Signed:
        """Some of the numbers, none above `most`, which is below 2**63. BlockDamaged if one is."""
        numbers = self.part(begin, end)
        if begin < end and most >> 8 * self.width == 0 and int(numbers.max()) > most:
            raise BlockDamaged("a number is too large")
        return numbers.view(np.int64)

    def one(self, number: int) -> int:
        """One of the numbers, which is there."""
        at = self.at
        planes = self.content[at + number : at + self.width * self.length : self.length]
        return int.from_bytes(planes, "little")

    def checked(self, number: int) -> int:
        """The same. BlockDamaged if it is not there."""
        if number >= self.length:
            raise BlockDamaged("a column has too few numbers")
        return self.one(number)

    def octets_of(self) -> bytes:
        """The same as `octets`, as they lie there."""
        content, at, length, width = self
        if width > 1:
            raise BlockDamaged("a number is too large")
        return content[at : at + length] if width else bytes(length)

    def numbers(self, begin: int, end: int) -> Sequence[int]:
        """Some of the numbers. BlockDamaged if there are not so many."""
        content, at, length, width = self
        if end > length:
            raise BlockDamaged("a column has too few numbers")
        count = end - begin
        if width < 2:
            return content[at + begin : at + end] if width else bytes(count)
        size, code = _SIZES[width]
        octets = bytearray(size * count)
        for plane in range(width):
            octets[plane::size] = content[at + begin : at + end]
            at += length
        return unpack(f"<{count}{code}", octets)

    def total(self, begin: int, end: int) -> int:
        """The sum of some of the numbers. BlockDamaged if there are not so many."""
        content, at, length, width = self
        if end > length:
            raise BlockDamaged("a column has too few numbers")
        since, until = at + begin, at + end
        total = 0
        for shift in _SHIFTS[:width]:
            octets = content[since:until]
            few = end - begin <= _SUMMED
            total += ((adler32(octets) & 0xFFFF) - 1 if few else _sum(octets)) << shift
            since += length
            until += length
        return total

    def signed_total(self, begin: int, end: int) -> int:
        """The sum of the differences that zigzag made some of the numbers of."""
        content, at, length, width = self
        if end > length:
            raise BlockDamaged("a column has too few numbers")
        if begin == end or not width:
            return 0
        odd = content[at + begin : at + end].translate(_ODD)
        mask, count = int.from_bytes(odd), end - begin
        total = negative = 0
        for shift in _SHIFTS[:width]:
            octets = content[at + begin : at + end]
            total += _sum(octets) << shift
            negative += _sum((int.from_bytes(octets) & mask).to_bytes(count)) << shift
            at += length
        # Of odd numbers the difference is minus the larger half.
        return (total - negative >> 1) - (negative + odd.count(255) >> 1)


def _sum(octets: bytes) -> int:
    """The lower half of this checksum is one more than the sum, as far as that has 16 bits: it adds
    faster than anything else at hand.
    """
    if len(octets) > _FEW:
        return int(np.frombuffer(octets, np.uint8).sum(dtype=np.int64))
    parts = range(0, len(octets), _SUMMED)
    return sum((adler32(octets[at : at + _SUMMED]) & 0xFFFF) - 1 for at in parts)
