"""Token buckets of this process alone, used while Redis is unavailable."""

import os
import threading
import time

# More keys than this within one outage are an attack: the oldest are forgotten, each then has a
# full bucket once more, and memory stays bounded.
MAX_BUCKETS = 20_000

_lock = threading.Lock()
_full_at: dict[str, float] = {}


def take(buckets: "list[tuple[str, float, int]]", cost: int) -> tuple[int, float, list[int]]:
    """Takes `cost` from all (name, rate, burst) buckets or from none. Returns the number of the
    refusing bucket from 1 (0: taken), the seconds to wait, and the tokens left in each.
    """
    now = time.monotonic()
    refused, wait = 0, 0.0
    found = []
    with _lock:
        for number, (name, rate, burst) in enumerate(buckets, 1):
            full_at = max(_full_at.get(name, now), now)
            missing = min(cost, burst) - (burst - (full_at - now) * rate)
            if missing > 1e-9 and missing / rate > wait:
                refused, wait = number, missing / rate
            found.append(full_at)
        if not refused:
            for position, (name, rate, _burst) in enumerate(buckets):
                found[position] += cost / rate
                _full_at.pop(name, None)  # so that the dict's order is that of last use
                _full_at[name] = found[position]
            while len(_full_at) > MAX_BUCKETS:
                del _full_at[next(iter(_full_at))]
    remaining = [
        int(burst - (full_at - now) * rate + 1e-9)
        for full_at, (_name, rate, burst) in zip(found, buckets, strict=True)
    ]
    return refused, wait, remaining


def forget() -> None:
    with _lock:
        _full_at.clear()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)
