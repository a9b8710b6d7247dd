"""StoredFirst: sends what is stored since a slot, then what happens."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from historical.blocks.services.stored_content import Unreadable
from livefeed.messages import Answer
from shared_state.outages import AWAY
from subscriptions.link import Ready, answer_to

log = logging.getLogger(__name__)

T = TypeVar("T")

_PAUSE_SECONDS = 0.3
# A slot that is not stored so long after its chain went on is missing.
_MISSING_SECONDS = 60.0
# So near to what is stored last, what happens is asked for too.
_NEAR_SLOTS = 300


class Progress(Generic[T]):
    """`position`: everything up to this slot was sent. `deliver` sends what there is of a slot, and
    returns how much that was. What happens while the past is read waits here, up to `most_waiting`
    in size; with more of it, it is read from what is stored.
    """

    deliver: Callable[[int, T], int]

    def __init__(self, position: int, *, most_waiting: int, most_delivered: int) -> None:
        self.position = position
        self.is_live = False
        self.lost = asyncio.Event()
        self._most_waiting = most_waiting
        self._most_delivered = most_delivered
        self._waiting: deque[tuple[int, T, int]] = deque()
        self._waiting_size = 0
        self._delivered: dict[tuple[int, int], None] = {}

    def begin(self) -> None:
        """From now on what happens waits, until `go_live`."""
        self.is_live = False
        self._waiting.clear()
        self._waiting_size = 0
        self.lost.clear()

    def put(
        self, slot: int, what: T, *, part: int = 0, size: int = 1, is_whole: bool = True
    ) -> None:
        """What happened in a slot, now. Of what comes in parts each has a number."""
        if not is_whole:
            self.lost.set()
        if self.lost.is_set():
            return
        if self.is_live:
            self.send(slot, what, part)
            return
        self._waiting.append((slot, what, part))
        self._waiting_size += size
        if self._waiting_size > self._most_waiting:
            self.lost.set()

    def go_live(self) -> None:
        """Everything up to `position` was sent; what waited comes after it."""
        self.is_live = True
        while self._waiting:
            self.send(*self._waiting.popleft())

    def reached(self, root: int) -> None:
        """Everything up to a final slot was put."""
        if self.is_live and not self.lost.is_set():
            self.position = max(self.position, root)
            while self._delivered and (first := next(iter(self._delivered)))[0] <= root:
                del self._delivered[first]

    def send(self, slot: int, what: T, part: int = 0) -> int:
        """Delivers what there is of a slot, or of a part of it, if it was not before."""
        if slot <= self.position or (slot, part) in self._delivered:
            return 0
        self._delivered[slot, part] = None
        if len(self._delivered) > self._most_delivered:
            del self._delivered[next(iter(self._delivered))]
        return self.deliver(slot, what)


class StoredFirst(ABC, Generic[T]):
    """`keep_on` runs until the reader is gone. A subclass says what is read, and how it is sent."""

    # Slots that are read at once.
    window: int

    def __init__(self, progress: Progress[T]) -> None:
        self.progress = progress

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether the reader is gone."""

    @property
    @abstractmethod
    def is_fed(self) -> bool:
        """Whether the chain is followed. If not, what is stored is all there is."""

    @abstractmethod
    async def bounds(self) -> tuple[int, int] | None:
        """The lowest and the highest slot that is stored; None for nothing."""

    @abstractmethod
    async def read(self, first: int, last: int, *, waits: bool) -> None:
        """Sends the range's slots, and moves `position` to the last one that was read. A missing
        slot ends the range if it may still come (`waits`).
        """

    @abstractmethod
    def pass_over(self, first: int, last: int) -> None:
        """The slots are not kept any more."""

    @abstractmethod
    def open(self, ready: Ready) -> None:
        """Asks for what happens; `ready` is called with the feed's Answer."""

    @abstractmethod
    async def close(self) -> None:
        """What happens is not wanted any more."""

    async def keep_on(self) -> None:
        while not self.is_over:
            try:
                await self._once()
            except (*AWAY, Unreadable) as error:
                log.warning("a subscription waits for what is stored: %s", error)
                await asyncio.sleep(1.0)
            await self.close()

    async def _once(self) -> None:
        """Reads what is stored, then sends what happens, until something may be missing."""
        progress = self.progress
        await self.read_to(None)
        progress.begin()
        answer = await answer_to(self.open)
        if answer is None or not answer.root:
            await asyncio.sleep(1.0)
            return
        self.check(answer)
        await self.read_to(answer.root)
        if progress.lost.is_set():
            return
        progress.go_live()
        await progress.lost.wait()

    def check(self, answer: Answer) -> None:
        """Called with what the feed answered; may raise."""

    async def read_to(self, target: int | None) -> None:
        """Reads on until the slot, which will be stored; without one, until near the end."""
        progress = self.progress
        waited = 0.0
        while True:
            bounds = await self.bounds()
            stored = -1 if bounds is None else bounds[1]
            near = stored - (_NEAR_SLOTS if self.is_fed else 0)
            if progress.position >= (near if target is None else target):
                return
            if bounds is not None and progress.position + 1 < bounds[0] <= stored:
                self.pass_over(progress.position + 1, bounds[0] - 1)
                progress.position = bounds[0] - 1
            before = progress.position
            if stored > before:
                last = min(stored, before + self.window)
                last = last if target is None else min(last, target)
                if progress.is_live:
                    progress.begin()
                await self.read(before + 1, last, waits=waited < _MISSING_SECONDS)
            if progress.position > before:
                waited = 0.0
                continue
            await asyncio.sleep(_PAUSE_SECONDS)
            waited += _PAUSE_SECONDS
            if progress.lost.is_set() and target is not None:
                return
