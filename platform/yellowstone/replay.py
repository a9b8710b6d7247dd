"""Replay: sends a stream what is stored since its from_slot, then what happens."""

import asyncio
import logging
from typing import TYPE_CHECKING

from livefeed.messages import Answer
from subscriptions.link import Ready
from subscriptions.stored_first import Progress, StoredFirst
from upstream.geyser.request_filters import Filters
from upstream.grpc.status import DATA_LOSS, OUT_OF_RANGE, GrpcStatus
from yellowstone import past
from yellowstone.content import Content
from yellowstone.matching import level_of, misses_entries, wants_entries

if TYPE_CHECKING:
    from yellowstone.engine import Engine
    from yellowstone.streams import Stream

log = logging.getLogger(__name__)

_MOST_WAITING_BYTES = 32 * 1_048_576
_MOST_DELIVERED = 12_000
_PAUSE_SECONDS = 0.3


class Replay(StoredFirst[Content]):
    """`run` until the stream ends."""

    def __init__(
        self, stream: "Stream", engine: "Engine", filters: Filters, from_slot: int
    ) -> None:
        super().__init__(
            Progress(
                from_slot - 1, most_waiting=_MOST_WAITING_BYTES, most_delivered=_MOST_DELIVERED
            )
        )
        self.progress.deliver = self._deliver
        self.filters = filters
        self.window = past.window_of(filters)
        # What happens is asked for; it was, at any time.
        self.is_open = self.was_open = False
        self._stream = stream
        self._engine = engine
        # Entries and footers are not stored: a replay of them reaches what the feed keeps.
        self._is_stored = not (wants_entries(filters) or filters.footers)

    # --- from the engine --------------------------------------------------------------------------

    def put(self, content: Content) -> None:
        """What happened in a slot, now."""
        is_whole = content.is_whole or content.level is not level_of(self.filters)
        part, size = int(content.level), content.size
        self.progress.put(content.slot, content, part=part, size=size, is_whole=is_whole)

    # --- its own task -----------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            await self.keep_on()
        except GrpcStatus as status:
            self._stream.end_with(status)
        except Exception:
            log.exception("a replay failed")
            self._stream.end("sockets_unavailable")

    @property
    def is_over(self) -> bool:
        return self._stream.is_ended

    @property
    def is_fed(self) -> bool:
        return self._engine.link.is_fed

    async def bounds(self) -> tuple[int, int] | None:
        return await self._engine.in_past(past.bounds_of, self.filters)

    def open(self, ready: Ready) -> None:
        def opened(answer: Answer | None) -> None:
            self.is_open = answer is not None
            self.was_open = self.was_open or self.is_open
            ready(answer)

        # Of slots that are not final the feed sends again what is not stored yet.
        self._stream.want(self.filters, opened, again=True)

    def check(self, answer: Answer) -> None:
        wanted = self.progress.position + 1
        if not self._is_stored and (answer.first is None or answer.first > wanted):
            raise _out_of_range(wanted, answer.first)

    async def close(self) -> None:
        self._engine.unwant(self._stream)
        self.is_open = False
        await asyncio.sleep(_PAUSE_SECONDS)

    async def read_to(self, target: int | None) -> None:
        if self._is_stored:
            await super().read_to(target)

    def pass_over(self, first: int, last: int) -> None:
        raise _out_of_range(first, last + 1)

    async def read(self, first: int, last: int, *, waits: bool) -> None:
        progress = self.progress
        page = await self._engine.in_past(lambda: past.read(self.filters, first, last, waits=waits))
        for content in page.contents:
            sent = progress.send(content.slot, content, int(content.level))
            await self._stream.taken(sent)
        progress.position = max(progress.position, page.last)
        if page.gap is not None:
            raise _missing("slots", *page.gap)

    def _deliver(self, slot: int, content: Content) -> int:
        if misses_entries(self.filters, content):
            self._stream.end_with(_missing("entries of slots", slot, slot))
            return 0
        return self._stream.deliver(self.filters, content)


def _missing(what: str, first: int, last: int) -> GrpcStatus:
    text = f"{what} {first} to {last} are not stored"
    return GrpcStatus(
        DATA_LOSS,
        f"slots_missing: {text}: subscribe again with from_slot {last + 1} to go on behind them",
    )


def _out_of_range(wanted: int, first: int | None) -> GrpcStatus:
    """As Yellowstone's servers say it."""
    text = f"broadcast from {wanted} is not available, last available: {first}"
    if first is None:
        text = f"broadcast from {wanted} is not available yet"
    return GrpcStatus(OUT_OF_RANGE, f"from_slot_not_kept: {text}")
