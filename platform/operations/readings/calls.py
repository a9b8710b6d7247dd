"""Calls since Redis began, and how fast they come."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import msgspec
import redis

from access.counted_calls import Kind, kind_of
from shared_state import counters
from shared_state.time_buckets import percentiles

Counts = Mapping[tuple[str, ...], int]
_TIMES, _REASONS = "call_times|", "failed|"


class CallTotals(msgspec.Struct, frozen=True):
    """Calls without pushed notifications, those that failed or were refused (access.counted_calls),
    how many calls took a time of each bucket, and how many failed for each reason.
    """

    calls: int = 0
    failed: int = 0
    refused: int = 0
    times: dict[int, int] = {}
    reasons: dict[str, int] = {}


class CallsReading(msgspec.Struct, frozen=True):
    """Calls since an earlier moment; None without such a moment, or without calls. `milliseconds`
    are p50, p95 and p99; `reasons` are those of failed calls with their number, the most frequent
    first.
    """

    totals: CallTotals
    per_second: float | None = None
    milliseconds: tuple[float, float, float] | None = None
    failed_share: float | None = None
    refused_share: float | None = None
    reasons: list[tuple[str, int]] = []


def call_totals(counts: Counts) -> CallTotals:
    by_kind: Counter[Kind] = Counter()
    reasons: Counter[str] = Counter()
    times: dict[int, int] = {}
    for name, count in counts.items():
        if name[0] == counters.CALLS:
            kind = kind_of(name[1], name[2])
            by_kind[kind] += count
            if kind is Kind.FAILED:
                reasons[name[2]] += count
        elif name[0] == counters.CALL_TIMES:
            times[int(name[1])] = count
    calls = by_kind.total() - by_kind[Kind.PUSHED]
    return CallTotals(calls, by_kind[Kind.FAILED], by_kind[Kind.REFUSED], times, dict(reasons))


def totals_to_keep(totals: CallTotals) -> dict[str, int]:
    """As numbers by name, for a sample."""
    kept = {"calls": totals.calls, "failed": totals.failed, "refused": totals.refused}
    kept |= {f"{_TIMES}{bucket}": count for bucket, count in totals.times.items()}
    return kept | {f"{_REASONS}{reason}": count for reason, count in totals.reasons.items()}


def kept_totals(found: Mapping[str, float]) -> CallTotals:
    """What `totals_to_keep` returned, among a sample's other totals."""
    return CallTotals(
        calls=int(found["calls"]),
        failed=int(found["failed"]),
        refused=int(found["refused"]),
        times={
            int(name.removeprefix(_TIMES)): int(count)
            for name, count in found.items()
            if name.startswith(_TIMES)
        },
        reasons={
            name.removeprefix(_REASONS): int(count)
            for name, count in found.items()
            if name.startswith(_REASONS)
        },
    )


def read_counters() -> dict[tuple[str, ...], int] | None:
    """None while Redis is away."""
    try:
        return counters.read()
    except redis.RedisError:
        return None


def read_calls(
    counts: Counts | None, *, now: datetime, before: tuple[datetime, CallTotals] | None
) -> CallsReading | None:
    """Against an earlier moment's totals; None while Redis is away."""
    if counts is None:
        return None
    totals = call_totals(counts)
    if before is None:
        return CallsReading(totals)
    since, earlier = before
    seconds = (now - since).total_seconds()
    calls = totals.calls - earlier.calls
    if seconds <= 0 or calls < 0:  # Redis was emptied
        return CallsReading(totals)
    if not calls:
        return CallsReading(totals, per_second=0.0)
    return CallsReading(
        totals,
        per_second=calls / seconds,
        milliseconds=_times_since(earlier.times, totals.times),
        failed_share=(totals.failed - earlier.failed) / calls,
        refused_share=(totals.refused - earlier.refused) / calls,
        reasons=_reasons_since(earlier, totals),
    )


def _reasons_since(earlier: CallTotals, totals: CallTotals) -> list[tuple[str, int]]:
    if earlier.failed and not earlier.reasons:  # a sample of a version that did not keep them
        return []
    found = {reason: n - earlier.reasons.get(reason, 0) for reason, n in totals.reasons.items()}
    return sorted(
        ((reason, n) for reason, n in found.items() if n > 0), key=lambda each: (-each[1], each[0])
    )


def _times_since(
    earlier: Mapping[int, int], times: Mapping[int, int]
) -> tuple[float, float, float] | None:
    """p50, p95 and p99 in milliseconds of the calls since then."""
    found = percentiles({each: n - earlier.get(each, 0) for each, n in times.items()})
    if found is None:
        return None
    p50, p95, p99 = (each / 1e3 for each in found)
    return p50, p95, p99
