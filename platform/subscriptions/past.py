"""Memory: where a subscription that begins in the past stands."""

import asyncio
from collections import deque
from collections.abc import Callable

from subscriptions.configs import FromConfig, signature_of
from subscriptions.kinds import Result

# What happens while the past is read waits here; with more of it, it is read from what is stored.
_MOST_WAITING = 2_000
_MOST_DELIVERED = 4_000

Deliver = Callable[[int, list[Result]], None]


class Memory:
    """`position`: everything up to this slot was sent. `after` is the index in the next slot up to
    which transactions are left out, -1 for none. `deliver` sends the results of a slot.
    """

    deliver: Deliver

    def __init__(self, from_slot: int | None, from_signature: str | None) -> None:
        self.position = -1 if from_slot is None else from_slot - 1
        self.after = (-1, -1)
        self.from_signature = from_signature
        self.is_live = False
        self.lost = asyncio.Event()
        self._waiting: deque[tuple[int, list[Result], int]] = deque()
        self._delivered: dict[tuple[int, int], None] = {}

    def begin(self) -> None:
        """From now on what happens waits, until `go_live`."""
        self.is_live = False
        self._waiting.clear()
        self.lost.clear()

    def put(
        self, slot: int, results: list[Result], *, part: int = 0, is_whole: bool = True
    ) -> None:
        """What happened in a slot, now. Of what comes in parts each has a number."""
        if not is_whole:
            self.lost.set()
        if self.lost.is_set():
            return
        if self.is_live:
            self.send(slot, results, part)
        elif len(self._waiting) < _MOST_WAITING:
            self._waiting.append((slot, results, part))
        else:
            self.lost.set()

    def go_live(self) -> None:
        """Everything up to `position` was sent; what waited comes after it."""
        self.is_live = True
        while self._waiting:
            slot, results, part = self._waiting.popleft()
            self.put(slot, results, part=part)

    def reached(self, root: int) -> None:
        """Everything up to a final slot was put."""
        if self.is_live and not self.lost.is_set():
            self.position = max(self.position, root)
            while self._delivered and (first := next(iter(self._delivered)))[0] <= root:
                del self._delivered[first]

    def send(self, slot: int, results: list[Result], part: int = 0) -> None:
        """Sends the results of a slot, or of a part of it, that was not sent before."""
        if slot <= self.position or (slot, part) in self._delivered:
            return
        self._delivered[slot, part] = None
        if len(self._delivered) > _MOST_DELIVERED:
            del self._delivered[next(iter(self._delivered))]
        if slot == self.after[0]:
            results = [each for each in results if each[1] is None or each[1] > self.after[1]]
        self.deliver(slot, results)


def memory_of(config: FromConfig) -> Memory | None:
    """None without a beginning. Raises InvalidParams."""
    if config.from_signature is not None:
        signature_of(config.from_signature)
    if config.from_slot is None and config.from_signature is None:
        return None
    return Memory(config.from_slot, config.from_signature)
