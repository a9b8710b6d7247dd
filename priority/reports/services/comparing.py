"""Keys beside each other: calls, refusals and landings over time."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

from access import usage_queries
from access.counted_calls import CallCounts, counts_of
from access.models import ApiKey
from access.spans import Span
from access.usage_queries import Asked
from priority.reports.services import landing_spans
from priority.reports.services.landing_times import times_of
from priority.reports.store.key_landings import states_by_key
from priority.submissions import State, landed_share

MOST_KEYS = 6
MEASURES = ("counted", "refused", "failed", "landed")


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """One key in the span: its calls, the refused or failed ones by reason, and its submissions by
    state; `values` are those of the chosen measure, by step.
    """

    key: ApiKey
    counts: CallCounts
    reasons: Counter[str]
    states: Counter[str]
    values: Sequence[int]

    @property
    def landed(self) -> int:
        return self.states[State.LANDED]

    @property
    def land_rate(self) -> float | None:
        return landed_share(self.states)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The keys' figures of one measure over the steps that begin at `starts` and last `step`."""

    starts: Sequence[datetime]
    step: timedelta
    keys: Sequence[KeyFigures]


def comparison(keys: Sequence[ApiKey], span: Span, *, measure: str, now: datetime) -> Comparison:
    """The keys, at most MOST_KEYS, in their order, by one of MEASURES."""
    landing = _landing_span(span, now)
    states: dict[int, Counter[str]] = defaultdict(Counter)
    landed: dict[int, Counter[datetime]] = defaultdict(Counter)
    for key_id, begin, state, count in states_by_key(
        times_of(landing, now), [key.pk for key in keys]
    ):
        states[key_id][state] += count
        if state == State.LANDED:
            landed[key_id][begin] += count
    shown = landing if measure == "landed" else span
    begins = shown.begins(now)
    found = []
    for key in keys:
        steps, reasons = _usage(key, span, now)
        if measure == "landed":
            values = [landed[key.pk][begin] for begin in begins]
        else:
            values = [getattr(steps[begin], measure) for begin in begins]
        counts = reduce(CallCounts.plus, steps.values(), CallCounts())
        found.append(KeyFigures(key, counts, reasons, states[key.pk], values))
    return Comparison(begins, shown.step, found)


def _usage(
    key: ApiKey, span: Span, now: datetime
) -> tuple[dict[datetime, CallCounts], Counter[str]]:
    """The calls by step, and the refused or failed ones by reason."""
    steps: dict[datetime, CallCounts] = defaultdict(CallCounts)
    reasons: Counter[str] = Counter()
    for begin, method, outcome, count, _time in usage_queries.calls_by_step(
        Asked(key.pk), span, now
    ):
        counts = counts_of(method, outcome, count)
        steps[begin] = steps[begin].plus(counts)
        if counts.not_answered:
            reasons[outcome] += count
    return steps, reasons


def _landing_span(span: Span, now: datetime) -> Span:
    """The span of landing counts that shows the same time."""
    named = next((each for each in landing_spans.SPANS if each.name == span.name), None)
    return named or landing_spans.absolute(*span.bounds(now), now=now)
