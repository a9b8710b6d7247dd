"""The parts of a block's content: a header, columns, and bytes."""

from collections.abc import Mapping
from functools import partial
from itertools import accumulate, repeat
from operator import mul
from struct import Struct
from struct import error as StructError
from typing import Any

import numpy.typing as npt

from rewind.sealed.packing.changes import BlockDamaged
from rewind.sealed.packing.columns import Column, put

FORMAT = 1
# What one block holds at most: numbers of changes, and of differences between versions.
MAX_CHANGES, MAX_RUNS = 1 << 16, 1 << 22
LOWEST_POSITION = -2
TAIL = 31  # bytes of a pubkey after the bucket
I32_MAX, I64_MAX, U64_MAX = 2**31 - 1, 2**63 - 1, 2**64 - 1

# A change's flags: two of its values, and which others are not those of the change before it.
KIND, EXECUTABLE, OWNER, RENT, LAMPORTS, SIZE = (1 << bit for bit in range(6))

# Of each account: its changes, and its first state.
ACCOUNT_COLUMNS = ("counts", "slots", "lamports", "owners", "rents", "sizes")
# Of each change: slots since the one before it, the position, how many runs of bytes differ.
CHANGE_COLUMNS = ("steps", "positions", "runs", "flags")
# Of changes with the flag; of each run of bytes.
OTHER_COLUMNS = ("new_owners", "new_rents", "lamport_steps", "new_sizes", "starts", "lengths")
_NAMES = (*ACCOUNT_COLUMNS, *CHANGE_COLUMNS, *OTHER_COLUMNS)

# Format, bucket, changes, accounts, how many the other columns have (starts and lengths have as
# many), bytes of the runs, lowest slot of an account's first change.
_HEADER = Struct("<BBIIIIIIIIQ")


def build(
    bucket: int,
    lowest: int,
    columns: Mapping[str, npt.NDArray[Any]],
    tails: bytes,
    octets: bytes,
    wholes: bytes,
) -> bytearray:
    """A block's content. The columns are those of the names above."""
    counts = [len(columns[name]) for name in ("steps", "counts", *OTHER_COLUMNS[:-1])]
    out = bytearray(_HEADER.pack(FORMAT, bucket, *counts, len(octets), lowest))
    widths_at = len(out)
    out += bytes(len(_NAMES))
    for number, name in enumerate(_NAMES):
        out[widths_at + number] = put(out, columns[name])
    out += wholes
    out += tails
    out += octets
    return out


_column = partial(tuple.__new__, Column)


class Content:
    """Where each part lies."""

    def __init__(self, data: bytes) -> None:
        """BlockDamaged unless the parts that the header names are there."""
        try:
            form, bucket, changes, accounts, *others, octets, lowest = _HEADER.unpack_from(data)
        except StructError as error:
            raise BlockDamaged("no header") from error
        if form != FORMAT:
            raise BlockDamaged(f"written in format {form}, which this version does not read")
        *news, runs = others
        if (
            not 0 < accounts <= changes <= MAX_CHANGES
            or max(news) > changes
            or runs > MAX_RUNS
            or lowest > I64_MAX
        ):
            raise BlockDamaged("impossible numbers of changes")
        self.data = data
        self.changes: int = changes
        self.accounts: int = accounts
        self.bucket = bytes((bucket,))
        self.lowest: int = lowest
        at = _HEADER.size + len(_NAMES)
        widths = data[_HEADER.size : at]
        if len(widths) < len(_NAMES) or max(widths) > 8:
            raise BlockDamaged("impossible widths of columns")
        counts = (*(accounts,) * 6, *(changes,) * 4, *news, runs, runs)
        places = [*accumulate(map(mul, counts, widths), initial=at)]
        columns = list(map(_column, zip(repeat(data), places, counts, widths, strict=False)))
        # In the order of the names above.
        self.counts, self.slots, self.lamports, self.owners, self.rents, self.sizes = columns[:6]
        self.steps, self.positions, self.runs, self.flags = columns[6:10]
        self.new_owners, self.new_rents, self.lamport_steps, self.new_sizes = columns[10:14]
        self.starts, self.lengths = columns[14:]
        at = self.wholes_at = places[-1]
        self.octets: int = octets
        self.octets_at = len(data) - octets
        self.tails_at = self.octets_at - TAIL * accounts
        self.wholes = self.tails_at - at
        if self.wholes < 0:
            raise BlockDamaged("the content ends early")
