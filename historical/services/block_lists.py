"""Lists of slots that hold a block, which say what is missing in their range."""

from collections.abc import Callable

from chain.units import I64_MAX
from historical.errors import RangeHasGaps
from historical.services import blocks
from historical.services.holes import Known, known_holes
from historical.services.remote_history import RemoteReads

# Of a response whose range has slots that the ledger does not have.
HEADER = "X-Ledger-Gaps"
_READINGS = 3


def slots_between(first: int, last: int | None, reads: RemoteReads, *, strict: bool) -> list[int]:
    """As services.blocks.slots_between. Missing slots are named in the response's headers; where
    `strict` they raise RangeHasGaps.
    """
    end = first + blocks.MAX_SLOTS if last is None else last
    return _listed(
        lambda: blocks.slots_between(first, last, reads),
        lambda _: (first, end),
        reads,
        strict=strict,
    )


def slots_from(first: int, limit: int, reads: RemoteReads, *, strict: bool) -> list[int]:
    """As services.blocks.slots_from, the same way; a full list ends its range."""

    def span(slots: list[int]) -> tuple[int, int]:
        return first, I64_MAX if len(slots) < limit else max(slots, default=first - 1)

    return _listed(lambda: blocks.slots_from(first, limit, reads), span, reads, strict=strict)


def _listed(
    read: Callable[[], list[int]],
    span: Callable[[list[int]], tuple[int, int]],
    reads: RemoteReads,
    *,
    strict: bool,
) -> list[int]:
    """List and holes come from different statements: a block that was stored between the two would
    be in neither.
    """
    for _ in range(_READINGS):
        slots = read()
        known = known_holes(*span(slots), reads, listed=slots[-1] if slots else None)
        if known.blocks <= len(slots):
            break
    if known.ranges or known.truncated:
        if strict:
            raise RangeHasGaps(known.ranges, truncated=known.truncated)
        reads.headers[HEADER] = _text(known)
    return slots


def _text(known: Known) -> str:
    named = [f"{first}-{last}" for first, last in known.ranges]
    return ", ".join([*named, "..."] if known.truncated else named)
