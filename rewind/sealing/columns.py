"""Columns of unsigned numbers: the lowest bytes of all numbers, then the next ones, and so on.

Zeros of the higher bytes lie together that way, and numpy reads any part of a column in two steps.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rewind.sealing.changes import BlockDamaged

Unsigned = npt.NDArray[np.uint64]
Signed = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]

_U64 = np.dtype("<u8")
_ONE = np.uint64(1)
# Fewer bytes than these are added up sooner without numpy.
_FEW = 400


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

    def total(self, end: int, most: int) -> int:
        """The sum of the first numbers. BlockDamaged if it is above `most`."""
        total = 0
        for plane in range(self.width):
            at = self.at + plane * self.length
            total += _sum(self.content, at, at + end) << 8 * plane
        if total > most:
            raise BlockDamaged("numbers are too large together")
        return total


def _sum(octets: bytes, begin: int, end: int) -> int:
    if end - begin < _FEW:
        return sum(octets[begin:end])
    return int(np.frombuffer(octets, np.uint8, end - begin, begin).sum(dtype=np.int64))
