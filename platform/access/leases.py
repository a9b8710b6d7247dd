"""A few tokens taken ahead, so that a busy key does not ask Redis for each call.

A blocking round trip costs a request more than its own work does (the thread sleeps, the caches
go cold). Leased tokens have left the bucket, so no limit is ever exceeded; what is not spent in
LEASE_SECONDS is lost. Therefore only a busy key leases, never more than a sixteenth of its burst,
and only while the bucket stays at least half full: near the limit every call is counted by itself.
"""

import threading
import time
from dataclasses import dataclass, field

LEASE_SECONDS = 0.2
MAX_LEASE = 64
SHARE_OF_BURST = 16


@dataclass(slots=True)
class Lease:
    """What this process holds of one plan's tokens; `most` (from the smallest burst) may be 0."""

    most: int
    left: int = 0
    size: int = 0
    ends_at: float = 0.0
    remaining: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def spend(self, cost: int) -> int | None:
        """What the bucket and the lease hold after the cost; None when the lease cannot pay."""
        if not self.left or time.monotonic() >= self.ends_at:
            return None
        with self.lock:
            if self.left < cost:
                return None
            self.left -= cost
            return self.remaining + self.left

    def drain(self) -> int:
        """All that is left, for a cost above it that the bucket pays the rest of."""
        if not self.left:
            return 0
        with self.lock:
            left, self.left = self.left, 0
            return left if time.monotonic() < self.ends_at else 0

    def put_back(self, tokens: int) -> None:
        """What `drain` gave, for the bucket could not pay the rest."""
        with self.lock:
            self.left += tokens

    def wanted(self) -> int:
        """How many to ask for: doubling while the last lease did not live out its time, halving
        with every one that did.
        """
        if not self.most:
            return 0
        quiet = time.monotonic() - self.ends_at
        if quiet < 0:
            self.size = min(max(1, self.size * 2), self.most)
        else:
            self.size = self.size // 2 if quiet < LEASE_SECONDS else 0
        return self.size

    def grant(self, granted: int, remaining: int) -> None:
        """What came: `granted` tokens beside the call's own, `remaining` in the bucket."""
        if not self.most:
            return
        now = time.monotonic()
        with self.lock:
            # Another thread's lease is kept; an outlived one is not.
            self.left = granted + (self.left if now < self.ends_at else 0)
            self.ends_at = now + LEASE_SECONDS
            self.remaining = remaining


def most_of(bursts: list[int]) -> int:
    return min(MAX_LEASE, min(bursts) // SHARE_OF_BURST)
