"""A second, short stream: slots that the stream's server still has."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from django.conf import settings

from chain.slot_ranges import SlotRange
from chain.units import Slot
from historical.errors import BadBlock, BlockConflict
from ingest.services.slots import store_records
from ingest.sources import stream_name, upstream_node, validator_stores_untouched
from rewind.errors import BadSlot
from upstream.archives.errors import Unreadable
from upstream.geyser.assembly import Assembler
from upstream.geyser.client import GeyserStream, first_available
from upstream.geyser.closed_slots import ClosedSlot, slot_record
from upstream.geyser.errors import StreamError
from upstream.geyser.events import Event, SlotClosed, SlotIncomplete
from upstream.head_bound import HeadBound, clock
from upstream.node import NodeError

log = logging.getLogger(__name__)

# A replay is as fast as the server; one that takes longer than this is at its own head already.
_MOST_SECONDS = 30.0
_LIMIT_BYTES = 256 * 1_048_576


class NoReplay(Exception):
    """The stream's server cannot give the slots; the text says why."""


def replay(window: SlotRange, *, now: Callable[[], datetime]) -> tuple[str, int]:
    """Slots of the window that the stream's server still has, stored: the source's name, and how
    many came. Raises NoReplay.
    """
    source = stream_name()
    return source, _stored(closed_slots(window), source, now)


def closed_slots(window: SlotRange) -> Iterator[ClosedSlot]:
    """Slots of the window that the stream's server still has, one after the other as they close.
    Raises NoReplay.
    """
    if not settings.UPSTREAM_GEYSER_URL:
        raise NoReplay("no stream is followed, and only a stream has account writes")
    source = stream_name()
    try:
        oldest = first_available(settings.UPSTREAM_GEYSER_URL, token=settings.UPSTREAM_GEYSER_TOKEN)
        if oldest is None:
            raise NoReplay(f"{source} keeps no slots")
        if oldest > window.last:
            raise NoReplay(f"{source} has slots from {oldest} on alone")
        begin = Slot(max(oldest, window.first))
        yield from _received(begin, Slot(window.last))
    except (StreamError, NodeError) as error:
        raise NoReplay(f"{source}: {error}") from None


def _received(begin: Slot, last: Slot) -> Iterator[ClosedSlot]:
    """The slots as they close: together they may be more than memory holds."""
    strict = validator_stores_untouched(upstream_node())
    bound = HeadBound()
    bound.expect(last, clock())
    assembler = Assembler(
        begin=begin, limit_bytes=_LIMIT_BYTES, stores_untouched=strict, bound=bound
    )
    came = False
    with GeyserStream(
        settings.UPSTREAM_GEYSER_URL, token=settings.UPSTREAM_GEYSER_TOKEN, from_slot=begin
    ) as stream:
        timer = threading.Timer(_MOST_SECONDS, stream.close)
        timer.daemon = True
        timer.start()
        try:
            for update in stream:
                events = assembler.feed(update)
                for closed in _within(events, last):
                    came = True
                    yield closed
                if events and assembler.is_decided_to(last):
                    break
        except StreamError:
            if timer.is_alive() and not came:
                raise  # the server's word, and not our own end
        finally:
            timer.cancel()
    yield from _within(assembler.give_up_before(Slot(last + 1), "messages_lost"), last)


def _within(events: list[Event], last: Slot) -> list[ClosedSlot]:
    for event in events:
        if isinstance(event, SlotIncomplete) and event.slot <= last:
            log.debug("slot %d came again without all of it", event.slot)
    return [
        event.closed
        for event in events
        if isinstance(event, SlotClosed) and event.closed.slot <= last
    ]


def _stored(closed: Iterable[ClosedSlot], source: str, now: Callable[[], datetime]) -> int:
    stored = 0
    for each in closed:
        try:
            store_records([slot_record(each)], source=source, now=now())
            stored += each.account_writes is not None
        except (Unreadable, BadSlot, BadBlock, BlockConflict) as error:
            log.warning("slot %d came again and is refused: %s", each.slot, error)
    return stored
