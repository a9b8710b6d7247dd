"""Known holes of the ledger: slots between its blocks that are missing, or may be."""

from functools import partial
from typing import NamedTuple

from chain.slot_ranges import SlotRange, clip, subtract
from columns.caches import GenerationCache
from eventloop.faces import in_thread
from gaps.coverage import GapEntry
from gaps.parts import Part, parts_between
from gaps.slot_gap import GapStatus
from historical.blocks.store import blocks
from historical.coverage.store import holes
from historical.errors import RangeHasGaps
from historical.ledger_generations import CHANGES
from historical.models import Gap
from historical.remote.services.remote_history import RemoteReads, is_configured

# Of a response whose range has slots that the ledger does not have, and how many runs it names.
HEADER = "X-Ledger-Gaps"
MOST_NAMED = 100
_MOST_KEPT = 1_000


class Known(NamedTuple):
    """Known holes in a range, clipped to it, lowest first; `blocks` are how many the ledger has in
    it. `truncated`: there are more holes. `is_whole`: there was none when the blocks were counted.
    """

    blocks: int
    ranges: list[SlotRange]
    truncated: bool
    is_whole: bool


def known_holes(first: int, last: int, reads: RemoteReads) -> Known:
    """Of a range between the ledger's lowest and highest block, but for what the remote archive
    has. Raises what RemoteReads.read does.
    """
    found = holes.holes_between(first, last, MOST_NAMED)
    ranges = clip(found.ranges, first, last)
    if ranges and is_configured():
        ranges = _not_remote(ranges, reads)
    # What the remote archive has was not missing.
    is_whole = found.is_whole or bool(found.ranges and not ranges and not found.truncated)
    return Known(found.blocks, ranges, found.truncated, is_whole)


class LedgerHoles(NamedTuple):
    """The ledger's ends, and its lowest holes between them. `truncated`: there are more."""

    first: int
    last: int
    ranges: list[SlotRange]
    truncated: bool


_of_ledger: GenerationCache[None, LedgerHoles] = GenerationCache(CHANGES, 1)


async def ledger_holes() -> LedgerHoles | None:
    """All that is stored counts, the remote archive does not; None while the ledger is empty."""
    return await _of_ledger.aget(None, partial(in_thread, _ledger_holes))


def _ledger_holes() -> LedgerHoles | None:
    bounds = blocks.bounds()
    if bounds is None:
        return None
    found = holes.holes_between(*bounds, _MOST_KEPT)
    return LedgerHoles(*bounds, found.ranges, found.truncated)


def stored_holes(first: int, last: int) -> list[SlotRange]:
    """Of a range between the ledger's ends the lowest holes, clipped to it: one more than a header
    names, if there are so many.
    """
    return clip(holes.holes_between(first, last, MOST_NAMED + 1).ranges, first, last)


def report_holes(
    ranges: list[SlotRange], headers: dict[str, str], *, strict: bool, truncated: bool = False
) -> None:
    """Names the holes of a response in its headers; where `strict` raises RangeHasGaps."""
    named, truncated = ranges[:MOST_NAMED], truncated or len(ranges) > MOST_NAMED
    if not named and not truncated:
        return
    if strict:
        raise RangeHasGaps(named, truncated=truncated)
    texts = [f"{first}-{last}" for first, last in named]
    headers[HEADER] = ", ".join([*texts, "..."] if truncated else texts)


def gaps_of_window(first: int, last: int, most: int) -> tuple[list[GapEntry], bool]:
    """The gaps of a window whose ends lie between the ledger's, lowest first, and whether there are
    more than `most`: holes between blocks, and what is known of their slots.
    """
    found = holes.holes_between(first, last, most)
    missing = clip(found.ranges, first, last)
    if not missing:
        return [], found.truncated
    opened = parts_between(Gap, missing[0].first, missing[-1].last, most + 1)
    parts = [
        Part(*part, each.status, each.is_given_up)
        for each in opened
        for part in subtract([SlotRange(*each[:2])], subtract([SlotRange(*each[:2])], missing))
    ]
    rest = subtract(missing, [SlotRange(*each[:2]) for each in parts])
    named = {hole.last for hole in found.ranges}
    for part in rest:
        # Of a hole that no gap was opened for only its last slot is known to have had a block.
        known = [SlotRange(part.last, part.last)] if part.last in named else []
        parts += [Part(*each, GapStatus.MISSING, False) for each in known]
        parts += [Part(*each, GapStatus.UNKNOWN, False) for each in subtract([part], known)]
    listed = [GapEntry.of(*part) for part in sorted(parts)]
    return listed[:most], found.truncated or len(listed) > most


def _not_remote(ranges: list[SlotRange], reads: RemoteReads) -> list[SlotRange]:
    """Those that the remote archive does not have: of its epochs it lists every block."""
    return reads.read(
        lambda history: [
            each
            for each in ranges
            if not (history.has_epoch(each.first) and history.has_epoch(each.last))
        ]
    )
