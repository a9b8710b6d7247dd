"""Limits the attempts waiting for one upstream's answers: fewer while answers are slow."""

import math
from dataclasses import dataclass

_FIRST, _LEAST, _MOST = 64.0, 16.0, 256.0
_SLOW_SECONDS = 1.0
_CUT = 0.7
# Retries go only while few attempts wait: under overload first attempts come first.
_SHARE_OF_NEXT_TRIES = 0.5
_USED = 0.4


@dataclass(slots=True)
class Window:
    """Grows by one with each answer while much of it is used, and is cut by 0.7, once for each
    round of answers, where one takes longer than a second and twice as long as the fastest. An
    upstream that takes less than is sent would else answer nothing in time, and submissions that
    wait there would not show in the queue.
    """

    under_way: int = 0
    _size: float = _FIRST
    _fastest: float = math.inf
    _cut_at: float = -math.inf

    def has_capacity(self, *, again: bool) -> bool:
        """Whether another attempt may go; `again`: it is a retry."""
        size = self._size * _SHARE_OF_NEXT_TRIES if again else self._size
        return self.under_way < size

    def answered(self, seconds: float, now: float, *, most_seconds: float) -> None:
        """An answer came or failed after `seconds`; the attempt could have taken
        `most_seconds`. Called while the attempt still counts as under way.
        """
        self._fastest = min(self._fastest, seconds)
        slow = max(min(_SLOW_SECONDS, most_seconds / 2), 2 * self._fastest)
        if seconds < slow:
            if self.under_way > self._size * _USED:
                self._size = min(self._size + 1, _MOST)
        elif now - seconds >= self._cut_at:
            # Attempts from before the last cut say nothing about its effect.
            self._size = max(self._size * _CUT, _LEAST)
            self._cut_at = now
