"""Reports of calls: over time, by method, by key."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

from access import store, usage_queries
from access.counted_calls import FAILED, CallCounts, Kind, counts_of, kind_of
from access.models import ApiKey
from access.spans import Span
from access.usage_queries import Asked

# Methods in a bar chart.
MOST_BARS = 12


@dataclass(frozen=True, slots=True)
class Step:
    """Calls of one step of time."""

    start: datetime
    counts: CallCounts


@dataclass(frozen=True, slots=True)
class MethodCalls:
    """Calls of one method with one outcome; `milliseconds` is their mean duration."""

    method: str
    status: str
    calls: int
    milliseconds: float

    @property
    def kind(self) -> Kind:
        return kind_of(self.method, self.status)


@dataclass(frozen=True, slots=True)
class MethodShare:
    """Calls of one method."""

    method: str
    counts: CallCounts


@dataclass(frozen=True, slots=True)
class KeyCalls:
    """Calls of one key; None: of callers without a key."""

    key: ApiKey | None
    counts: CallCounts


@dataclass(frozen=True, slots=True)
class UsageReport:
    """`steps` has every step of the span that began, from the first call that this service counted
    (`since`), also those without a call; `before` those of the previous period, if asked for;
    `shares` the methods with the most counted calls, without notifications.
    """

    span: Span
    steps: Sequence[Step]
    methods: Sequence[MethodCalls]
    shares: Sequence[MethodShare]
    since: datetime | None = None
    before: Sequence[Step | None] = ()

    @property
    def counts(self) -> CallCounts:
        return reduce(CallCounts.plus, (step.counts for step in self.steps), CallCounts())


def usage_report(
    span: Span,
    *,
    now: datetime,
    key_id: int | None = None,
    customer_id: int | None = None,
    keyless: bool = False,
    method: str | None = None,
    status: str | None = None,
    compared: bool = False,
) -> UsageReport:
    """Calls of a key, of a customer's keys, of callers without a key, or of all; of one method and
    with one outcome where these are named; `compared` with the previous period.
    """
    asked = Asked(key_id, customer_id, keyless, method, status)
    if customer_id is not None:
        span = span.by_days()
    asked_for, since = span, usage_queries.counted_since()
    if since is not None:
        span = span.from_first_call(since, now)
    steps: dict[datetime, CallCounts] = defaultdict(CallCounts)
    by_outcome: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    by_method: dict[str, CallCounts] = defaultdict(CallCounts)
    for begin, name, outcome, calls, microseconds in usage_queries.calls_by_step(asked, span, now):
        counts = counts_of(name, outcome, calls)
        steps[begin] = steps[begin].plus(counts)
        by_method[name] = by_method[name].plus(counts)
        by_outcome[name, outcome][0] += calls
        by_outcome[name, outcome][1] += microseconds
    methods = [
        MethodCalls(name, outcome, calls, microseconds / 1e3 / calls if calls else 0.0)
        for (name, outcome), (calls, microseconds) in by_outcome.items()
    ]
    methods.sort(key=lambda row: (row.kind is not Kind.COUNTED, -row.calls, row.method, row.status))
    shares = [MethodShare(name, counts) for name, counts in by_method.items() if counts.calls]
    shares.sort(key=lambda row: (-row.counts.counted, -row.counts.calls, row.method))
    begins, first = span.begins(now), 0
    if since is not None:
        first = sum(begin + span.step <= since for begin in begins)
    return UsageReport(
        span,
        [Step(begin, steps[begin]) for begin in begins[first:]],
        methods,
        shares[:MOST_BARS],
        since=since if first or span != asked_for else None,
        before=_before(asked, span, now, since)[first : len(begins)] if compared else (),
    )


def _before(asked: Asked, span: Span, now: datetime, since: datetime | None) -> list[Step | None]:
    """The steps of the previous period; None for those before the first call was counted."""
    earlier = span.before(now)
    steps: dict[datetime, CallCounts] = defaultdict(CallCounts)
    for begin, name, outcome, calls, _time in usage_queries.calls_by_step(asked, earlier, now):
        steps[begin] = steps[begin].plus(counts_of(name, outcome, calls))
    return [
        None if since is None or begin + span.step <= since else Step(begin, steps[begin])
        for begin in earlier.begins(now)
    ]


def busiest_keys(
    span: Span,
    *,
    now: datetime,
    customer_id: int | None = None,
    method: str | None = None,
    status: str | None = None,
    limit: int = 20,
) -> list[KeyCalls]:
    """The keys with the most counted calls in the span, callers without a key as one of them."""
    asked = Asked(None, customer_id, False, method, status)
    rows = usage_queries.calls_by_key(asked, span, now, limit)
    found = store.keys_with_customers([row[0] for row in rows if row[0]])
    return [KeyCalls(found.get(key_id) if key_id else None, counts) for key_id, counts in rows]


def calls_by_status(*, since: datetime, now: datetime) -> list[tuple[str, int]]:
    """(status, calls) of every outcome without notifications, our own failures first, then most
    calls first.
    """
    rows = usage_queries.calls_by_status(since, now + timedelta(minutes=1))
    # One failure of the service matters more than many refusals.
    return sorted(rows, key=lambda row: row[0] not in FAILED)
