"""The public status page as a visitor sees it: wide and narrow, light and dark."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.browser.conftest import Watched
from tests.browser.looking import look_at_all


@pytest.fixture
def service_settings() -> dict[str, str]:
    return {"STATUS_PAGE": "true"}


def fill() -> None:
    """Forty days of samples, two of them with an outage, and incidents that ended or last."""
    from django.utils import timezone

    from operations.models import Alarm, Sample
    from operations.rules.rule import Area
    from operations.services.sampling import step_of

    now = timezone.now()
    for age in range(1, 40):
        values = {}
        for area in Area:
            values[f"{area}_bad"] = {3: 0.01, 17: 0.4}.get(age, 0.0)
            values[f"{area}_warning"] = {9: 0.2, 17: 0.1}.get(age, 0.0)
        at = step_of(now, 86_400) - timedelta(days=age)
        Sample.objects.create(at=at, resolution=86_400, values=values, totals={"steps": 288})
    Sample.objects.create(at=step_of(now, 15), resolution=15, values=values)
    for name, severity, days, hours in (
        ("no_upstream", "critical", 17, 9.5),
        ("chain_behind", "warning", 9, 5),
        ("class_running_dry", "warning", 0, None),
    ):
        began = now - timedelta(days=days, minutes=30)
        ended = None if hours is None else began + timedelta(hours=hours)
        Alarm.objects.create(
            **{"name": name, "severity": severity, "text": "secret.internal is slow"},
            **{"began_at": began, "opened_at": began, "well_since": ended, "closed_at": ended},
        )


@pytest.mark.soak
def test_the_page_has_no_barrier_in_any_size(watched: Callable[..., Watched]) -> None:
    fill()
    visitor = watched(timezone_id="America/New_York")
    wrong = look_at_all(visitor, [("status", "/status/")], "outside")
    assert not wrong, "\n".join(wrong)
    page = visitor.page
    assert page.locator("section.light").count() == 4
    assert page.locator("section.light svg").first.get_attribute("aria-label")
    page.locator("section.light details summary").first.click()
    assert "outage" in page.locator("section.light details li").first.text_content()
    assert "GMT" in page.locator("article.incident").first.text_content() or "E" in (
        page.locator(".tm-local").first.text_content()
    )
    assert "secret.internal" not in page.content()
