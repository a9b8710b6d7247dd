"""Columns of unsigned numbers: a width byte, then the lowest bytes of all numbers, then the next.

Zeros of the higher bytes lie together that way, and numpy reads a column in two steps.
"""

import numpy as np
import numpy.typing as npt

from rewind.sealing.changes import BlockDamaged

Unsigned = npt.NDArray[np.uint64]
Signed = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]

_U64 = np.dtype("<u8")
_NONE = np.zeros(0, _U64)


def zigzag(differences: Signed) -> Unsigned:
    """0, -1, 1, -2 … as 0, 1, 2, 3 …: small numbers have few bytes, whatever their sign."""
    return ((differences << 1) ^ (differences >> 63)).view(np.uint64)


def unzigzag(numbers: Unsigned) -> Unsigned:
    """The differences modulo 2**64."""
    one = np.uint64(1)
    return (numbers >> one) ^ (~(numbers & one) + one)


def put(out: bytearray, numbers: Unsigned | Signed) -> None:
    """Append a column. Its length is not written: the reader knows it."""
    if not len(numbers):
        return
    width = (int(numbers.view(np.uint64).max()).bit_length() + 7) >> 3
    out.append(width)
    if width:
        octets = numbers.astype(_U64, copy=False).view(np.uint8).reshape(-1, 8)
        out += octets[:, :width].T.tobytes()


class Reader:
    """Takes columns and bytes off a body, one after the other."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def column(self, count: int) -> Unsigned:
        """The next `count` numbers. BlockDamaged if the body ends before."""
        if not count:
            return _NONE
        data, at = self.data, self.at
        if at >= len(data):
            raise BlockDamaged("a column is missing")
        width = data[at]
        end = at + 1 + width * count
        if width > 8 or end > len(data):
            raise BlockDamaged("a column ends early")
        self.at = end
        octets = np.zeros((count, 8), np.uint8)
        if width:
            planes = np.frombuffer(data, np.uint8, width * count, at + 1).reshape(width, count)
            octets[:, :width] = planes.T
        return octets.view(_U64)[:, 0]

    def small(self, count: int, most: int) -> Signed:
        """The next `count` numbers, each at most `most`, which is below 2**63."""
        numbers = self.column(count)
        if count and int(numbers.max()) > most:
            raise BlockDamaged("a number is too large")
        return numbers.view(np.int64)

    def take(self, size: int) -> int:
        """Where the next `size` bytes begin."""
        at = self.at
        if size > len(self.data) - at:
            raise BlockDamaged("bytes are missing")
        self.at = at + size
        return at
