"""Calls since Redis began, and how fast they come."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
import redis

from access.counted_calls import OUR_FAILURES
from shared_state import counters

Counts = Mapping[tuple[str, ...], int]


class CallTotals(msgspec.Struct, frozen=True):
    """Calls, the microseconds spent on them, internal errors, and refusals."""

    calls: int = 0
    failed: int = 0
    refused: int = 0
    microseconds: int = 0


class CallsReading(msgspec.Struct, frozen=True):
    """Calls since an earlier moment; None without such a moment, or without calls."""

    totals: CallTotals
    per_second: float | None = None
    milliseconds: float | None = None
    failed_share: float | None = None
    refused_share: float | None = None


def call_totals(counts: Counts) -> CallTotals:
    calls = failed = ok = microseconds = 0
    for name, count in counts.items():
        if name[0] == counters.CALLS:
            calls += count
            ok += count if name[2] == "ok" else 0
            failed += count if name[2] in OUR_FAILURES else 0
        elif name[0] == counters.CALL_MICROSECONDS:
            microseconds += count
    return CallTotals(calls, failed, calls - ok - failed, microseconds)


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
        milliseconds=(totals.microseconds - earlier.microseconds) / calls / 1e3,
        failed_share=(totals.failed - earlier.failed) / calls,
        refused_share=(totals.refused - earlier.refused) / calls,
    )
