"""The time axis of charts: even ticks at round times of UTC, in any zone of the browser."""

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings

NODE = shutil.which("node")
SCRIPT = settings.ROOT / "platform/config/static/tidemark/time_axis.js"
pytestmark = pytest.mark.skipif(NODE is None, reason="no node on this machine")


def run(expression: str, zone: str = "UTC") -> Any:
    """What the expression is after the script of the pages."""
    code = f"{SCRIPT.read_text()}\nconsole.log(JSON.stringify({expression}));"
    answer = subprocess.run(
        [str(NODE), "-e", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "TZ": zone},
    )
    return json.loads(answer.stdout)


def ticks(start: str, end: str, step: int, zone: str = "UTC") -> list[datetime]:
    first, last = (datetime.fromisoformat(each).timestamp() for each in (start, end))
    found = run(f"tidemarkTimeAxis.ticks({first}, {last}, {step})", zone)
    return [datetime.fromtimestamp(each, UTC) for each in found]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_ticks_are_even_over_a_change_to_winter_time(zone: str) -> None:
    found = ticks("2026-10-24T14:37:30+00:00", "2026-10-25T15:10:00+00:00", 21_600, zone)
    assert [f"{each:%H:%M}" for each in found] == ["18:00", "00:00", "06:00", "12:00"]


def test_weeks_begin_on_mondays_and_a_tick_on_an_edge_counts() -> None:
    found = ticks("2026-11-01T00:00:00+00:00", "2026-12-01T00:00:00+00:00", 7 * 86_400)
    assert [f"{each:%a %d}" for each in found] == ["Mon 02", "Mon 09", "Mon 16", "Mon 23", "Mon 30"]
    found = ticks("2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00", 43_200)
    assert [each.hour for each in found] == [0, 12, 0]


def test_every_step_up_to_a_day_leads_to_midnight() -> None:
    steps = run("tidemarkTimeAxis.steps")
    assert steps == sorted(set(steps))
    assert all(86_400 % step == 0 for step in steps if step <= 86_400)


def test_a_day_has_its_tick_in_the_middle_of_its_bar() -> None:
    first, last = (datetime(2026, 11, day, tzinfo=UTC).timestamp() for day in (1, 5))
    found = run(f"tidemarkTimeAxis.dayTicks({first}, {last}, 86400)")
    shown = [f"{datetime.fromtimestamp(each, UTC):%b %d %H}" for each in found]
    assert shown == ["Nov 01 12", "Nov 02 12", "Nov 03 12", "Nov 04 12"]
    weeks = run(f"tidemarkTimeAxis.dayTicks({first}, {last}, 7 * 86400)")
    assert [f"{datetime.fromtimestamp(each, UTC):%a %H}" for each in weeks] == ["Mon 12"]


def test_bars_of_days_have_no_ticks_of_hours() -> None:
    assert min(run("tidemarkTimeAxis.stepsFor(86400)")) == 86_400
    assert run("tidemarkTimeAxis.stepsFor(3600)") == run("tidemarkTimeAxis.steps")
