"""Times in the reader's own zone, beside UTC."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

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


def test_a_moment_has_the_readers_own_time_beside_it(watched: Callable[..., Watched]) -> None:
    visitor = watched(timezone_id="Asia/Kolkata")
    visitor.sign_in()
    visitor.open(row())
    times = visitor.page.locator(f"#main {_MOMENT}").all_text_contents()
    assert f"2026-11-27 23:30:15 UTC ({LOCAL})" in times
    assert "2026-11-27 23:30 UTC (2026-11-28 05:00 GMT+5:30)" in times
    visitor.open("/admin/alerts/event/")
    ago = visitor.page.locator("#main time[title]").first
    ago.hover()
    assert re.fullmatch(rf"2026-11-27 23:30 UTC, {re.escape(LOCAL)}", ago.get_attribute("title"))
    assert not visitor.problems


def test_a_reader_in_utc_sees_it_once(watched: Callable[..., Watched]) -> None:
    visitor = watched(timezone_id="UTC")
    visitor.sign_in()
    visitor.open(row())
    times = visitor.page.locator(f"#main {_MOMENT}").all_text_contents()
    assert "2026-11-27 23:30:15 UTC" in times
    assert not visitor.page.locator(".tm-local").count() and not visitor.problems
