"""Events about keys: published once each, with the key's name, never with a secret."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.serializers.json import DjangoJSONEncoder

from access.models import ApiKey, KeyDay
from access.services import keys
from alerts.kinds import COMMON_FIELDS, KINDS
from alerts.models import Event
from alerts.services.key_notices import publish_notices

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def key(issue: Callable[..., Any]) -> Callable[..., Any]:
    """`key(days=9)`: a key of 2026-01-01 that ends so many days after NOW."""

    def make(**ends_in: float) -> Any:
        issued = issue(expires_at=NOW + timedelta(**ends_in) if ends_in else None)
        made = datetime(2026, 1, 1, tzinfo=UTC)
        ApiKey.objects.filter(pk=issued.key.pk).update(created_at=made)
        return issued

    return make


def _published() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("kind", flat=True))


def _is_as_documented(event: Event, secret: str) -> None:
    assert set(event.data) == set(KINDS[event.kind].fields)
    assert not set(event.data) & set(COMMON_FIELDS)
    shown = json.dumps([event.data, event.text, event.about], cls=DjangoJSONEncoder)
    assert secret not in shown
    assert secret[8:-4] not in shown


def test_an_expiry_is_announced_seven_days_and_one_day_before_and_when_it_comes(key: Any) -> None:
    issued = key(days=7, hours=1)
    assert publish_notices(now=NOW) == 0
    assert publish_notices(now=NOW + timedelta(hours=2)) == 1
    assert publish_notices(now=NOW + timedelta(days=2)) == 0
    assert publish_notices(now=NOW + timedelta(days=6, hours=1)) == 1
    assert publish_notices(now=NOW + timedelta(days=7)) == 0
    assert publish_notices(now=NOW + timedelta(days=7, hours=1)) == 1
    assert publish_notices(now=NOW + timedelta(days=7, hours=2)) == 0
    assert _published() == ["key.expiring", "key.expiring", "key.expired"]
    first, second, _third = Event.objects.order_by("pk")
    assert (first.data["daysLeft"], second.data["daysLeft"]) == (7, 1)
    assert first.data["expiresAt"] == "2026-11-28T13:00:00Z"
    assert first.customer == issued.key.customer
    assert f"{issued.key.name} ({issued.key.shown_prefix}…{issued.key.last_four})" in first.about
    for event in Event.objects.all():
        _is_as_documented(event, issued.secret)


def test_a_new_expiry_is_announced_again(key: Any) -> None:
    issued = key(hours=12)
    assert publish_notices(now=NOW) == 1
    ApiKey.objects.filter(pk=issued.key.pk).update(expires_at=NOW + timedelta(hours=20))
    assert publish_notices(now=NOW) == 1


def test_no_notice_of_an_expiry_just_chosen_or_long_past(
    key: Any, issue: Callable[..., Any]
) -> None:
    short = issue(expires_at=NOW + timedelta(hours=3))
    ApiKey.objects.filter(pk=short.key.pk).update(created_at=NOW - timedelta(hours=1))
    key(days=-3)
    revoked = key(hours=3)
    keys.revoke_key(revoked.key.pk, now=NOW)
    rotated = key()
    successor = keys.rotate_key(rotated.key.pk, overlap=timedelta(hours=24), now=NOW).key
    ApiKey.objects.filter(pk=successor.pk).update(created_at=NOW)
    Event.objects.all().delete()
    assert publish_notices(now=NOW + timedelta(minutes=1)) == 0


def test_a_key_rotated_long_ago_still_warns_a_day_before_it_ends(key: Any) -> None:
    old = key()
    new = keys.rotate_key(old.key.pk, overlap=timedelta(days=14), now=NOW).key
    ApiKey.objects.filter(pk=new.pk).update(created_at=NOW)
    Event.objects.all().delete()
    assert publish_notices(now=NOW + timedelta(days=13, hours=1)) == 1
    assert f"Its successor {new} works already" in Event.objects.get().text


def test_a_change_of_a_key_is_published_in_its_transaction(key: Any) -> None:
    issued = key()
    keys.suspend_key(issued.key.pk, now=NOW)
    keys.suspend_key(issued.key.pk, now=NOW)
    keys.resume_key(issued.key.pk, now=NOW)
    successor = keys.rotate_key(issued.key.pk, overlap=timedelta(hours=24), now=NOW)
    keys.revoke_key(issued.key.pk, now=NOW)
    assert _published() == ["key.suspended", "key.resumed", "key.rotated", "key.revoked"]
    rotated = Event.objects.get(kind="key.rotated")
    assert rotated.data["successorId"] == successor.key.pk
    assert rotated.data["expiresAt"] == "2026-11-22T12:00:00Z"
    for event in Event.objects.all():
        assert event.at == NOW
        _is_as_documented(event, issued.secret)
        _is_as_documented(event, successor.secret)


def _used(key: ApiKey, calls: int) -> None:
    sums = {"calls": calls + 50, "ok": calls, "counted": calls}
    KeyDay.objects.update_or_create(key=key, day=NOW.date(), defaults=sums)


def test_monthly_calls_are_announced_at_80_and_100_percent(key: Any) -> None:
    issued = key()
    ApiKey.objects.filter(pk=issued.key.pk).update(calls_per_month=1_000)
    _used(issued.key, 799)
    assert publish_notices(now=NOW) == 0
    _used(issued.key, 800)
    assert publish_notices(now=NOW) == 1
    assert publish_notices(now=NOW) == 0
    _used(issued.key, 1_000)
    assert publish_notices(now=NOW) == 1
    _used(issued.key, 1_001)
    assert publish_notices(now=NOW) == 0
    assert _published() == ["quota.warning", "quota.reached"]
    warning, reached = Event.objects.order_by("pk")
    assert warning.data["used"] == 800
    assert reached.data["limit"] == 1_000
    assert reached.data["resetsAt"] == "2026-12-01T00:00:00Z"
    assert "1,000 of 1,000 calls of this month" in reached.text
    for event in (warning, reached):
        _is_as_documented(event, issued.secret)
    # A limit that is raised is a new one.
    ApiKey.objects.filter(pk=issued.key.pk).update(calls_per_month=1_200)
    assert publish_notices(now=NOW) == 1
    assert _published()[-1] == "quota.warning"


def test_many_keys_cost_no_query_each(key: Any, django_assert_max_num_queries: Any) -> None:
    for _ in range(30):
        key(days=3)
    assert publish_notices(now=NOW) == 30
    with django_assert_max_num_queries(6):
        assert publish_notices(now=NOW) == 0
