"""Sums of usage: always what the minutes add up to, however often and late they come."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from access import usage, usage_sums
from access.models import KeyDay, KeyHour, UsageDay, UsageHour, UsageMinute
from access.services import usage as service
from access.services.usage_retention import forget_minutes
from access.tasks import forget_usage, roll_up_usage
from shared_state.redis_client import client

NOON = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def count(key_id: int | None, at: datetime, method: str = "getSlot", status: str = "ok") -> None:
    usage.count(key_id, method, status, seconds=at.timestamp(), microseconds=7, address="192.0.2.7")


def sums(model: Any, *names: str) -> Counter[tuple[Any, ...]]:
    """Calls, by these columns."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in model.objects.all():
        found[tuple(getattr(row, name) for name in names)] += row.calls
    return found


def of_minutes(place: Callable[[Any], tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in UsageMinute.objects.all():
        found[place(row)] += row.calls
    return found


def day(row: Any) -> date:
    at: datetime = row.minute
    return at.astimezone(UTC).date()


def hour(row: Any) -> datetime:
    at: datetime = row.minute
    return at.replace(minute=0)


def assert_that_all_adds_up() -> None:
    by_day = of_minutes(lambda row: (row.key_id, row.method, row.status, day(row)))
    assert sums(UsageDay, "key_id", "method", "status", "day") == by_day
    by_hour = of_minutes(lambda row: (row.method, row.status, hour(row)))
    assert sums(UsageHour, "method", "status", "hour") == by_hour
    assert sums(KeyHour, "key_id", "hour") == of_minutes(lambda row: (row.key_id, hour(row)))
    assert sums(KeyDay, "key_id", "day") == of_minutes(lambda row: (row.key_id, day(row)))
    spent = sum(row.microseconds for row in UsageMinute.objects.all())
    for model in (UsageDay, UsageHour):
        assert sum(row.microseconds for row in model.objects.all()) == spent
    ok = sum(row.calls for row in UsageMinute.objects.filter(status="ok"))
    for model in (KeyHour, KeyDay):
        assert sum(row.ok for row in model.objects.all()) == ok


@pytest.mark.django_db
def test_days_and_hours_are_what_the_minutes_add_up_to(issue: Callable[..., Any]) -> None:
    chance = random.Random(5)
    holders = [issue().key.pk, issue().key.pk, None]
    for _ in range(4):
        for _ in range(60):
            at = NOON + timedelta(minutes=chance.randrange(-4_000, 4_000))
            status = chance.choice(["ok", "ok", "rate_limited", "internal_error", "slot_skipped"])
            count(chance.choice(holders), at, chance.choice(["getSlot", "getBlock"]), status)
        usage.flush()
        roll_up_usage()
        assert_that_all_adds_up()
    assert UsageMinute.objects.count() > 100
    counted = sum(row.counted for row in KeyDay.objects.all())
    free = UsageMinute.objects.filter(status__in=["rate_limited", "internal_error"])
    assert counted == 240 - sum(row.calls for row in free)
    for model in (KeyDay, KeyHour):
        assert sum(row.counted for row in model.objects.all()) == counted
        for name, status in (("refused", "rate_limited"), ("failed", "internal_error")):
            found = sum(row.calls for row in UsageMinute.objects.filter(status=status))
            assert sum(getattr(row, name) for row in model.objects.all()) == found
    assert 0 < counted < 240


@pytest.mark.django_db
def test_a_day_ends_at_midnight_of_utc() -> None:
    midnight = datetime(2026, 11, 21, tzinfo=UTC)
    for at in (midnight - timedelta(seconds=1), midnight):
        count(None, at)
    usage.flush()
    roll_up_usage()
    assert sums(UsageDay, "day") == {(date(2026, 11, 20),): 1, (date(2026, 11, 21),): 1}


@pytest.mark.django_db
def test_a_batch_that_comes_again_is_in_no_sum_twice() -> None:
    count(None, NOON)
    usage.flush()
    redis = client()
    name = f"{service.CLAIMS_KEY}:left"
    redis.rename(usage.LIVE_KEY, name)
    redis.sadd(service.CLAIMS_KEY, name)
    left = redis.dump(name)
    for _ in range(3):
        roll_up_usage()
        redis.restore(name, 0, left)
        redis.sadd(service.CLAIMS_KEY, name)
    assert_that_all_adds_up()
    assert sums(UsageDay, "method") == {("getSlot",): 1}


@pytest.mark.django_db
def test_a_roll_up_that_dies_halfway_leaves_no_sum_behind() -> None:
    """Of a statement in the middle of the roll-up the database says no: all of it comes later."""
    count(None, NOON)
    usage.flush()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE access_keyday ADD CONSTRAINT full_up CHECK (calls < 0)")
    with pytest.raises(Exception, match="full_up"):
        roll_up_usage()
    assert not UsageMinute.objects.exists()
    assert not UsageDay.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE access_keyday DROP CONSTRAINT full_up")
    roll_up_usage()
    assert_that_all_adds_up()
    assert sums(UsageDay, "method") == {("getSlot",): 1}


@pytest.mark.django_db(transaction=True)
def test_runs_at_the_same_time_sum_up_once(issue: Callable[..., Any]) -> None:
    holders = [issue().key.pk, issue().key.pk, None]

    def run(_: int) -> None:
        try:
            roll_up_usage()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        for turn in range(4):
            for number in range(30):
                at = NOON + timedelta(minutes=number * 7)
                count(holders[number % 3], at, f"method{(number + turn) % 5}")
            usage.flush()
            list(pool.map(run, range(4)))
    assert_that_all_adds_up()
    assert sum(row.calls for row in UsageDay.objects.all()) == 4 * 30


@pytest.mark.django_db
def test_what_is_forgotten_is_whole_days_of_minutes_and_no_day(settings: Any) -> None:
    now = timezone.now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    settings.USAGE_DAYS = 3
    kept = [now.replace(second=0, microsecond=0), today - timedelta(days=3)]
    past = [today - timedelta(days=3, minutes=1), today - timedelta(days=40)]
    usage_sums.add_usage([(None, "getSlot", "ok", at, 10, 70) for at in kept + past])
    forget_usage()
    assert {row.minute for row in UsageMinute.objects.all()} == set(kept)
    assert {row.hour for row in KeyHour.objects.all()} == {kept[0].replace(minute=0)}
    assert sum(row.calls for row in UsageDay.objects.all()) == 40
    assert sum(row.calls for row in KeyDay.objects.all()) == 40
    assert sum(row.calls for row in UsageHour.objects.all()) == 40
    for row in UsageDay.objects.filter(day__gte=(today - timedelta(days=3)).date()):
        minutes = UsageMinute.objects.filter(minute__date=row.day)
        assert sum(minute.calls for minute in minutes) == row.calls
    assert forget_minutes(now=now, days=3) == 0
