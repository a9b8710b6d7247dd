"""The time spans of landing reports: those of usage, as far as landing is counted."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings

from access.spans import DEFAULT_SPAN, Span, between, span_named
from priority.reports.store.counts import DAY, HOUR, STEP
from staff.time_ranges import range_in

# Counts of 5 minutes are kept a little longer (priority.reports.services.counting).
STEPS_READABLE = timedelta(hours=5)
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_FINEST = ("5 minutes", timedelta(seconds=STEP))
SPANS = (Span("1h", "1 hour", *_FINEST, 12), DEFAULT_SPAN, span_named("7d"), span_named("30d"))


def counted_in(span: Span) -> int:
    """The seconds of the counts that the span's steps are made of."""
    return STEP if span.step < _HOUR else HOUR if span.step < _DAY else DAY


def asked_span(query: Mapping[str, str], *, now: datetime) -> Span:
    """The span of a URL: absolute by `from` and `to`, else that of its name, 24 hours where there
    is none. Raises BadRange.
    """
    found = range_in(query, now=now)
    if found is not None:
        return absolute(*found, now=now)
    return next((span for span in SPANS if span.name == query.get("span")), DEFAULT_SPAN)


def absolute(start: datetime, end: datetime, *, now: datetime) -> Span:
    """The span from start to end: in steps of 5 minutes where it is short and they are still kept,
    else of hours, 6 hours, or whole days.
    """
    length = end - start
    are_hours_kept = start >= now - timedelta(days=settings.SUBMISSION_DAYS)
    if length <= 2 * _HOUR and start >= now - STEPS_READABLE:
        return between(start, end, *_FINEST)
    if length <= 2 * _DAY and are_hours_kept:
        return between(start, end, "hour", _HOUR)
    if length <= 8 * _DAY and are_hours_kept:
        return between(start, end, "6 hours", 6 * _HOUR)
    return between(start, end, "day", _DAY)
