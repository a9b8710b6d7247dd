"""Replay: sends a stream what is stored since its from_slot, then what happens."""

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from historical.blocks.services.stored_content import Unreadable
from livefeed.messages import Answer
from shared_state.outages import AWAY
from upstream.geyser.request_filters import Filters
from upstream.grpc.status import DATA_LOSS, OUT_OF_RANGE, GrpcStatus
from yellowstone import past
from yellowstone.content import Content
from yellowstone.matching import level_of, misses_entries, wants_entries

if TYPE_CHECKING:
    from yellowstone.engine import Engine
    from yellowstone.streams import Stream

log = logging.getLogger(__name__)

# What happens while the past is read waits here; with more of it, it is read from what is stored.
_MOST_WAITING_BYTES = 32 * 1_048_576
_MOST_DELIVERED = 12_000
_PAUSE_SECONDS = 0.3
# A slot that is not stored so long after its chain went on is missing.
_MISSING_SECONDS = 60.0
# So near to what is stored last, what happens is asked for too.
_NEAR_SLOTS = 300


class Replay:
    """`run` until the stream ends. Everything up to `position` was sent."""

    def __init__(
        self, stream: "Stream", engine: "Engine", filters: Filters, from_slot: int
    ) -> None:
        self.filters = filters
        self.position = from_slot - 1
        # What happens is asked for; it was, at any time.
        self.is_open = self.was_open = False
        self._stream = stream
        self._engine = engine
        self._is_live = False
        self._lost = asyncio.Event()
        self._waiting: deque[Content] = deque()
        self._waiting_bytes = 0
        self._delivered: dict[tuple[int, int], None] = {}
        # Entries and footers are not stored: a replay of them reaches what the feed keeps.
        self._is_stored = not (wants_entries(filters) or filters.footers)

    # --- from the engine --------------------------------------------------------------------------

    def put(self, content: Content) -> None:
        """What happened in a slot, now."""
        if not content.is_whole and content.level is level_of(self.filters):
            self._lost.set()
        if self._lost.is_set():
            return
        if self._is_live:
            self._send(content)
            return
        self._waiting.append(content)
        self._waiting_bytes += content.size
        if self._waiting_bytes > _MOST_WAITING_BYTES:
            self._lost.set()

    def lost(self) -> None:
        """Something that happened may be missing."""
        self._lost.set()

    def reached(self, root: int) -> None:
        """Everything up to a final slot was put."""
        if self._is_live and not self._lost.is_set():
            self.position = max(self.position, root)
            while self._delivered and (first := next(iter(self._delivered)))[0] <= root:
                del self._delivered[first]

    # --- its own task -----------------------------------------------------------------------------

    async def run(self) -> None:
        stream = self._stream
        try:
            while not stream.is_ended:
                try:
                    await self._once()
                except (*AWAY, Unreadable) as error:
                    log.warning("a replay waits for what is stored: %s", error)
                    await asyncio.sleep(1.0)
                self._engine.unwant(stream)
                self.is_open = False
                await asyncio.sleep(_PAUSE_SECONDS)
        except GrpcStatus as status:
            stream.end_with(status)
        except Exception:
            log.exception("a replay failed")
            stream.end("sockets_unavailable")

    async def _once(self) -> None:
        """Reads what is stored, then sends what happens, until something may be missing."""
        if self._is_stored:
            await self._read_to(None)
        self._is_live = False
        self._waiting.clear()
        self._waiting_bytes = 0
        self._lost.clear()
        answer = await self._open()
        if answer is None or not answer.root:
            await asyncio.sleep(1.0)
            return
        if self._is_stored:
            await self._read_to(answer.root)
        elif answer.first is None or answer.first > self.position + 1:
            raise _out_of_range(self.position + 1, answer.first)
        if self._lost.is_set():
            return
        self._is_live = True
        while self._waiting:
            self._send(self._waiting.popleft())
        await self._lost.wait()

    async def _open(self) -> Answer | None:
        found: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

        def ready(answer: Answer | None) -> None:
            self.is_open = answer is not None
            self.was_open = self.was_open or self.is_open
            if not found.done():
                found.set_result(answer)

        # Of slots that are not final the feed sends again what is not stored yet.
        self._stream.want(self.filters, ready, again=True)
        return await found

    async def _read_to(self, target: int | None) -> None:
        """Reads on until the slot, which will be stored; without one, until near the end."""
        engine, filters = self._engine, self.filters
        waited = 0.0
        while True:
            bounds = await engine.in_past(past.bounds_of, filters)
            stored = -1 if bounds is None else bounds[1]
            # Nothing will happen where the chain is silent: what is stored is all there is.
            near = stored - (_NEAR_SLOTS if engine.link.is_fed else 0)
            if self.position >= (near if target is None else target):
                return
            if bounds is not None and self.position + 1 < bounds[0] <= stored:
                raise _out_of_range(self.position + 1, bounds[0])
            before = self.position
            if stored > before:
                last = min(stored, before + past.window_of(filters))
                last = last if target is None else min(last, target)
                await self._read(before + 1, last, waits=waited < _MISSING_SECONDS)
            if self.position > before:
                waited = 0.0
                continue
            await asyncio.sleep(_PAUSE_SECONDS)
            waited += _PAUSE_SECONDS
            if self._lost.is_set() and target is not None:
                return

    async def _read(self, first: int, last: int, *, waits: bool) -> None:
        page = await self._engine.in_past(lambda: past.read(self.filters, first, last, waits=waits))
        for content in page.contents:
            await self._stream.taken(self._send(content))
        self.position = max(self.position, page.last)
        if page.gap is not None:
            missing, until = page.gap
            raise _missing("slots", missing, until)

    def _send(self, content: Content) -> int:
        """Sends what was not sent before: how many updates."""
        key = content.slot, int(content.level)
        if content.slot <= self.position or key in self._delivered:
            return 0
        if misses_entries(self.filters, content):
            self._stream.end_with(_missing("entries of slots", content.slot, content.slot))
            return 0
        self._delivered[key] = None
        if len(self._delivered) > _MOST_DELIVERED:
            del self._delivered[next(iter(self._delivered))]
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
