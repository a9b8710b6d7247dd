"""What this process is working on: while it is late, more is refused before it costs anything.

A process with no core to run on, or with more requests than it can serve, reads a submission long
after it came. One that has waited for longer than the bound is refused, unless its tier has less
than its share, by landing weights, of the submissions that the process works on.
"""

import time
from collections import Counter

from priority.acceptance.errors import LandingBehind
from priority.queue.store import Limits

# The bound: this part of what a submission may be late, but no less than a slot usually takes.
_PART = 16
_LEAST_MS = 400
_LEAST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 2, 30

# Submissions that Redis has not decided yet, in order: their tiers, and since when they have
# waited. On the event loop and in threads.
_at_work: dict[object, tuple[str, float]] = {}
_weights: dict[str, int] = {}


def require_prompt(tier: str, weight: int, *, came_at: float, limits: Limits) -> None:
    """Raises LandingBehind if a submission that came then (monotonic), or one before it, has waited
    for too long.
    """
    if not limits.slots:
        return
    now = time.monotonic()
    waiting = list(_at_work.values())
    oldest = waiting[0][1] if waiting else now
    waited_ms = round((now - min(came_at, oldest)) * 1_000)
    bound_ms = max(_LEAST_MS, limits.slots * limits.slot_ms // _PART)
    if waited_ms <= bound_ms or _has_share(tier, weight):
        return
    seconds = max(_LEAST_RETRY_SECONDS, min(waited_ms // 1_000, _LONGEST_RETRY_SECONDS))
    raise LandingBehind(waited_ms, bound_ms, unsent=len(waiting), retry_seconds=seconds)


def begin(tier: str) -> object:
    """A submission of the tier waits for Redis until `end` is called with what this returns."""
    token = object()
    _at_work[token] = (tier, time.monotonic())
    return token


def end(token: object) -> None:
    del _at_work[token]


def _has_share(tier: str, weight: int) -> bool:
    """Whether one more of the tier is within its share; a process that works on none takes one."""
    _weights[tier] = weight
    counts = Counter(each for each, _ in list(_at_work.values()))
    weights = sum(_weights.get(each, 1) for each in {*counts, tier})
    return not counts or counts[tier] * weights < weight * counts.total()
