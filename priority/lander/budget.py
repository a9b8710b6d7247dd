"""Bounds how often submissions are sent again, by what is newly sent and by what lands."""

import math
from dataclasses import dataclass

# What a first send and a landing each allow: so at most as many re-sends as of both together.
_OF_A_SEND = 1.0
_OF_A_LANDING = 1.0
# What time allows: where little is sent, each submission may go again in every slot.
_PER_SECOND = 50.0
# What is saved while nothing is sent again; landings that are heard late come all at once.
_MOST_SAVED = 200.0


@dataclass(slots=True)
class ResendBudget:
    """In any span of seconds, re-sends are at most MOST_SAVED and PER_SECOND of these seconds, and
    one for each first send and each landing in it. Under overload nothing is heard to land: the
    more that waits, the fewer the re-sends of each submission. Times are of one clock, in seconds.
    """

    _saved: float = _MOST_SAVED
    _at: float = -math.inf

    def sent(self) -> None:
        """A submission was sent for the first time."""
        self._save(_OF_A_SEND)

    def landed(self) -> None:
        """A submission was seen in a block."""
        self._save(_OF_A_LANDING)

    def take(self, now: float) -> bool:
        """Whether a submission may be sent again now; if so, that is spent."""
        if now > self._at:
            self._save(min((now - self._at) * _PER_SECOND, _MOST_SAVED))
            self._at = now
        if self._saved < 1.0:
            return False
        self._saved -= 1.0
        return True

    def give_back(self) -> None:
        """What was taken was not needed: no upstream had capacity."""
        self._save(1.0)

    def _save(self, amount: float) -> None:
        self._saved = min(self._saved + amount, _MOST_SAVED)
