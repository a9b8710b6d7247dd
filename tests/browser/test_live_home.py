"""The home page in a real browser: alive by itself, and honest when nobody answers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

pytestmark = pytest.mark.soak


def test_the_home_changes_by_itself_says_when_it_is_stale_and_asks_to_sign_in_again(
    watched: Callable[[], Any],
) -> None:
    from django.contrib.sessions.models import Session

    from operations.models import Alarm, Sample
    from operations.readings.present import MOMENT_SECONDS
    from priority.upstreams.models import Upstream

    # Somebody watches for as long as this lasts: else the web process would in a minute, and find
    # that nothing else runs.
    Sample.objects.create(at=timezone.now() + timedelta(hours=1), resolution=MOMENT_SECONDS)
    Upstream.objects.all().delete()
    Upstream.objects.create(name="node", kind=Upstream.Kind.NODE)
    visitor = watched()
    visitor.sign_in()
    page = visitor.page
    page.clock.install()
    visitor.open("/admin/")

    def wait_a_beat() -> None:
        page.clock.fast_forward(3_100)

    pulse = page.locator("#tm-pulse")
    pulse.get_by_text("Live, as of").wait_for()
    # Found as the page is made; there is no alarm yet.
    assert "No upstream is enabled" not in page.inner_text("#needs")

    Upstream.objects.update(is_enabled=False)
    began = timezone.now() - timedelta(minutes=4)
    # The web process checks the alarms itself, and may have found it meanwhile.
    Alarm.objects.update_or_create(
        name="no_upstream",
        closed_at=None,
        defaults={
            "severity": "critical",
            "text": "No upstream is enabled: accepted submissions will expire.",
            "began_at": began,
            "opened_at": began,
        },
    )
    page.get_by_role("link", name="All alarms").focus()
    wait_a_beat()
    # Without a word from who looks at it, who stays where they were.
    since = page.locator("#needs").get_by_text("Since 4 min ago.")
    since.wait_for()
    assert "No upstream is enabled" in since.locator("..").inner_text()
    assert page.evaluate("document.activeElement.textContent") == "All alarms"

    visitor.refusals_expected = True
    page.route("**/admin/live/**", lambda route: route.fulfill(status=503, body="away"))
    wait_a_beat()
    pulse.get_by_text("Stale since").wait_for()
    assert "answers with an error (503)" in pulse.inner_text()
    assert page.locator("#tm-live.tm-stale").count() == 1
    page.unroute("**/admin/live/**")
    wait_a_beat()
    pulse.get_by_text("Live, as of").wait_for()

    Session.objects.all().delete()
    wait_a_beat()
    pulse.get_by_text("You are signed out").wait_for()
    assert pulse.get_by_role("link", name="Sign in again").get_attribute("href") == (
        "/admin/login/?next=/admin/"
    )
    assert "Since 4 min ago." in page.inner_text("#needs"), "what was seen last stays"
