"""Stores slots from the replays of the streams' servers."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from chain.slot_ranges import SlotRange
from chain.units import Slot
from historical.errors import BadBlock, BlockConflict
from ingest.services.slots import store_records
from ingest.sources import (
    Stream,
    signatures_of_streams,
    streams,
    upstream_node,
    validator_stores_untouched,
)
from rewind.errors import BadSlot
from rewind.recording.store import slots as archive
from upstream.archives.errors import Unreadable
from upstream.geyser.client import first_available
from upstream.geyser.errors import FromSlotTooOld, StreamError
from upstream.geyser.events import SlotClosed
from upstream.geyser.messages import ClosedSlot, slot_record
from upstream.geyser.replays import replayed
from upstream.node import NodeError

log = logging.getLogger(__name__)

NO_STREAM = "no stream is followed, and only a stream has account writes"
_LIMIT_BYTES = 256 * 1_048_576
# A server that reports an oldest slot this far above the newest stored one is not believed.
_MOST_AHEAD_SLOTS = 1_000_000


class NoReplay(Exception):
    """The stream's server does not have the slots; the text says why. `gone_below` is the first
    slot of its replay, where the server reported one.
    """

    def __init__(self, text: str, gone_below: int | None = None) -> None:
        super().__init__(text)
        self.gone_below = gone_below


@dataclass(slots=True)
class Replayed:
    """The result of replaying a window. No stream has anything below `gone_below` any more: 0
    unless each of them reported so.
    """

    filled: int = 0
    source: str = "stream"
    results: list[str] = field(default_factory=list)
    gone_below: int = 0


def replay(window: SlotRange, *, now: Callable[[], datetime]) -> Replayed:
    """Stores the slots of the window that the streams' servers still have, one stream after the
    other, until the archive has all.
    """
    result, gone = Replayed(), list[int]()
    asked = streams()
    bounds = archive.bounds()
    believed = max(window.last, bounds[1] if bounds else 0) + _MOST_AHEAD_SLOTS
    if not asked:
        result.results.append(NO_STREAM)
    for stream in asked:
        result.source = stream.name
        stored = 0
        try:
            oldest = _oldest(stream, window)
            gone.append(oldest)
            for closed in _closed_slots(stream, window, oldest):
                stored += _store(closed, stream.name, now)
        except NoReplay as error:
            result.results.append(str(error))
            if error.gone_below is not None and error.gone_below <= believed:
                gone.append(error.gone_below)
        else:
            result.results.append(f"{stream.name}: {stored} of {window.size} slots stored")
        result.filled += stored
        if len(archive.archived_between(*window)) == window.size:
            break
    if asked and len(gone) == len(asked):
        result.gone_below = min(gone)
    return result


def closed_slots(stream: Stream, window: SlotRange) -> Iterator[ClosedSlot]:
    """Slots of the window that the stream's server still has, as they close. Raises NoReplay."""
    yield from _closed_slots(stream, window, _oldest(stream, window))


def _oldest(stream: Stream, window: SlotRange) -> int:
    """The first slot of the server's replay; 0 if unknown. Raises NoReplay if it is above the
    window.
    """
    try:
        oldest = first_available(stream.url, token=stream.token)
    except StreamError as error:
        raise NoReplay(f"{stream.name}: {error}") from None
    if oldest is not None and oldest > window.last:
        raise NoReplay(f"{stream.name} has slots from {oldest} on only", oldest)
    return oldest or 0


def _closed_slots(stream: Stream, window: SlotRange, oldest: int) -> Iterator[ClosedSlot]:
    begin = Slot(max(oldest, window.first))
    try:
        strict = validator_stores_untouched(upstream_node())
        for event in replayed(
            stream.url,
            stream.token,
            begin,
            Slot(window.last),
            stores_untouched=strict,
            limit_bytes=_LIMIT_BYTES,
        ):
            if isinstance(event, SlotClosed):
                yield event.closed
            else:
                log.debug("slot %d is incomplete in the replay", event.slot)
    except FromSlotTooOld as error:
        gone_below = window.last + 1 if error.keeps_none else error.first_available or begin + 1
        raise NoReplay(f"{stream.name}: {error}", gone_below) from None
    except (StreamError, NodeError) as error:
        raise NoReplay(f"{stream.name}: {error}") from None


def _store(closed: ClosedSlot, source: str, now: Callable[[], datetime]) -> bool:
    """Stores the slot; True if it has its account writes."""
    try:
        store_records(
            [slot_record(closed)],
            source=source,
            now=now(),
            signatures=signatures_of_streams(),
        )
    except (Unreadable, BadSlot, BadBlock, BlockConflict) as error:
        log.warning("slot %d of the replay is refused: %s", closed.slot, error)
        return False
    return closed.account_writes is not None
