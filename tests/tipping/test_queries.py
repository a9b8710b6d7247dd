"""The query string of a fetch: any input is read, or refused with a message."""

from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tipping.errors import BadTipQuery
from tipping.queries import FetchQuery, read_fetch_query
from tipping.services.fetching import smallest_fitting

NAMES = st.sampled_from(["ttl", "count", "api_key", "verbose", "TTL", "", "ttl "])
VALUES = st.one_of(st.text(max_size=8), st.integers().map(str))


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        query = read_fetch_query(text)
    except BadTipQuery as refused:
        assert " " in refused.response_body["error"] and len(refused.response_body["error"]) < 120
    else:
        assert query.ttl is None or query.ttl >= 1


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5))
def test_the_shape_is_by_the_names_alone(pairs):
    try:
        query = read_fetch_query(urlencode(pairs))
    except BadTipQuery:
        return
    assert query.is_plain == all(name == "api_key" for name, _ in pairs)


@given(st.integers(1, 2**63 - 1), st.integers(-(2**31), 2**31 - 1), st.text("0", max_size=3))
def test_integers_come_through(ttl, count, zeros):
    count_text = f"-{zeros}{-count}" if count < 0 else f"{zeros}{count}"
    query = read_fetch_query(f"count={count_text}&ttl={zeros}{ttl}")
    assert query == FetchQuery(ttl, count, is_plain=False)


@given(st.text(min_size=1).filter(lambda text: not text.removeprefix("-").isdecimal()))
@pytest.mark.parametrize("name", ["ttl", "count"])
def test_a_non_integer_is_refused(name, text):
    with pytest.raises(BadTipQuery, match=f"{name} must be an integer"):
        read_fetch_query(f"{name}={quote(text)}")


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6, unique=True), st.integers(1, 60))
def test_a_ttl_snaps_up_to_the_next_class(ttls, ttl):
    ordered = sorted(ttls)
    place = smallest_fitting(ordered, ttl)
    if place is None:
        assert ttl > ordered[-1]
    else:
        assert ordered[place] >= ttl and all(each < ttl for each in ordered[:place])
