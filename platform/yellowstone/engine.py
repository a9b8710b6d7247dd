"""Engine: the streams of this process, and what the live feed sends for them."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from livefeed.messages import Answer, Body, Moved, Reached
from subscriptions.fed_process import FedProcess
from subscriptions.link import Ready
from upstream.geyser.messages import created_now
from upstream.geyser.request_filters import Filters
from yellowstone.content import content_of
from yellowstone.matching import TIPS, wants_of
from yellowstone.streams import Stream
from yellowstone.tip import Tip

log = logging.getLogger(__name__)

# Bytes that wait for the readers of all streams together, and of one key's.
MOST_UNREAD_BYTES = 512 * 1_048_576
MOST_UNREAD_OF_HOLDER = 128 * 1_048_576
# Of cuckoo filters, of a key and in all: each is stated to the follower for accounts and for
# transactions, and Redis drops a subscriber for whom more than 32 MB wait.
MOST_CUCKOO_BYTES_OF_KEY = 2 * 1_048_576 + 4_096
MOST_CUCKOO_BYTES = 12 * 1_048_576


class Engine(FedProcess):
    """Used on one event loop."""

    def __init__(self, redis_url: str) -> None:
        super().__init__("geyser", redis_url)
        self.tip = Tip()
        self._streams: dict[Stream, None] = {}

    def start(self, *more: Coroutine[Any, Any, None]) -> None:
        super().start(*more)
        self.link.want(TIPS, _nothing, again=True)

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

    def lose(self) -> None:
        for stream in list(self._streams):
            stream.lost()

    async def deal_one(self, body: Body) -> None:
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
            case Answer():
                for stream in list(self._streams):
                    stream.reached(body.root)


def _nothing(_answer: Answer | None) -> None:
    pass
