"""Tokens prefetched from Redis, so that a busy key does not need a round trip for each call.

A blocking round trip costs a request more than its own work does (the thread sleeps, the caches
go cold). Prefetched tokens have left the bucket, so no limit is ever exceeded; unspent ones are
lost after PREFETCH_SECONDS. Therefore only a busy key prefetches, never more than a sixteenth of
its burst, and only while the bucket stays at least half full: near the limit every call is counted
by itself.
"""

import threading
import time
from dataclasses import dataclass, field

PREFETCH_SECONDS = 0.2
MAX_PREFETCHED = 64
SHARE_OF_BURST = 16


@dataclass(slots=True)
class PrefetchedTokens:
    """This process's tokens for one plan; `most` (from the smallest burst) may be 0."""

    most: int
    left: int = 0
    size: int = 0
    ends_at: float = 0.0
    remaining: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def spend(self, cost: int) -> int | None:
        """The tokens left in the bucket and here after the cost; None if there are too few here."""
        if not self.left or time.monotonic() >= self.ends_at:
            return None
        with self.lock:
            if self.left < cost:
                return None
            self.left -= cost
            return self.remaining + self.left

    def drain(self) -> int:
        """All tokens left, for a higher cost: the bucket pays the rest."""
        if not self.left:
            return 0
        with self.lock:
            left, self.left = self.left, 0
            return left if time.monotonic() < self.ends_at else 0

    def put_back(self, tokens: int) -> None:
        """Returns the tokens of `drain` when the bucket could not pay the rest."""
        with self.lock:
            self.left += tokens

    def wanted(self) -> int:
        """How many to prefetch: twice as many when the last ones were spent before they expired,
        half as many when they expired.
        """
        if not self.most:
            return 0
        quiet = time.monotonic() - self.ends_at
        if quiet < 0:
            self.size = min(max(1, self.size * 2), self.most)
        else:
            self.size = self.size // 2 if quiet < PREFETCH_SECONDS else 0
        return self.size

    def grant(self, granted: int, remaining: int) -> None:
        """Adds `granted` tokens beside the call's own, with `remaining` in the bucket."""
        if not self.most:
            return
        now = time.monotonic()
        with self.lock:
            # Tokens that another thread prefetched are kept; expired ones are not.
            self.left = granted + (self.left if now < self.ends_at else 0)
            self.ends_at = now + PREFETCH_SECONDS
            self.remaining = remaining


def most_of(bursts: list[int]) -> int:
    """The most tokens to prefetch for a plan with these bursts."""
    return min(MAX_PREFETCHED, min(bursts) // SHARE_OF_BURST)
