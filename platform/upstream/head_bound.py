"""Upper bound of the slot that a chain can have reached; reports of later slots are rejected."""

import time
from collections import deque
from statistics import median_low

# No chain is there in a thousand years, at any pace.
MOST_SLOT = 2**40
# The fastest localnet makes a slot in 10 ms; the bound must hold for every chain.
_SLOTS_PER_SECOND = 100
# Skipped slots, a fork, a node that is a little behind.
_MARGIN = 1_000
# The slots heard last: their median is where the stream is, whatever a few of them say.
_HEARD = 63
_LOOK_EVERY_SECONDS = 2.0
# A replay that takes longer than this is bound as a live stream is.
_LONGEST_REPLAY_SECONDS = 600.0
# When nothing but slots beyond the bound came for so long, and so many, the bound is wrong.
_CONTRADICTED_SECONDS = 15.0
_CONTRADICTED_SLOTS = 16

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def clock() -> float:
    """Seconds of a clock that never goes back, and goes on while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


class HeadBound:
    """The highest slot that one chain can have reached: from a slot that was known at some time, at
    the fastest pace of a chain. Times are seconds of one clock that never goes back.

    A live stream draws the bound along by the median of what it says, so single lies move nothing.
    A stream that catches up is as fast as it likes, up to the head that was expected. When nothing
    but slots beyond the bound comes any more it gives way to them, or with `gives_way=False` only
    is contradicted: a caller that asks other nodes then sets what to expect.
    """

    def __init__(self, *, gives_way: bool = True) -> None:
        self._gives_way = gives_way
        self._slot = MOST_SLOT
        self._at = 0.0
        self._is_known = False
        self._is_live = False
        self._ceiling = MOST_SLOT
        self._heard: deque[int] = deque(maxlen=_HEARD)
        self._looked: tuple[int, float] | None = None
        self._beyond: deque[int] = deque(maxlen=_HEARD)
        self._head = 0
        self._went_on_at = 0.0

    @property
    def head(self) -> int:
        """The highest of the slots that were heard last; 0 before any. A stream that catches up
        does not take it back.
        """
        return self._head

    @property
    def slot(self) -> int | None:
        """Where the chain was last known to be."""
        return self._slot if self._is_known else None

    def expect(self, slot: int | None, now: float) -> None:
        """Sets the expected head, from another source; None if it is not known, and for
        ten minutes any slot that a chain can have is believed.
        """
        self._anchor(MOST_SLOT if slot is None else min(slot, MOST_SLOT), now)
        self._is_live = False
        self._heard.clear()
        self._looked = None
        self._beyond.clear()
        self._went_on_at = now

    def ceiling(self, now: float) -> int:
        """The highest slot that can be believed."""
        if self._is_known:
            passed = max(0.0, now - self._at)
            self._ceiling = min(self._slot + _MARGIN + int(_SLOTS_PER_SECOND * passed), MOST_SLOT)
        return self._ceiling

    def admits(self, slot: int, now: float) -> bool:
        """Whether the chain can be there by now. Where nothing is known yet the first slot that a
        chain can have is believed.
        """
        if not self._is_known and slot <= MOST_SLOT:
            self.expect(slot, now)
            self._is_live = True
        return slot <= self.ceiling(now)

    def hear(self, slot: int, now: float) -> bool:
        """Processes a report that the chain is at the slot. Returns whether that is possible."""
        if not self.admits(slot, now):
            return self._doubt(slot, now)
        if not self._heard or slot != self._heard[-1]:
            if slot > max(self._heard, default=-1):
                self._went_on_at = now
                self._beyond.clear()
            self._heard.append(slot)
            newest = max(self._heard)
            is_stale = self._is_live or self._head > self._ceiling
            self._head = newest if is_stale else max(newest, self._head)
        if self._looked is None:
            self._looked = (slot, now)
        elif now - self._looked[1] >= _LOOK_EVERY_SECONDS:
            self._look(now)
        return True

    def _look(self, now: float) -> None:
        assert self._looked is not None
        before, looked_at = self._looked
        middle = median_low(self._heard)
        self._looked = (middle, now)
        if middle + _MARGIN >= self._slot or now - self._at >= _LONGEST_REPLAY_SECONDS:
            self._is_live = True
        if self._is_live and middle - before <= _SLOTS_PER_SECOND * (now - looked_at):
            self._anchor(middle, now)

    def is_contradicted(self, now: float) -> bool:
        """Whether many slots beyond the bound came for a while, and none that leads on below it."""
        silent = now - self._went_on_at >= _CONTRADICTED_SECONDS
        return silent and len(self._beyond) >= _CONTRADICTED_SLOTS

    def _doubt(self, slot: int, now: float) -> bool:
        if slot <= MOST_SLOT and slot not in self._beyond:
            self._beyond.append(slot)
        if not self._gives_way or not self.is_contradicted(now):
            return False
        self.expect(median_low(self._beyond), now)
        self._is_live = True
        return slot <= self._ceiling

    def _anchor(self, slot: int, now: float) -> None:
        self._slot, self._at, self._is_known = slot, now, True
        self.ceiling(now)
