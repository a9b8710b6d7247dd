"""Times in the reader's own zone, beside UTC."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.browser.conftest import Watched

_MOMENT = "time.tm-moment"
# 23:30 in UTC is another day in India, and none of the clock's numbers is the same.
AT = datetime(2026, 11, 27, 23, 30, 15, tzinfo=UTC)
LOCAL = "2026-11-28 05:00:15 GMT+5:30"


def row() -> str:
    """The address of an event that happened then."""
    from alerts.services.events import publish

    text = "It failed at 2026-11-27 23:30 UTC."
    event = publish("webhook.disabled", about="a pager", text=text, data={}, now=AT)
    assert event is not None
    return f"/admin/alerts/event/{event.pk}/change/"


@pytest.mark.soak
def test_a_moment_has_the_readers_own_time_beside_it(watched: Callable[..., Watched]) -> None:
    path = row()
    visitor = watched(timezone_id="Asia/Kolkata")
    visitor.sign_in()
    visitor.open(path)
    times = visitor.page.locator(f"#main {_MOMENT}").all_text_contents()
    assert f"2026-11-27 23:30:15 UTC ({LOCAL})" in times
    assert "2026-11-27 23:30 UTC (2026-11-28 05:00 GMT+5:30)" in times
    visitor.open("/admin/alerts/event/")
    ago = visitor.page.locator(f'#main tr:has(a[href^="{path}"]) time[title]').first
    ago.hover()
    assert ago.get_attribute("title") == "2026-11-27 23:30 UTC (2026-11-28 05:00 GMT+5:30)"
    assert not visitor.problems
    a_reader_in_utc_sees_it_once(watched(timezone_id="UTC"), path)


def a_reader_in_utc_sees_it_once(visitor: Watched, path: str) -> None:
    visitor.sign_in()
    visitor.open(path)
    times = visitor.page.locator(f"#main {_MOMENT}").all_text_contents()
    assert "2026-11-27 23:30:15 UTC" in times
    assert not visitor.page.locator(".tm-local").count() and not visitor.problems


@pytest.mark.soak
def test_hints_have_it_once_however_often_they_are_pointed_at(
    watched: Callable[..., Watched],
) -> None:
    from tipping.models import TtlClass
    from tipping.services import batches

    # A test before this one may have emptied the tables.
    TtlClass.objects.get_or_create(ttl_seconds=600, defaults={"window_seconds": 300})
    long_ago = datetime.now(UTC) - timedelta(hours=40)
    batches.prepare_batches(seed=bytes(range(32)), now=long_ago)
    batches.rotate_due(now=long_ago)
    visitor = watched(timezone_id="Asia/Kolkata")
    visitor.sign_in()
    visitor.open("/admin/tipping/ttlclass/")
    drawn = visitor.page.locator("#main rect.tm-window").first
    for _ in range(2):
        drawn.hover()
        visitor.page.locator("#main h2").first.hover()
    assert re.search(
        rf": opened {long_ago:%Y-%m-%d %H:%M:%S} UTC \([^()]*GMT\+5:30\), is open;",
        drawn.locator("title").text_content(),
    )
    # "overdue since" is a moment on the page.
    assert "UTC (" in visitor.page.locator("#main .tm-bad time.tm-moment").first.text_content()
    assert not visitor.problems
