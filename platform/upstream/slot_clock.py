"""Which slot it is now, between and in spite of the messages that tell it."""

from collections import deque
from statistics import median

_MESSAGES = 12
# No cluster is slower or faster by more than this than it was set up to be.
_STRETCH = 4.0


class SlotClock:
    """Told of slots as they begin, it estimates the current one: the median of what the last dozen
    messages say, since single ones come late or jump. Times are seconds of one monotonic clock.
    """

    def __init__(self, slot_seconds: float = 0.4) -> None:
        self._nominal = slot_seconds
        self._told: deque[tuple[int, float]] = deque(maxlen=_MESSAGES)

    def tell(self, slot: int, now: float) -> None:
        """The slot begins now. Only the first message about a slot counts."""
        if all(slot != known for known, _ in self._told):
            self._told.append((slot, now))

    def slot(self, now: float) -> int | None:
        """The slot that runs now; None before the first message."""
        if not self._told:
            return None
        seconds = self.slot_seconds
        return max(0, int(median(slot + (now - at) / seconds for slot, at in self._told)))

    @property
    def slot_seconds(self) -> float:
        """How long a slot takes: the median over all pairs of messages."""
        told = list(self._told)
        paces = [
            (later - earlier) / (high - low)
            for place, (low, earlier) in enumerate(told)
            for high, later in told[place + 1 :]
            if high != low
        ]
        if len(told) < _MESSAGES // 2:
            return self._nominal
        return min(max(median(paces), self._nominal / _STRETCH), self._nominal * _STRETCH)

    @property
    def told_at(self) -> float | None:
        """When the last message came."""
        return self._told[-1][1] if self._told else None
