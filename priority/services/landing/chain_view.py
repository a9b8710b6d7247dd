"""The chain as the follower's happenings show it: the slot clock, heights, and which slots hold."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from priority.chain_events import BLOCKHASH_BLOCKS, BlockMade, Seen, SlotMoved
from upstream.head_bound import HeadBound

_DEFAULT_SLOT_SECONDS = 0.4
_MEASURED_SLOTS = 16
# Without a word the clock goes on by itself, but no further than this.
_MOST_GUESSED_SLOTS = 64
_KEPT_SLOTS = 1_000
_KEPT_BLOCKHASHES = 2_000
# Transactions that were seen before anybody told us of them are remembered for so many slots.
_REMEMBERED_SLOTS = 32
_MOST_REMEMBERED = 200_000


class Sighting(NamedTuple):
    """A transaction in a block: its place, and the stream's packed error if it failed."""

    slot: int
    place: int
    error: bytes | None


class Chain:
    """What was told so far. Times are of the loop's clock, in seconds."""

    def __init__(self) -> None:
        self.slot: int | None = None
        self.slot_seconds = _DEFAULT_SLOT_SECONDS
        self.head_height: int | None = None
        self.head_slot = -1
        self.head_blockhash: bytes | None = None
        self.confirmed_height = -1
        self.confirmed_slot = -1
        self._bound = HeadBound()
        self._began_at = -math.inf
        self._told: deque[tuple[int, float]] = deque(maxlen=_KEPT_SLOTS)
        self._heights: dict[int, int] = {}
        self._confirmed: dict[int, None] = {}
        self._of_blockhashes: dict[bytes, int] = {}
        self._sightings: dict[bytes, Sighting] = {}
        self._seen_in: dict[int, list[bytes]] = {}

    def slot_now(self, now: float) -> int | None:
        """The slot that is being made; None before anything was told."""
        if self.slot is None:
            return None
        passed = int((now - self._began_at) / self.slot_seconds)
        return self.slot + max(0, min(passed, _MOST_GUESSED_SLOTS))

    def slot_at(self, moment: float) -> int | None:
        """The slot that was told last before the moment, or the oldest one that is remembered:
        nothing that came then can be in a block before it. None before anything was told.
        """
        for slot, told_at in reversed(self._told):
            if told_at <= moment:
                return slot
        return self._told[0][0] if self._told else None

    def last_valid_height(self, blockhash: bytes) -> int | None:
        """The last block that takes the blockhash: an upper bound for one that nobody knows, None
        while no block was told at all.
        """
        height = self._of_blockhashes.get(blockhash, self.head_height)
        return None if height is None else height + BLOCKHASH_BLOCKS

    def knows(self, blockhash: bytes) -> bool:
        return blockhash in self._of_blockhashes

    def learn(self, heights: Mapping[bytes, int]) -> None:
        """Blockhashes and their blocks' heights, from whoever knew them before."""
        self._of_blockhashes.update(heights)
        while len(self._of_blockhashes) > _KEPT_BLOCKHASHES:
            del self._of_blockhashes[next(iter(self._of_blockhashes))]

    def learn_head(self, slot: int, height: int | None, blockhash: bytes, now: float) -> None:
        """The newest block."""
        if slot < self.head_slot:
            return
        self.head_slot, self.head_blockhash = slot, blockhash
        if height is not None:
            self.head_height = height
        self.hear(slot + 1, now)

    def is_confirmed(self, slot: int) -> bool:
        return slot in self._confirmed

    def moved(self, told: SlotMoved, now: float) -> None:
        """A slot got further."""
        slot, status = told.slot, told.status
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
        """A block is whole."""
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
        """The transactions of a message; they are remembered for some slots."""
        found = []
        of_slot = self._seen_in.setdefault(seen.slot, [])
        for place, index in enumerate(seen.indexes):
            signature = seen.signatures[64 * place : 64 * place + 64]
            sighting = Sighting(seen.slot, index, seen.errors.get(place))
            found.append((signature, sighting))
            self._sightings[signature] = sighting
            of_slot.append(signature)
        while len(self._seen_in) > _REMEMBERED_SLOTS or len(self._sightings) > _MOST_REMEMBERED:
            if len(self._seen_in) == 1:
                break
            oldest = min(self._seen_in)
            for signature in self._seen_in.pop(oldest):
                known = self._sightings.get(signature)
                if known is not None and known.slot <= oldest:
                    del self._sightings[signature]
        return found

    def sighting(self, signature: bytes) -> Sighting | None:
        """Where the transaction was seen of late."""
        return self._sightings.get(signature)

    def silent_for(self, now: float) -> float:
        """Seconds since anybody told a new slot."""
        return now - self._began_at

    def hear(self, slot: int, now: float) -> None:
        """The slot is being made. One that no chain can have reached by now is not believed, and
        one that was believed and that nobody tells of any more is forgotten.
        """
        if not self._bound.hear(slot, now):
            return
        newest = self._bound.head
        if self.slot is not None and newest <= self.slot <= self._bound.ceiling(now):
            return
        slot = newest
        while self._told and self._told[-1][0] >= slot:
            self._told.pop()
        self.slot, self._began_at = slot, now
        self._told.append((slot, now))
        measured = min(len(self._told), _MEASURED_SLOTS)
        first, first_at = self._told[-measured]
        if measured >= 4 and now > first_at:
            # Bounded, since a stream that catches up tells of many slots in one moment.
            self.slot_seconds = min(max((now - first_at) / (slot - first), 0.01), 2.0)


def _keep(kept: dict[int, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
