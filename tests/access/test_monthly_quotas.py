"""A key's month: counted, told, and held to."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from access import usage, usage_queries, usage_sums
from access.counted_calls import FAILED, FREE, REFUSED, Kind, kind_of
from access.models import ApiKey
from access.months import month_of
from access.services import keys, monthly_quotas
from access.tasks import roll_up_usage
from reference.catalogue import errors, http_status

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 31, 23, 59, 30, tzinfo=UTC)
NEXT = datetime(2027, 1, 1, tzinfo=UTC)


def add(key: ApiKey, calls: int, at: datetime = NOW, status: str = "ok") -> None:
    usage_sums.add_usage(
        [(key.pk, "getSlot", status, at.replace(second=0, microsecond=0), calls, 1)]
    )


def spent(secret: str, now: datetime = NOW) -> bool:
    return keys.identify(secret, now=now).month_spent is not None


@pytest.mark.parametrize(
    ("now", "start", "end"),
    [
        (NOW, datetime(2026, 12, 1, tzinfo=UTC), NEXT),
        (datetime(2024, 2, 29, 5, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC),
         datetime(2024, 3, 1, tzinfo=UTC)),
        (NEXT, NEXT, datetime(2027, 2, 1, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_a_month_is_a_calendar_month_of_utc(now: datetime, start: datetime, end: datetime) -> None:
    assert month_of(now) == (start, end)


def test_a_keys_own_number_comes_before_its_tiers(issue: Any, tier: Any) -> None:
    limited = tier("ultra", 20, calls_per_month=100)
    own = issue(tier=limited, calls_per_month=7).key
    of_tier = issue(tier=limited).key
    free = issue().key
    revoked = issue(calls_per_month=1).key
    keys.revoke_key(revoked.pk, now=NOW)
    for key in (own, of_tier, free):
        add(key, 3)
        add(key, 100, at=NOW - timedelta(days=31))
        add(key, 50, status="rate_limited")
    found = {each.key_id: each for each in monthly_quotas.usages(NOW)}
    assert found.keys() == {own.pk, of_tier.pk}
    assert (found[own.pk].used, found[own.pk].limit, found[own.pk].remaining) == (3, 7, 4)
    assert found[of_tier.pk].limit == 100
    assert found[own.pk].resets_at == NEXT
    assert found[own.pk].customer_id == own.customer_id
    told = monthly_quotas.usage_of(free.pk, NOW)
    assert told is not None
    assert (told.used, told.limit, told.remaining) == (3, None, None)
    assert len(monthly_quotas.usages_of_customer(own.customer_id, NOW)) == 4
    assert monthly_quotas.usage_of(0, NOW) is None


def test_a_month_used_up_ends_with_the_month(issue: Any) -> None:
    issued = issue(calls_per_month=5)
    add(issued.key, 4)
    assert monthly_quotas.enforce(NOW) == (0, 0)
    assert not spent(issued.secret)
    add(issued.key, 2)
    assert monthly_quotas.enforce(NOW) == (1, 0)
    assert monthly_quotas.enforce(NOW) == (0, 0), "once is enough"
    keys.key_cache.forget()
    found = keys.identify(issued.secret, now=NOW).month_spent
    assert found is not None
    assert (found.limit, found.used, found.resets_at) == (5, 6, NEXT)
    assert monthly_quotas.enforce(NEXT) == (0, 0)
    [new] = monthly_quotas.usages(NEXT)
    assert (new.used, new.remaining) == (0, 5)


def test_a_raised_limit_opens_at_once_and_a_lowered_one_closes_with_the_next_run(
    issue: Any, tier: Any, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    ultra = tier("ultra", 20, calls_per_month=5)
    issued = issue(tier=ultra)
    add(issued.key, 6)
    with django_capture_on_commit_callbacks(execute=True):
        monthly_quotas.enforce(NOW)
    assert spent(issued.secret)

    def set_limit(limit: int | None) -> None:
        ultra.calls_per_month = limit
        with django_capture_on_commit_callbacks(execute=True):
            ultra.save()

    for limit in (7, None):
        set_limit(limit)
        assert not spent(issued.secret), limit
    set_limit(6)
    assert spent(issued.secret), "what the last run noted holds for a limit that it reaches"
    set_limit(1_000)
    assert monthly_quotas.enforce(NOW) == (0, 1)
    set_limit(3)
    assert not spent(issued.secret)
    with django_capture_on_commit_callbacks(execute=True):
        assert monthly_quotas.enforce(NOW) == (1, 0)
    assert spent(issued.secret)


def test_a_rotated_key_goes_on_with_its_month(issue: Any) -> None:
    """A new secret as often as one likes, and no call more."""
    old = issue(calls_per_month=10)
    add(old.key, 4)
    add(old.key, 100, at=NOW - timedelta(days=31))
    second = keys.rotate_key(old.key.pk, overlap=timedelta(hours=1), now=NOW)
    add(second.key, 3)
    third = keys.rotate_key(second.key.pk, overlap=timedelta(0), now=NOW)
    add(third.key, 2)
    stranger = issue(calls_per_month=10)
    add(stranger.key, 1)
    used = {each.key_id: each.used for each in monthly_quotas.usages(NOW)}
    # The second expired with its rotation.
    assert used == {old.key.pk: 9, third.key.pk: 9, stranger.key.pk: 1}
    for key in (old.key, second.key, third.key):
        told = monthly_quotas.usage_of(key.pk, NOW)
        assert told is not None and told.used == 9
        counted = usage_queries.counted_of_family(key.pk, NOW.date().replace(day=1), NEXT.date())
        assert counted == 9
    assert monthly_quotas.enforce(NOW) == (0, 0)
    add(old.key, 1)
    assert monthly_quotas.enforce(NOW) == (2, 0)
    keys.key_cache.forget()
    assert spent(old.secret) and spent(third.secret) and not spent(stranger.secret)
    fourth = keys.rotate_key(third.key.pk, overlap=timedelta(0), now=NOW)
    assert spent(fourth.secret), "at once, and not with the next run"
    new = monthly_quotas.usage_of(fourth.key.pk, NEXT)
    assert new is not None and new.used == 0


def test_calls_that_come_reach_the_limit_with_the_roll_up(
    issue: Any, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    issued = issue(calls_per_month=3)
    now = timezone.now()
    for _ in range(3):
        assert not spent(issued.secret, now)
        usage.count(
            issued.key.pk, "getSlot", "ok", seconds=now.timestamp(), microseconds=1, address=""
        )
    usage.flush()
    with django_capture_on_commit_callbacks(execute=True):
        roll_up_usage()
    assert spent(issued.secret, now)


def test_no_refusal_and_no_failure_of_ours_counts() -> None:
    for kind in errors():
        at_the_door = kind.__module__ in ("access.errors", "gateway.refusals")
        if kind.code == -32603 and kind.reason != "subscription_limit_reached":
            assert kind_of("getSlot", kind.reason) is Kind.FAILED, kind
        elif http_status(kind) in (401, 403, 429) or at_the_door:
            assert kind_of("getSlot", kind.reason) in (Kind.REFUSED, Kind.FAILED), kind
        elif http_status(kind) >= 500 or "unavailable" in kind.reason:
            assert kind_of("getSlot", kind.reason) is Kind.FAILED, kind
    ends = {"interrupted", "message_timed_out", "missed_some", "notifications_above_limit"}
    ends |= {"service_stops", "stream_silent", "too_slow"}
    assert FREE - ends <= {kind.reason for kind in errors()}, "no such reason"
    assert not REFUSED & FAILED
    for method, status, kind in (
        ("getSlot", "ok", Kind.COUNTED),
        ("getSlot", "invalid_params", Kind.COUNTED),
        ("getSlot", "upstream_unreachable", Kind.FAILED),
        ("sendTransaction", "queue_unavailable", Kind.FAILED),
        ("fetchtipaddress", "unavailable", Kind.FAILED),
        ("fetchtipaddress", "quota_exceeded", Kind.REFUSED),
        ("getSlot", "rate_limited", Kind.REFUSED),
        ("slotNotification", "ok", Kind.PUSHED),
        ("geyserNotification", "ok", Kind.PUSHED),
    ):
        assert kind_of(method, status) is kind, (method, status)


@pytest.mark.django_db(transaction=True)
def test_a_limit_raised_while_it_is_reached_is_not_lost(issue: Any) -> None:
    """Whichever comes last, the key goes by the limit that it has in the end."""
    issued = issue(calls_per_month=5)
    add(issued.key, 5)

    def run(number: int) -> None:
        try:
            if number % 2:
                monthly_quotas.enforce(NOW)
            else:
                keys.key_cache.forget()
                ApiKey.objects.filter(pk=issued.key.pk).update(calls_per_month=5 + number % 4)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        for _ in range(4):
            list(pool.map(run, range(12)))
    for limit, expected in ((6, False), (5, True), (9, False)):
        ApiKey.objects.filter(pk=issued.key.pk).update(calls_per_month=limit)
        monthly_quotas.enforce(NOW)
        keys.key_cache.forget()
        assert spent(issued.secret) is expected
