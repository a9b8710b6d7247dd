"""Engine: the streams of this process, and what the live feed sends for them."""

import asyncio
import logging
from contextlib import suppress

from livefeed.messages import EVERYTHING, Answer, Body, Missed, Moved, Reached
from shared_state.outages import AWAY
from subscriptions.link import FeedLink, Ready
from subscriptions.members import Members
from subscriptions.threads import DatabaseThreads
from upstream.geyser.request_filters import Filters
from yellowstone.content import content_of, created_now
from yellowstone.matching import TIPS, wants_of
from yellowstone.streams import Stream
from yellowstone.tip import Tip

log = logging.getLogger(__name__)

# Messages of the feed that wait here; with more of them this process is too slow.
_MOST_WAITING = 5_000
# Bytes that wait for the readers of all streams together, and of one key's.
MOST_UNREAD_BYTES = 512 * 1_048_576
MOST_UNREAD_OF_HOLDER = 128 * 1_048_576
# Of cuckoo filters, of a key and in all: each is stated to the follower for accounts and for
# transactions, and Redis drops a subscriber for whom more than 32 MB wait.
MOST_CUCKOO_BYTES_OF_KEY = 2 * 1_048_576 + 4_096
MOST_CUCKOO_BYTES = 12 * 1_048_576


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
        self.link.want(TIPS, _nothing, again=True)

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

    def has_room(self, stream: Stream, size: int) -> bool:
        """Whether the stream's cuckoo filters may be so large, beside those of its key and all."""
        others = [each for each in self._streams if each is not stream]
        holder = stream.member.holder
        of_holder = sum(each.cuckoo_bytes for each in others if each.member.holder == holder)
        return not size or (
            of_holder + size <= MOST_CUCKOO_BYTES_OF_KEY
            and sum(each.cuckoo_bytes for each in others) + size <= MOST_CUCKOO_BYTES
        )

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

    def _lost(self, missed: Missed = EVERYTHING) -> None:
        """Something that happened may be missing."""
        for stream in list(self._streams):
            stream.lost()
        self.members.end_interrupted(missed)

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
                self.members.relieve(MOST_UNREAD_BYTES, MOST_UNREAD_OF_HOLDER)
            case Moved():
                created = created_now()
                for stream in list(self._streams):
                    stream.move(body, created)
            case Missed():
                self._lost(body)
            case Answer():
                for stream in list(self._streams):
                    stream.reached(body.root)


def _nothing(_answer: Answer | None) -> None:
    pass
