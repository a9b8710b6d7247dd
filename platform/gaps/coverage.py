"""What getLedgerCoverage and getRewindCoverage have in common: the window, and its gaps."""

from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType

from chain.units import I64_MAX, Slot
from gaps.errors import EmptyRange
from jsonrpc.params import U64, Config
from jsonrpc.wire import Result

MOST_GAPS = 10_000
_LISTED_GAPS = 1_000


class CoverageConfig(Config, frozen=True, kw_only=True):
    """Which window, and how much of its gaps.

    from_slot: the window's first slot; the first stored one by default
    to_slot: the window's last slot; the last stored one by default
    max_gaps: how many gaps to list: 1,000 by default, at most 10,000
    include_gaps: whether to list them; true by default
    """

    from_slot: U64 | None = None
    to_slot: U64 | None = None
    max_gaps: U64 | None = None
    include_gaps: bool | None = None


class Window(NamedTuple):
    """The slots from `first` to `last`, both included. At most `most_gaps` of their gaps are
    listed, if any are to be.
    """

    first: int
    last: int
    most_gaps: int
    lists_gaps: bool


def window_of(config: CoverageConfig) -> Window:
    """Raises EmptyRange."""
    first = min(config.from_slot or 0, I64_MAX)
    last = I64_MAX if config.to_slot is None else min(config.to_slot, I64_MAX)
    if first > last:
        raise EmptyRange(Slot(first), Slot(last))
    most = _LISTED_GAPS if config.max_gaps is None else min(config.max_gaps, MOST_GAPS)
    return Window(first, last, most, config.include_gaps is not False)


class GapEntry(Result, frozen=True, kw_only=True):
    """A run of slots that are not stored, both ends included.

    from_slot: the first of them
    to_slot: the last of them
    status: `missing`, or `unknown` while it is not known if the leaders made blocks
    state: `cannot_be_had` if they were given up: no source has them any more; omitted while
        attempts to fetch them go on
    """

    from_slot: int
    to_slot: int
    status: Literal["missing", "unknown"]
    state: Literal["cannot_be_had"] | UnsetType = UNSET

    @classmethod
    def of(cls, first: int, last: int, status: str | None, is_given_up: bool = False) -> "GapEntry":
        """Of a gap as the table has it."""
        return cls(
            from_slot=first,
            to_slot=last,
            status="missing" if status == "missing" else "unknown",
            state="cannot_be_had" if is_given_up else UNSET,
        )
