"""GET /priority/tipfloor: percentiles of landed tips."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from priority.reports.services import tip_floor
from priority.reports.store import tip_floor as store
from priority.submissions import State
from tests.priority.submitted import landed, stored

pytestmark = pytest.mark.django_db

SHARES = (25, 50, 75, 95, 99)


def tips(*lamports: int, seconds_ago: float = 10.0) -> None:
    seen_at = timezone.now() - timedelta(seconds=seconds_ago)
    for place, each in enumerate(lamports):
        landed(None, hash((each, place, seconds_ago)), tip_lamports=each, seen_at=seen_at)


def ask(client: Any, query: str = "") -> dict[str, Any]:
    answer = client.get(f"/priority/tipfloor{query}")
    assert answer.status_code == 200, answer.content
    (floor,) = answer.json()
    return floor  # type: ignore[no-any-return]


def test_percentiles_are_told_in_sol_and_in_lamports(client: Any) -> None:
    tips(*(1_000_000 * number for number in range(1, 102)))
    floor = ask(client)
    assert floor["count"] == 101 and floor["window_seconds"] == 300
    assert [floor[f"landed_tips_{share}th_percentile"] for share in SHARES] == [
        0.026,
        0.051,
        0.076,
        0.096,
        0.1,
    ]
    assert [floor[f"lamports_{share}th_percentile"] for share in SHARES] == [
        26_000_000,
        51_000_000,
        76_000_000,
        96_000_000,
        100_000_000,
    ]
    assert floor["ema_landed_tips_50th_percentile"] == 0.051
    assert floor["time"].endswith("Z")


def test_without_a_landed_tip_there_is_no_floor(client: Any) -> None:
    stored(None, 1, tip_lamports=5_000_000)
    landed(None, 2, state=State.FAILED, tip_lamports=5_000_000)
    landed(None, 3)
    tips(7_000_000, seconds_ago=301)
    floor = ask(client)
    assert floor["count"] == 0
    assert {floor[f"landed_tips_{share}th_percentile"] for share in SHARES} == {0.0}
    assert {floor[f"lamports_{share}th_percentile"] for share in SHARES} == {None}
    assert floor["ema_landed_tips_50th_percentile"] == 0.0
    assert floor["lamports_ema_50th_percentile"] is None


def test_windows_slide_and_the_average_follows_the_newest(client: Any) -> None:
    tips(1_000_000, seconds_ago=800)
    tips(4_000_000, seconds_ago=30)
    assert ask(client, "?window=60")["lamports_50th_percentile"] == 4_000_000
    long = ask(client, "?window=900")
    assert (long["count"], long["lamports_50th_percentile"]) == (2, 2_500_000)
    # Two steps have tips: from the old one's median two thirteenths of the way to the new one's.
    assert long["lamports_ema_50th_percentile"] == round(1_000_000 + 3_000_000 * 2 / 13)


def test_there_are_four_windows(client: Any, api_key: str) -> None:
    for window in ("", "59", "x", "6e1", "-60"):
        answer = client.get(
            f"/priority/tipfloor?window={window}", headers={"Authorization": api_key}
        )
        assert (answer.status_code, answer.json()["error"]) == (400, "bad_query")


def test_it_is_read_once_in_two_seconds_however_many_ask(
    client: Any,
    known_keys: None,
    django_assert_num_queries: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tip_floor, "_KEPT_SECONDS", 3_600.0)  # a busy machine takes its time
    tips(1_000_000)
    ask(client)
    with django_assert_num_queries(0):
        first, second = (ask(client) for _ in range(2))
    assert first == second


def test_a_busy_window_is_told_from_its_newest_tips(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tips(*[9_000_000] * 5, seconds_ago=50)
    tips(*[2_000_000] * 5, seconds_ago=5)
    monkeypatch.setattr(store, "MOST_TIPS", 5)
    floor = ask(client, "?window=60")
    assert (floor["count"], floor["lamports_99th_percentile"]) == (5, 2_000_000)


@given(st.lists(st.floats(0, 1e12), min_size=1))
def test_the_average_lies_between_the_least_and_the_most(medians: list[float]) -> None:
    average = tip_floor.moving_average(medians)
    assert average is not None
    assert min(medians) - 1e-3 <= average <= max(medians) + 1e-3
