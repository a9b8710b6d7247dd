"""Percentiles of landing, from counts by bucket: of a whole span, and of each of its steps."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from access.spans import Span
from priority.reports.services.landing_spans import counted_in
from priority.reports.store import landings as store
from priority.reports.store.landings import Times

# p50, p95 and p99; None where nothing was counted.
Triple = tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of values that are known to 5 %; `count` of them."""

    count: int
    p50: float
    p90: float
    p95: float
    p99: float

    @property
    def shown(self) -> list[tuple[str, float]]:
        """(name, value) of each."""
        return [("p50", self.p50), ("p95", self.p95), ("p99", self.p99)]


@dataclass(frozen=True, slots=True)
class TimedPercentiles:
    """p50, p95 and p99 of each step, None where nothing was counted: `slots` from acceptance to the
    block (above 8 the upper bound of its bucket, or 33), and `byte` microseconds until the first
    byte was sent, known to 5 %. With those of the previous period if they were asked for.
    """

    slots: Sequence[Triple]
    byte: Sequence[Triple]
    slots_before: Sequence[Triple] = ()
    byte_before: Sequence[Triple] = ()


def times_of(span: Span, now: datetime) -> Times:
    """For the store."""
    start, end = span.bounds(now)
    return Times(start, end, span.step, counted_in(span))


def percentiles(numbers: Counter[int]) -> Percentiles | None:
    """Of numbers of buckets by powers of 1.1; None without any."""
    total = sum(numbers.values())
    if not total:
        return None
    shares = (0.5, 0.9, 0.95, 0.99)
    return Percentiles(total, *(_power_of(_bucket_at(share, numbers)) for share in shares))


def timed_percentiles(
    span: Span, *, tier: str, upstream: str, now: datetime, compared: bool, first: int
) -> TimedPercentiles:
    """Of all keys, without the `first` steps of the span."""
    slots, byte = _triples(span, tier, upstream, now)
    found = TimedPercentiles(slots[first:], byte[first:])
    if not compared:
        return found
    shown = slice(first, len(slots))
    slots, byte = _triples(span.before(now), tier, upstream, now)
    return replace(found, slots_before=slots[shown], byte_before=byte[shown])


def _triples(
    span: Span, tier: str, upstream: str, now: datetime
) -> tuple[list[Triple], list[Triple]]:
    """(slots, microseconds) of each step."""
    times = times_of(span, now)
    numbers: dict[tuple[str, datetime], Counter[int]] = defaultdict(Counter)
    for fact in store.timed_numbers(times, tier=tier, upstream=upstream):
        if fact.start is not None:
            numbers[fact.measure, fact.start][fact.number] += fact.count
    begins = span.begins(now)
    return (
        [_triple(numbers["slots", begin], _slots_of) for begin in begins],
        [_triple(numbers["byte", begin], _power_of) for begin in begins],
    )


def _triple(numbers: Counter[int], value: Callable[[int], float]) -> Triple:
    if not numbers.total():
        return None
    p50, p95, p99 = (value(_bucket_at(share, numbers)) for share in (0.5, 0.95, 0.99))
    return p50, p95, p99


def _bucket_at(share: float, numbers: Counter[int]) -> int:
    """The bucket with the value at this share of all."""
    passed, total = 0, numbers.total()
    for number in sorted(numbers):
        passed += numbers[number]
        if passed >= share * total:
            return number
    return max(numbers)


def _slots_of(number: int) -> float:
    """The upper bound of a bucket of SLOT_BOUNDS; 33 for the last one, which has none."""
    return float(number if number <= 8 else {9: 16, 10: 32}.get(number, 33))


def _power_of(number: int) -> float:
    return float(1.1 ** (number + 0.5))
