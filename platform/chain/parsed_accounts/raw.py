"""RawAccount: the input of a parser."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError

# Shows raw amounts of a mint's tokens, as its decimals and its extensions have it.
Shown = Callable[[int], dict[str, Any]]
# Returns how a mint's amounts are shown; None if it is not a mint.
AmountsOf = Callable[[str], Shown | None]

# More than any program writes (SlotHashes has 512), so that made-up data costs no seconds.
_MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class RawAccount:
    """An account's data, its pubkey (None: not given), and how token amounts are shown."""

    pubkey: str | None
    data: bytes
    amounts_of: AmountsOf


def entries(cursor: Cursor, size: int, *, count: int | None = None) -> range:
    """The range of a loop over entries of `size` bytes; their count is read as a u64 if not given.

    UnreadableError before the first entry if the data cannot contain them all.
    """
    if count is None:
        count = cursor.u64()
    if count > _MOST_ENTRIES or count * size > len(cursor.data) - cursor.at:
        raise UnreadableError
    return range(count)


def finite(number: float) -> float | None:
    """A float as JSON: infinity and NaN are null."""
    return number if abs(number) < float("inf") else None
