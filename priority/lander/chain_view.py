"""The chain as chain events show it: the slot clock, block heights and confirmed slots."""

import math
from collections import deque
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from priority.chain_events import (
    BLOCKHASH_BLOCKS,
    KEPT_BLOCKHASHES,
    BlockMade,
    Seen,
    SlotMoved,
)
from shared_state.pace import NOMINAL_SECONDS
from upstream.head_bound import HeadBound

_MEASURED_SLOTS = 16
# Without events the clock advances by itself, but no further than this.
_MOST_GUESSED_SLOTS = 64
_KEPT_SLOTS = 1_000
# So many slots without a new height are not unusual; after them the clock counts blocks.
_USUAL_SLOTS = 4
# Transactions seen before their submission arrived are kept for this many slots.
_SIGHTING_SLOTS = 32
_MOST_SIGHTINGS = 200_000


class Sighting(NamedTuple):
    """A transaction in a block: its index, and the stream's packed error if it failed."""

    slot: int
    place: int
    error: bytes | None


class Chain:
    """What chain events have reported. Times are of the loop's clock, in seconds. `slot_seconds` is
    a slot's length until it is measured.
    """

    def __init__(self, slot_seconds: float = NOMINAL_SECONDS) -> None:
        self.slot: int | None = None
        self.slot_seconds = self._nominal_seconds = slot_seconds
        self.head_height: int | None = None
        self.head_slot = -1
        self.head_blockhash: bytes | None = None
        self.confirmed_height = -1
        self.confirmed_slot = -1
        self._bound = HeadBound()
        self._began_at = -math.inf
        self._height_at = -math.inf
        self._slots: deque[tuple[int, float]] = deque(maxlen=_KEPT_SLOTS)
        self._heights: dict[int, int] = {}
        self._confirmed: dict[int, None] = {}
        self._of_blockhashes: dict[bytes, int] = {}
        self._sightings: dict[bytes, Sighting] = {}
        self._seen_in: dict[int, list[bytes]] = {}

    def slot_now(self, now: float) -> int | None:
        """The slot in progress; None before the first event."""
        if self.slot is None:
            return None
        passed = int((now - self._began_at) / self.slot_seconds)
        return self.slot + max(0, min(passed, _MOST_GUESSED_SLOTS))

    def slot_at(self, moment: float) -> int | None:
        """The last slot reported before the moment, or the oldest one kept: a submission of that
        moment cannot be in a block before it. None before the first event.
        """
        for slot, at in reversed(self._slots):
            if at <= moment:
                return slot
        return self._slots[0][0] if self._slots else None

    def height_now(self, now: float) -> int | None:
        """The newest block's height; while none is reported, as many more as the clock allows."""
        if self.head_height is None:
            return None
        seconds = max(self.slot_seconds, self._nominal_seconds)
        slots = (now - self._height_at) / seconds - _USUAL_SLOTS
        return self.head_height + max(0, int(slots))

    def height_unheard_for(self, now: float) -> float:
        """Seconds since a height was reported."""
        return now - self._height_at

    def hear_heights(self, newest: int, confirmed: int, now: float) -> None:
        """Takes heights that a node reports, for a stream that is silent. Once the stream goes on
        it says more.
        """
        self.head_height = max(newest, self.head_height or 0)
        self.confirmed_height = max(confirmed, self.confirmed_height)
        self._height_at = now

    def last_valid_height(self, blockhash: bytes, now: float) -> int | None:
        """Height of the last block that can use the blockhash: an upper bound if it is unknown,
        None before the first block.
        """
        height = self._of_blockhashes.get(blockhash)
        if height is None:
            height = self.height_now(now)
        return None if height is None else height + BLOCKHASH_BLOCKS

    def knows(self, blockhash: bytes) -> bool:
        return blockhash in self._of_blockhashes

    def learn(self, heights: Mapping[bytes, int]) -> None:
        """Adds blockhashes with their blocks' heights; the lowest ones are forgotten first."""
        self._of_blockhashes.update(sorted(heights.items(), key=itemgetter(1)))
        while len(self._of_blockhashes) > KEPT_BLOCKHASHES:
            del self._of_blockhashes[next(iter(self._of_blockhashes))]

    def learn_head(self, slot: int, height: int | None, blockhash: bytes, now: float) -> None:
        """Sets the newest block."""
        if slot < self.head_slot:
            return
        self.head_slot, self.head_blockhash = slot, blockhash
        if height is not None:
            self.head_height, self._height_at = height, now
        self.hear(slot + 1, now)

    def is_confirmed(self, slot: int) -> bool:
        return slot in self._confirmed

    def moved(self, change: SlotMoved, now: float) -> None:
        """A slot reached a status."""
        slot, status = change.slot, change.status
        if status == "began":
            self.hear(slot, now)
        elif status == "processed":
            self.hear(slot + 1, now)
        elif status in ("confirmed", "finalized"):
            self._confirmed[slot] = None
            _keep(self._confirmed, _KEPT_SLOTS)
            self.confirmed_slot = max(self.confirmed_slot, slot)
            self.confirmed_height = max(self.confirmed_height, self._heights.get(slot, -1))
        elif status == "dead":
            for signature in self._seen_in.pop(slot, ()):
                sighting = self._sightings.get(signature)
                if sighting is not None and sighting.slot == slot:
                    del self._sightings[signature]

    def made(self, block: BlockMade, now: float) -> None:
        """A block is complete."""
        height = block.height
        if height is None and block.parent_slot in self._heights:
            height = self._heights[block.parent_slot] + 1
        if height is not None:
            self._heights[block.slot] = height
            _keep(self._heights, _KEPT_SLOTS)
            self.learn({block.blockhash: height})
            if block.slot in self._confirmed:
                self.confirmed_height = max(self.confirmed_height, height)
        self.learn_head(block.slot, height, block.blockhash, now)

    def saw(self, seen: Seen) -> list[tuple[bytes, Sighting]]:
        """The transactions of an event; they are kept for some slots."""
        found = []
        of_slot = self._seen_in.setdefault(seen.slot, [])
        for place, index in enumerate(seen.indexes):
            signature = seen.signatures[64 * place : 64 * place + 64]
            sighting = Sighting(seen.slot, index, seen.errors.get(place))
            found.append((signature, sighting))
            self._sightings[signature] = sighting
            of_slot.append(signature)
        while len(self._seen_in) > _SIGHTING_SLOTS or len(self._sightings) > _MOST_SIGHTINGS:
            if len(self._seen_in) == 1:
                break
            oldest = min(self._seen_in)
            for signature in self._seen_in.pop(oldest):
                known = self._sightings.get(signature)
                if known is not None and known.slot <= oldest:
                    del self._sightings[signature]
        return found

    def sighting(self, signature: bytes) -> Sighting | None:
        """Where the transaction was seen recently."""
        return self._sightings.get(signature)

    def silent_for(self, now: float) -> float:
        """Seconds since the last new slot."""
        return now - self._began_at

    def hear(self, slot: int, now: float) -> None:
        """Sets the slot in progress. A slot that no chain can have reached by now is ignored, and
        an accepted one that no further event supports is dropped.
        """
        if not self._bound.hear(slot, now):
            return
        newest = self._bound.head
        if self.slot is not None and newest <= self.slot <= self._bound.ceiling(now):
            return
        slot = newest
        while self._slots and self._slots[-1][0] >= slot:
            self._slots.pop()
        self.slot, self._began_at = slot, now
        self._slots.append((slot, now))
        measured = min(len(self._slots), _MEASURED_SLOTS)
        first, first_at = self._slots[-measured]
        if measured >= 4 and now > first_at:
            # Bounded: a stream that catches up reports many slots at once.
            self.slot_seconds = min(max((now - first_at) / (slot - first), 0.01), 2.0)


def _keep(kept: dict[int, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
