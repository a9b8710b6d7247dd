"""Which bytes differ between versions of account data, many pairs at once."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from rewind.sealed.packing.columns import Octets, Signed

# Equal bytes between two that differ: so few cost less than another run.
_BRIDGED = 2
# Bytes that are compared at once: what numpy holds beside them is eight times that at worst.
_AT_ONCE = 256 << 10
_INVERTED = bytes(255 - each for each in range(256))

_Pair = tuple[bytes | memoryview, bytes | memoryview]


class Differences(NamedTuple):
    """Runs of bytes of the newer data that differ from the older at the same place."""

    counts: Signed  # runs of each pair
    starts: Signed  # of each run, in the data
    lengths: Signed
    octets: bytes  # of all runs, one after the other


def differences(pairs: Sequence[tuple[bytes, bytes]]) -> Differences:
    """How to make the second of each pair from the first, cut or extended to its length.

    What the second has beyond the first's length is in runs, whatever its bytes.
    """
    counts = np.zeros(len(pairs), np.int64)
    starts, lengths, octets = [], [], []
    for numbers, offsets, chunk in _chunks(pairs):
        owners, begins, sizes, changed = _runs(chunk)
        counts += np.bincount(np.asarray(numbers)[owners], minlength=len(pairs))
        starts.append(begins + np.asarray(offsets)[owners])
        lengths.append(sizes)
        octets.append(changed)
    return Differences(counts, _joined(starts), _joined(lengths), b"".join(octets))


def _joined(arrays: list[Signed]) -> Signed:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


def _chunks(
    pairs: Sequence[tuple[bytes, bytes]],
) -> Iterator[tuple[list[int], list[int], list[_Pair]]]:
    """(the pairs' numbers, offsets in their data, parts of equal length), some bytes at a time."""
    numbers: list[int] = []
    offsets: list[int] = []
    parts: list[_Pair] = []
    held = 0
    for number, (old, new) in enumerate(pairs):
        size = len(new)
        if len(old) < size:
            old += new[len(old) :].translate(_INVERTED)
        elif len(old) > size:
            old = old[:size]
        if held + size > _AT_ONCE:
            if parts:
                yield numbers, offsets, parts
                numbers, offsets, parts, held = [], [], [], 0
            if size > _AT_ONCE:
                whole, before = memoryview(new), memoryview(old)
                for at in range(0, size, _AT_ONCE):
                    end = at + _AT_ONCE
                    yield [number], [at], [(before[at:end], whole[at:end])]
                continue
        numbers.append(number)
        offsets.append(0)
        parts.append((old, new))
        held += size
    if parts:
        yield numbers, offsets, parts


def _runs(pairs: list[_Pair]) -> tuple[Signed, Signed, Signed, bytes]:
    """(pair, start in it, length) of each run, and the runs' bytes."""
    ends = np.fromiter(accumulate(len(new) for _, new in pairs), np.int64, len(pairs))
    padding = bytes(-int(ends[-1]) % 8)
    before = b"".join([*(old for old, _ in pairs), padding])
    after = b"".join([*(new for _, new in pairs), padding])
    words = np.frombuffer(before, np.uint64) ^ np.frombuffer(after, np.uint64)
    changed = np.flatnonzero(words)
    rows, columns = np.nonzero(words[changed].view(np.uint8).reshape(-1, 8))
    places = (changed[rows] << 3) + columns
    if not len(places):
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing, b""
    owners = np.searchsorted(ends, places, side="right")
    breaks = np.flatnonzero((np.diff(places) > _BRIDGED + 1) | (np.diff(owners) > 0))
    firsts = np.concatenate((places[:1], places[breaks + 1]))
    lengths = np.concatenate((places[breaks], places[-1:])) - firsts + 1
    owners = np.concatenate((owners[:1], owners[breaks + 1]))
    octets: Octets = np.frombuffer(after, np.uint8)[spread(firsts, lengths)]
    starts = firsts - (ends[owners] - np.fromiter((len(new) for _, new in pairs), np.int64)[owners])
    return owners, starts, lengths, octets.tobytes()


def spread(firsts: Signed, lengths: Signed) -> Signed:
    """The places of all runs' bytes."""
    before = np.cumsum(lengths) - lengths
    places: Signed = np.repeat(firsts - before, lengths) + np.arange(int(lengths.sum()))
    return places


def apply(data: bytearray, starts: Signed, lengths: Signed, octets: bytes, at: int) -> None:
    """Write runs, whose bytes begin at `at` of `octets`, into the data, one after the other.

    The runs must lie inside the data and their bytes inside `octets`.
    """
    size = int(lengths.sum())
    if len(starts) > 24 and size < 32 * len(starts):
        # Of a place that is written twice, the last value stays.
        np.frombuffer(data, np.uint8)[spread(starts, lengths)] = np.frombuffer(
            octets, np.uint8, size, at
        )
        return
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        data[start : start + length] = octets[at : at + length]
        at += length
