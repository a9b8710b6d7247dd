"""What was called: over time, by method, by key."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from access import usage_queries
from access.models import ApiKey

# The outcome of a call that we failed to answer: one of them matters more than many refusals.
OUR_FAILURE = "internal_error"


@dataclass(frozen=True, slots=True)
class Span:
    """How far back a report goes: `steps` times `step`, the last step still running."""

    name: str
    label: str
    each: str
    step: timedelta
    steps: int


SPANS = (
    Span("24h", "24 hours", "hour", timedelta(hours=1), 24),
    Span("7d", "7 days", "6 hours", timedelta(hours=6), 28),
    Span("30d", "30 days", "day", timedelta(days=1), 30),
    Span("90d", "90 days", "day", timedelta(days=1), 90),
)


@dataclass(frozen=True, slots=True)
class Step:
    """Calls of one step of time: those that went well, and those refused or failed."""

    start: datetime
    ok: int
    errors: int


@dataclass(frozen=True, slots=True)
class MethodCalls:
    """Calls of one method with one outcome; `milliseconds` is their mean duration."""

    method: str
    status: str
    calls: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class KeyCalls:
    """Calls of one key; None: of callers without a key."""

    key: ApiKey | None
    ok: int
    errors: int


@dataclass(frozen=True, slots=True)
class UsageReport:
    """`steps` has every step of the span, also those without a call. `cut` says that there are more
    methods and outcomes than `methods` lists.
    """

    span: Span
    steps: Sequence[Step]
    methods: Sequence[MethodCalls]
    cut: bool

    @property
    def ok(self) -> int:
        return sum(step.ok for step in self.steps)

    @property
    def errors(self) -> int:
        return sum(step.errors for step in self.steps)


def span_named(name: str | None) -> Span:
    """The span of that name, the shortest where there is none."""
    return next((span for span in SPANS if span.name == name), SPANS[0])


def usage_report(
    span: Span,
    *,
    now: datetime,
    key_id: int | None = None,
    customer_id: int | None = None,
    keyless: bool = False,
) -> UsageReport:
    """Calls of a key, of a customer's keys, of callers without a key, or of all."""
    start, end = _bounds(span, now)
    who = (key_id, customer_id, keyless)
    counted = {
        begin: (ok, errors)
        for begin, ok, errors in usage_queries.calls_over_time(who, start, end, span.step)
    }
    begins = [start + span.step * number for number in range(span.steps)]
    methods = usage_queries.calls_by_method(who, start, end)
    return UsageReport(
        span,
        [Step(begin, *counted.get(begin, (0, 0))) for begin in begins],
        [
            MethodCalls(method, status, calls, microseconds / 1e3 / calls if calls else 0.0)
            for method, status, calls, microseconds in methods
        ],
        cut=len(methods) == usage_queries.MOST_ROWS,
    )


def busiest_keys(
    span: Span, *, now: datetime, customer_id: int | None = None, limit: int = 20
) -> list[KeyCalls]:
    """The keys with the most calls in the span, callers without a key as one of them."""
    rows = usage_queries.calls_by_key((None, customer_id, False), *_bounds(span, now), limit)
    found = ApiKey.objects.select_related("customer").in_bulk([row[0] for row in rows if row[0]])
    return [
        KeyCalls(found.get(key_id) if key_id else None, ok, errors) for key_id, ok, errors in rows
    ]


def calls_by_status(*, since: datetime, now: datetime) -> list[tuple[str, int]]:
    """(status, calls) of every outcome, our own failures first, then most calls first."""
    rows = usage_queries.calls_by_status(since, now + timedelta(minutes=1))
    return sorted(rows, key=lambda row: row[0] != OUR_FAILURE)


def _bounds(span: Span, now: datetime) -> tuple[datetime, datetime]:
    """Steps begin at whole hours or days of UTC; the step that runs is the last."""
    origin = datetime(2000, 1, 1, tzinfo=UTC)
    end = origin + (((now - origin) // span.step) + 1) * span.step
    return end - span.steps * span.step, end
