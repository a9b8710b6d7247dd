"""Buckets of times for percentiles: powers of 1.1, so they are right to 5 %."""

import math
from collections.abc import Mapping

_BASE = math.log(1.1)
SHARES = (0.5, 0.95, 0.99)


def bucket_of(microseconds: float) -> int:
    """0 for up to a microsecond."""
    return int(math.log(microseconds) / _BASE) if microseconds > 1 else 0


def percentiles(counts: Mapping[int, int]) -> tuple[float, float, float] | None:
    """p50, p95 and p99 in microseconds, of counts by bucket; None without any."""
    total = sum(counts.values())
    if total <= 0:
        return None
    p50, p95, p99 = (_at(share * total, counts) for share in SHARES)
    return p50, p95, p99


def _at(rank: float, counts: Mapping[int, int]) -> float:
    passed = 0
    for bucket in sorted(counts):
        passed += counts[bucket]
        if passed >= rank:
            return _middle(bucket)
    return _middle(max(counts))


def _middle(bucket: int) -> float:
    return float(1.1 ** (bucket + 0.5))
