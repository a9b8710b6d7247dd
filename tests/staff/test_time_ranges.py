"""Ranges of URLs: whatever somebody writes there is a range of bounded length, or told why not."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from access.spans import asked_span
from priority.reports.services.landing_spans import absolute
from staff.time_ranges import LONGEST, BadRange, range_in

NOW = datetime(2026, 11, 24, 3, 40, 12, tzinfo=UTC)
_TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2028, 1, 1)).map(
    lambda at: at.isoformat(timespec="minutes")
)
_TEXTS = st.one_of(st.text(max_size=30), _TIMES, st.sampled_from(["", "0001-01-01T00:00+14:00"]))


@given(_TEXTS, _TEXTS)
def test_any_text_is_a_range_or_a_reason(first: str, last: str) -> None:
    query = {"from": first, "to": last}
    try:
        found = range_in(query, now=NOW)
    except BadRange as error:
        assert str(error).endswith(".")
        return
    if found is None:
        assert not first.strip() and not last.strip()
        return
    start, end = found
    assert start < end <= NOW + timedelta(minutes=1)
    assert end - start <= LONGEST


@given(_TIMES, _TIMES)
def test_a_span_has_its_range_and_a_bounded_number_of_steps(first: str, last: str) -> None:
    query = {"from": first, "to": last}
    try:
        found = range_in(query, now=NOW)
    except BadRange:
        return
    assert found is not None
    start, end = found
    for span in (asked_span(query, now=NOW), absolute(start, end, now=NOW)):
        begin, stop = span.bounds(NOW)
        assert begin <= start < end <= stop
        assert 1 <= span.steps <= LONGEST.days + 2
        before, until = span.before(NOW).bounds(NOW)
        assert (until, until - before) == (begin, stop - begin)


def test_a_day_as_the_end_is_meant_as_a_whole() -> None:
    found = range_in({"from": "2026-11-01", "to": "2026-11-02"}, now=NOW)
    assert found == (datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 3, tzinfo=UTC))


def test_times_of_other_zones_are_told_in_utc() -> None:
    query = {"from": "2026-11-01T02:00+02:00", "to": "2026-11-01T01:00Z"}
    found = range_in(query, now=NOW)
    assert found == (datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 1, 1, tzinfo=UTC))


def test_half_a_range_is_none() -> None:
    with pytest.raises(BadRange, match="needs both"):
        range_in({"to": "2026-11-01"}, now=NOW)
