"""Replays: a second, short stream of finalized slots that a server still has."""

import threading
from collections.abc import Callable, Iterator

from chain.units import Slot
from upstream.geyser.assembly import Assembler
from upstream.geyser.client import GeyserStream
from upstream.geyser.errors import StreamError
from upstream.geyser.events import SlotClosed, SlotIncomplete
from upstream.head_bound import HeadBound, clock

# A replay is as fast as the server; one that takes longer than this is at its own head already.
MOST_SECONDS = 30.0


def replayed(
    url: str,
    token: str,
    begin: Slot,
    last: Slot,
    *,
    stores_untouched: bool,
    limit_bytes: int,
    opened: Callable[[GeyserStream], None] = lambda _: None,
) -> Iterator[SlotClosed | SlotIncomplete]:
    """What a stream from `begin` on has of each finalized slot up to `last`, as it becomes known;
    ends with `last`, or after MOST_SECONDS with what came. `opened` is given the stream, to close
    it from another thread. Raises a StreamError where nothing came.
    """
    bound = HeadBound()
    bound.expect(last, clock())
    assembler = Assembler(
        begin=begin, limit_bytes=limit_bytes, stores_untouched=stores_untouched, bound=bound
    )
    came = False
    with GeyserStream(url, token=token, from_slot=begin) as stream:
        opened(stream)
        timer = threading.Timer(MOST_SECONDS, stream.close)
        timer.daemon = True
        timer.start()
        try:
            for update in stream:
                events = assembler.feed(update)
                for event in events:
                    if isinstance(event, SlotClosed | SlotIncomplete) and _slot(event) <= last:
                        came = True
                        yield event
                if events and (assembler.decided or 0) >= last:
                    break
        except StreamError:
            if timer.is_alive() and not came:
                raise  # the server's word, and not our own end
        finally:
            timer.cancel()
    for event in assembler.give_up_before(Slot(last + 1), "messages_lost"):
        if isinstance(event, SlotClosed | SlotIncomplete) and _slot(event) <= last:
            yield event


def _slot(event: SlotClosed | SlotIncomplete) -> Slot:
    return Slot(event.closed.slot) if isinstance(event, SlotClosed) else event.slot
