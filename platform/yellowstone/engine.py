"""Engine: the streams of this process, and what the live feed sends for them."""

import asyncio
import logging
from collections import Counter
from contextlib import suppress

from livefeed.messages import Answer, Body, Missed, Moved, Reached
from shared_state.outages import AWAY
from subscriptions.link import FeedLink, Ready
from subscriptions.members import Members
from subscriptions.threads import DatabaseThreads
from upstream.geyser.request_filters import Filters
from yellowstone.content import content_of, created_now
from yellowstone.matching import HEADERS, wants_of
from yellowstone.streams import Stream
from yellowstone.tip import Tip

log = logging.getLogger(__name__)

# Messages of the feed that wait here; with more of them this process is too slow.
_MOST_WAITING = 5_000
# Bytes that wait for the readers of all streams together.
MOST_UNREAD_BYTES = 512 * 1_048_576


class Engine:
    """Used on one event loop."""

    def __init__(self, redis_url: str) -> None:
        self._threads = DatabaseThreads("geyser")
        self.in_thread = self._threads.run
        # What is past is read by a thread of its own: keys and limits do not wait for it.
        self._past_threads = DatabaseThreads("geyser-past", 1)
        self.in_past = self._past_threads.run
        self.link = FeedLink(redis_url, self._put, self._lost, self._silent)
        self.members = Members(self.in_thread)
        self.tip = Tip()
        self._streams: dict[Stream, None] = {}
        self._bodies: asyncio.Queue[tuple[Body, list[Ready]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self.link.start()
        self._tasks = [
            asyncio.create_task(self._deal()),
            asyncio.create_task(self.members.watch()),
        ]
        # Where the chain is, and what became of each slot.
        self.link.want(HEADERS, _nothing, again=True)

    async def stop(self) -> None:
        self.members.end_all("service_stops")
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.link.stop()
        with suppress(*AWAY):
            await self.in_thread(self.members.leave_all)
        self._threads.close()
        self._past_threads.close()

    # --- streams ----------------------------------------------------------------------------------

    def add(self, stream: Stream) -> None:
        self._streams[stream] = None
        self.members.add(stream)

    def discard(self, stream: Stream) -> None:
        self._streams.pop(stream, None)
        self.members.discard(stream)
        self.unwant(stream)

    def want(self, stream: Stream, filters: Filters, ready: Ready, *, again: bool = False) -> None:
        """States what the filters want; `ready` is called with the feed's Answer once it counts,
        with None where the chain is not followed.
        """
        if not self.link.is_fed:
            stream.wants = []
            ready(None)
            return
        stream.wants = wants_of(filters)
        self.link.want(stream.wants, ready, again=again)

    def unwant(self, stream: Stream) -> None:
        """The stream gets nothing more. May be called twice."""
        wants, stream.wants = stream.wants, []
        self.link.unwant(wants)

    # --- what the feed sends ----------------------------------------------------------------------

    def _put(self, body: Body, waiting: list[Ready]) -> None:
        if self._bodies.qsize() < _MOST_WAITING or waiting:
            self._bodies.put_nowait((body, waiting))
            return
        log.error("this process is behind the live feed: messages are left out")
        kept = []
        while not self._bodies.empty():
            item = self._bodies.get_nowait()
            if item[1]:
                kept.append(item)
        for item in kept:
            self._bodies.put_nowait(item)
        self.link.restate()

    def _silent(self) -> None:
        self.members.end_silent()

    def _lost(self) -> None:
        for stream in list(self._streams):
            stream.lost()

    async def _deal(self) -> None:
        while True:
            body, waiting = await self._bodies.get()
            try:
                for ready in waiting:
                    assert isinstance(body, Answer)
                    ready(body)
                await self._deal_one(body)
            except Exception:
                log.exception("a message of the live feed could not be dealt out")
                self._lost()

    def _relieve(self) -> None:
        """Where too much waits for all readers, the slowest stream of the key for which most waits
        is ended, and the next.
        """
        unread = {stream: stream.unread_bytes for stream in self._streams}
        while sum(unread.values()) > MOST_UNREAD_BYTES:
            of_holder: Counter[str] = Counter()
            for stream, size in unread.items():
                of_holder[stream.member.holder] += size
            ((holder, _),) = of_holder.most_common(1)
            slowest = max(
                (each for each in unread if each.member.holder == holder), key=unread.__getitem__
            )
            del unread[slowest]
            slowest.end("too_slow")

    async def _deal_one(self, body: Body) -> None:
        match body:
            case Reached():
                content = content_of(body)
                self.tip.take(content)
                for stream in list(self._streams):
                    try:
                        stream.put(content)
                    except Exception:
                        log.exception("an update cannot be sent")
                        stream.end("interrupted")
                    await asyncio.sleep(0)
                self._relieve()
            case Moved():
                created = created_now()
                for stream in list(self._streams):
                    stream.move(body, created)
            case Missed():
                for stream in list(self._streams):
                    stream.missed()
            case Answer():
                for stream in list(self._streams):
                    stream.reached(body.root)


def _nothing(_answer: Answer | None) -> None:
    pass
