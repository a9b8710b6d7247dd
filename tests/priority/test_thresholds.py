"""Event rules with thresholds: told once when crossed, by what was counted."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.signature import Signature

from access.models import ApiKey
from alerts.models import Event, Rule
from alerts.services import rules
from priority.models import Submission
from priority.reports.services import counting, thresholds

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(issue: Callable[..., Any]) -> ApiKey:
    found: ApiKey = issue().key
    return found


def submit(key: ApiKey, state: str, count: int, at: datetime, tip: int | None = None) -> None:
    slot = 7 if state in ("landed", "failed") else None
    Submission.objects.bulk_create(
        Submission(
            signature=Signature.new_unique(),
            kind="transaction",
            key=key,
            tier="basic",
            blockhash=bytes(32),
            accepted_at=at,
            settled_at=at,
            state=state,
            slot=slot,
            err="AccountNotFound" if state == "failed" else None,
            tip_lamports=tip,
        )
        for _ in range(count)
    )


def watch(now: datetime) -> None:
    """As the worker's task does."""
    counting.count(kept=timedelta(days=30), now=now, calm=timedelta(0))
    thresholds.watch(now=now)


def rule(key: ApiKey, trigger: str, now: datetime, **condition: Any) -> Rule:
    return rules.create(
        key.customer_id, name="r", trigger=trigger, condition=condition, mails=True, now=now
    )


def events() -> list[tuple[str, dict[str, Any]]]:
    return list(Event.objects.order_by("pk").values_list("kind", "data"))


def test_a_low_share_is_told_once_and_its_recovery_too(key: ApiKey) -> None:
    now = timezone.now()
    made = rule(key, "landing_share", now, below_percent=50, minutes=15, least_submissions=10)
    submit(key, "landed", 3, now)
    submit(key, "expired", 6, now)
    watch(now)
    assert events() == [], "fewer than ten are settled"
    submit(key, "failed", 1, now)
    for _ in range(2):
        watch(now)
    ((kind, data),) = events()
    assert kind == "landing_share.low"
    assert {name: data[name] for name in ("landed", "settled", "percent", "belowPercent")} == {
        "landed": 3,
        "settled": 10,
        "percent": 30.0,
        "belowPercent": 50,
    }
    submit(key, "landed", 4, now)
    for _ in range(2):
        watch(now)
    assert [kind for kind, _data in events()] == ["landing_share.low", "landing_share.recovered"]
    submit(key, "expired", 10, now)
    rules.disable(made.pk)
    watch(now)
    assert len(events()) == 2


def test_spending_on_tips_is_told_once_a_period(key: ApiKey, issue: Callable[..., Any]) -> None:
    now = datetime(2026, 11, 28, 12, 30, tzinfo=UTC)
    of_day = rule(key, "tip_spend", now, above_lamports=1_000, period="day")
    rule(key, "tip_spend", now, above_lamports=100, period="hour", keys=[issue().key.pk])
    submit(key, "landed", 2, now - timedelta(hours=2), tip=500)
    submit(key, "failed", 9, now, tip=500)  # it was not paid
    submit(key, "landed", 9, now - timedelta(days=1), tip=500)
    mark_steps(now - timedelta(hours=2), now - timedelta(days=1))
    watch(now)
    assert events() == [], "1,000 are not above 1,000"
    submit(key, "landed", 1, now, tip=1)
    for _ in range(2):
        watch(now)
    ((kind, data),) = events()
    assert (kind, data["ruleId"], data["lamports"]) == ("tips.above", of_day.pk, 1_001)
    assert data["since"] == "2026-11-28T00:00:00Z"
    tomorrow = now + timedelta(days=1)
    submit(key, "landed", 1, tomorrow, tip=2_000)
    watch(tomorrow)
    assert [data["lamports"] for _kind, data in events()] == [1_001, 2_000]


def test_a_months_tips_are_those_of_its_days(key: ApiKey) -> None:
    now = datetime(2026, 11, 28, 12, 30, tzinfo=UTC)
    rule(key, "tip_spend", now, above_lamports=1_000, period="month")
    for days in (1, 20, 28):  # the last one is of October
        submit(key, "landed", 1, now - timedelta(days=days), tip=600)
        mark_steps(now - timedelta(days=days))
    watch(now)
    ((_kind, data),) = events()
    assert (data["lamports"], data["since"]) == (1_200, "2026-11-01T00:00:00Z")


def mark_steps(*moments: datetime) -> None:
    """What was settled then is to be counted, as settling notes it."""
    from priority.reports.models import LandingChange
    from priority.reports.store.counts import STEP, floor

    for moment in moments:
        LandingChange.objects.create(start=floor(moment, STEP), noted_at=moment)
