"""A change of a tier says whom it hits before it is saved."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access import store
from access.models import Tier
from access.services import keys
from access.usage_sums import add_usage
from tests.access.test_admin_tiers import TIERS, list_form

pytestmark = pytest.mark.django_db


@pytest.fixture
def busy(tier: Callable[..., Any]) -> Any:
    """A key of Northern Lights with 900 calls in one minute, and a quiet one of Ada, both of the
    tier `ultra` with 100 calls per second.
    """
    limits = {"requests_per_second": 100, "requests_burst": 200}
    ultra = tier("ultra", 20, **limits)
    busy = keys.issue_key(store.customer_by_name("Northern Lights"), tier=ultra, name="bot").key
    quiet = keys.issue_key(store.customer_by_name("Ada"), tier=ultra, name="wallet").key
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(hours=2)
    rows = [(busy.pk, "getSlot", "ok", minute, 900, 9), (quiet.pk, "getSlot", "ok", minute, 30, 9)]
    rows += [(busy.pk, "getSlot", "rate_limited", minute, 5_000, 9)]
    rows += [(busy.pk, "getSlot", "ok", minute - timedelta(days=2), 7_777, 9)]
    add_usage(rows)
    return busy


def form_of(tier: Tier, **changes: Any) -> dict[str, Any]:
    names = [each.name for each in Tier._meta.fields if each.editable and not each.primary_key]
    kept = {name: getattr(tier, name) for name in names}
    return {name: "" if value is None else value for name, value in {**kept, **changes}.items()}


def save(client: Any, tier: Tier, **changes: Any) -> Any:
    return client.post(f"{TIERS}{tier.pk}/change/", form_of(tier, **changes))


def words_of(answer: Any) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode())))


def test_it_names_customers_keys_and_calls_and_saves_after_that(
    admin_client: Any, busy: Any
) -> None:
    """900 in a minute, where 5 per second and 100 at once allow 400."""
    tier = busy.tier
    asked = save(admin_client, tier, requests_per_second=5, requests_burst=100)
    assert asked.status_code == 200
    text = words_of(asked)
    assert "Nothing is saved yet" in text
    assert "calls per second: 100, 200 at once → 5, 100 at once" in text
    assert "1 customer, 1 key : at least 500 calls of the last 24 hours" in text
    assert "Northern Lights" in text and str(busy) in text
    assert "Ada" not in text and "500 calls above 5 per second" in text
    tier.refresh_from_db()
    assert tier.requests_per_second == 100

    posted = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked.content.decode()))
    saved = admin_client.post(f"{TIERS}{tier.pk}/change/", {**posted, "_hits_seen": "1"})
    assert saved.status_code == 302
    tier.refresh_from_db()
    assert (tier.requests_per_second, tier.requests_burst) == (5, 100)


def test_an_hour_above_the_rate_is_found_where_no_minute_is(admin_client: Any, busy: Any) -> None:
    """60 minutes of 100 calls: 6,000 in an hour, where 1 per second and 200 at once allow 3,800."""
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=5)
    rows = [(busy.pk, "getSlot", "ok", hour + timedelta(minutes=n), 100, 9) for n in range(60)]
    add_usage(rows)
    text = words_of(save(admin_client, busy.tier, requests_per_second=1, requests_burst=200))
    assert "at least 2840 calls" in text, "640 of the minute of 900, 2,200 of the hour"


def test_what_hits_none_is_saved_at_once_and_can_be_looked_at_before(
    admin_client: Any, busy: Any
) -> None:
    tier = busy.tier
    shown = save(admin_client, tier, requests_per_second=50, stream_connections=1, _preview="1")
    text = words_of(shown)
    assert "No call of the last 24 hours would have exceeded these limits" in text
    assert f"WebSockets at once: {tier.stream_connections} → 1" in text
    tier.refresh_from_db()
    assert tier.requests_per_second == 100
    assert save(admin_client, tier, requests_per_second=50).status_code == 302
    assert save(admin_client, tier, requests_per_second="").status_code == 302
    tier.refresh_from_db()
    assert tier.requests_per_second is None


def test_every_limit_that_usage_knows_is_looked_at(admin_client: Any, busy: Any) -> None:
    now = timezone.now().replace(second=0, microsecond=0)
    rows = [
        (busy.pk, "sendBundle", "ok", now - timedelta(minutes=9), 300, 9),
        (busy.pk, "fetchtipaddress", "ok", now - timedelta(minutes=9), 90, 9),
        (busy.pk, "slotNotification", "ok", now - timedelta(minutes=9), 4_000, 0, 5_000_000),
    ]
    add_usage(rows)
    for change, said in (
        ({"bundles_per_second": 1, "bundles_burst": 5}, "235 bundles above 1 per second"),
        ({"tip_fetches_per_second": 1, "tip_fetches_burst": 5}, "25 tip-address fetches above 1"),
        ({"tip_fetches_daily_cap": 50}, "40 tip-address fetches above the day's cap"),
        ({"stream_bytes_per_month": 1_000_000}, "5,000,000 bytes of this month's are used"),
        ({"rank": 15}, "no longer opens hosts above rank 15"),
    ):
        text = words_of(save(admin_client, busy.tier, **change))
        assert said in text and "slotNotification" not in text, change
    shut = words_of(save(admin_client, busy.tier, calls_per_month=1_000))
    assert "shut until the month ends" in shut
    keys_limit = save(admin_client, busy.tier, requests_per_second=99, calls_per_month=10**9)
    assert keys_limit.status_code == 302


def test_the_list_of_tiers_asks_too(admin_client: Any, busy: Any) -> None:
    names = [tier.name for tier in Tier.objects.order_by("rank")]
    place = names.index("ultra")
    changed = {f"form-{place}-requests_per_second": "5", f"form-{place}-requests_burst": "100"}
    asked = admin_client.post(TIERS, {**list_form(), **changed})
    assert asked.status_code == 200 and "Northern Lights" in words_of(asked)
    busy.tier.refresh_from_db()
    assert busy.tier.requests_per_second == 100
    found = re.findall(r'type="hidden" name="([\w-]+)" value="([^"]*)"', asked.content.decode())
    assert admin_client.post(TIERS, {**dict(found), "_hits_seen": "1"}).status_code == 302
    busy.tier.refresh_from_db()
    assert busy.tier.requests_per_second == 5


def test_callers_without_a_key_are_one(admin_client: Any) -> None:
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=9)
    add_usage([(None, "fetchtipaddress", "ok", minute, 500, 9)])
    tier = Tier.objects.get(name="anonymous")
    changes = {"tip_fetches_per_second": 0.5, "tip_fetches_burst": 1, "requests_burst": 1}
    text = words_of(save(admin_client, tier, **changes))
    assert "callers without a key" in text and "469 tip-address fetches above 0.5" in text
    assert "which are counted by address" in text


def test_who_may_not_change_tiers_sees_no_customers(
    client: Any, django_user_model: Any, busy: Any
) -> None:
    from django.contrib.auth.models import Permission

    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_tier"))
    client.force_login(viewer)
    answer = save(client, busy.tier, requests_per_second=1, requests_burst=1, _preview="1")
    assert answer.status_code == 403 and "Northern Lights" not in words_of(answer)
