"""Lists of an address's transactions, which say what is missing in their range."""

from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from chain.slot_ranges import clip
from eventloop.faces import in_thread
from historical.coverage.services.holes import ledger_holes, report_holes, stored_holes

T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    """A list, and the slots that it is of, both ends inclusive."""

    entries: T
    first: int
    last: int


async def whole_list(
    read: Callable[[int], Awaitable[Page[T]]], headers: dict[str, str], *, strict: bool
) -> T:
    """The list, of which `read` gives what is at a slot and below. Slots of its range that the
    ledger does not have are named in the headers; where `strict` they raise RangeHasGaps. The list
    is always read after its holes: a block is in it, or it was missing when the holes were read.
    Above the block up to which they were read nothing is known, and nothing of it is listed.
    """
    ledger = await ledger_holes()
    if ledger is None:
        return (await read(-1)).entries
    page = await read(ledger.last)
    found = ledger.ranges
    first, last = _within(page, ledger.first, ledger.last)
    if ledger.truncated and last > ledger.ranges[-1].last and first <= last:
        found = await in_thread(stored_holes, first, last)
        page = await read(ledger.last)
        first, last = _within(page, first, last)
    report_holes(clip(found, first, last), headers, strict=strict)
    return page.entries


def _within(page: Page[T], first: int, last: int) -> tuple[int, int]:
    return max(page.first, first), min(page.last, last)
