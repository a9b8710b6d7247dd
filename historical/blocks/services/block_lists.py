"""Lists of slots that hold a block, which say what is missing in their range."""

from collections.abc import Callable

from chain.slot_ranges import clip
from chain.units import I64_MAX
from historical.blocks.services import blocks
from historical.blocks.store import blocks as store
from historical.coverage.services.holes import Known, known_holes, report_holes
from historical.remote.services.remote_history import RemoteReads


def slots_between(first: int, last: int | None, reads: RemoteReads, *, strict: bool) -> list[int]:
    """As services.blocks.slots_between. Missing slots are named in the response's headers; where
    `strict` they raise RangeHasGaps.
    """
    end = first + blocks.MAX_SLOTS if last is None else last
    return _listed(
        lambda highest: blocks.slots_between(first, last, reads, highest=highest),
        lambda _: (first, end),
        reads,
        strict=strict,
    )


def slots_from(first: int, limit: int, reads: RemoteReads, *, strict: bool) -> list[int]:
    """As services.blocks.slots_from, the same way; a full list ends its range."""

    def span(slots: list[int]) -> tuple[int, int]:
        return first, I64_MAX if len(slots) < limit else max(slots, default=first - 1)

    return _listed(
        lambda highest: blocks.slots_from(first, limit, reads, highest=highest),
        span,
        reads,
        strict=strict,
    )


def _listed(
    read: Callable[[int], list[int]],
    span: Callable[[list[int]], tuple[int, int]],
    reads: RemoteReads,
    *,
    strict: bool,
) -> list[int]:
    """List and holes come from different statements, and blocks may come between them. Of a list
    that is read after its holes, a block is in one of the two: it came before the list, or it was
    missing when the holes were read. Above the block up to which they were read nothing is known,
    and nothing of it is listed.
    """
    bounds = store.bounds()
    if bounds is None:
        return read(-1)
    highest = bounds[1]
    slots = read(highest)
    known = _holes(bounds, span(slots), reads)
    if known is not None:
        if not known.is_whole or known.blocks > len(slots):
            slots = read(highest)
            known = _clipped(known, span(slots)[1])
        report_holes(known.ranges, reads.headers, strict=strict, truncated=known.truncated)
    return slots


def _holes(bounds: tuple[int, int], span: tuple[int, int], reads: RemoteReads) -> Known | None:
    first, last = max(span[0], bounds[0]), min(span[1], bounds[1])
    return None if first > last else known_holes(first, last, reads)


def _clipped(known: Known, last: int) -> Known:
    """The holes up to the end of a list, which blocks that came meanwhile may have made shorter."""
    kept = clip(known.ranges, 0, last)
    truncated = known.truncated and len(kept) == len(known.ranges)
    return known._replace(ranges=kept, truncated=truncated)
