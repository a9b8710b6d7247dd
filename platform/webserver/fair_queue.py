"""FairQueue: turns at something scarce, shared fairly by holder."""

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """At most `most` turns at a time, of one holder at most `of_holder`: its further items wait
    while those of other holders have their turns. Used on one event loop.
    """

    def __init__(self, most: int, of_holder: int) -> None:
        # Items that wait.
        self.waiting = 0
        self._most = most
        self._of_holder = of_holder
        self._taken = 0
        self._taken_by: Counter[Hashable] = Counter()
        self._queues: OrderedDict[Hashable, deque[T]] = OrderedDict()

    def take(self, holder: Hashable) -> bool:
        """Takes a turn if one is free for the holder."""
        if self._taken >= self._most or self._taken_by[holder] >= self._of_holder:
            return False
        self._taken += 1
        self._taken_by[holder] += 1
        return True

    def waiting_of(self, holder: Hashable) -> int:
        """Items of the holder that wait."""
        return len(self._queues.get(holder, ()))

    def append(self, item: T, holder: Hashable) -> None:
        """Waits until `give_back` returns it."""
        self._queues.setdefault(holder, deque()).append(item)
        self.waiting += 1

    def give_back(self, holder: Hashable) -> tuple[T, Hashable] | None:
        """Ends a turn of the holder: the item whose turn it is now, with its holder."""
        self._taken -= 1
        self._taken_by[holder] -= 1
        if not self._taken_by[holder]:
            del self._taken_by[holder]
        for following in list(self._queues):
            if self.take(following):
                item = self._queues[following][0]
                self._queues.move_to_end(following)  # behind the others
                self.remove(item, following)
                return item, following
        return None

    def remove(self, item: T, holder: Hashable) -> None:
        """The item waits no longer, if it did."""
        queue = self._queues.get(holder)
        if queue is None or item not in queue:
            return
        queue.remove(item)
        self.waiting -= 1
        if not queue:
            del self._queues[holder]
