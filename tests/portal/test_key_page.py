"""A key's page begins with its use: the chart, the quota, the refused calls, a rotation's end."""

import html
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access import refused_calls, usage
from access.admin import key_panel
from access.models import ApiKey, UsageMinute
from access.months import month_of
from access.services import keys, quota_forecast
from access.services.usage import roll_up_usage
from access.usage_sums import add_usage
from portal.services import key_actions
from staff.models import AuditEntry
from tests.portal.conftest import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(owner: Any, browser: Browser) -> Client:
    return browser(owner)


def words_of(answer: Any) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode())))


def text_of(client: Client, name: str, *parts: Any) -> str:
    answer = client.get(reverse(f"portal:{name}", args=parts))
    assert answer.status_code == 200
    return words_of(answer)


def count(key: ApiKey, calls: int, *, at: datetime, status: str = "ok") -> None:
    add_usage([(key.pk, "getSlot", status, at.replace(second=0, microsecond=0), calls, 900)])


def test_the_page_begins_with_the_usage_of_the_key(client: Client, ada: Any, key: ApiKey) -> None:
    other = keys.issue_key(ada, tier=key.tier, name="other").key
    now = timezone.now()
    count(key, 321, at=now)
    count(other, 55_555, at=now)
    page = client.get(reverse("portal:key", args=[key.pk])).content.decode()
    assert page.index("<h2>Usage</h2>") < page.index("Last errors") < page.index("Settings")
    (found,) = re.findall(r"<script[^>]*application/json[^>]*>(.*?)</script>", page)
    counted, _refused, _failed = json.loads(found)["series"]
    assert sum(counted["values"]) == 321
    assert "55,555" not in page


def test_the_last_refused_calls_are_shown_with_reasons(
    client: Client, key: ApiKey, ada: Any, settings: Any
) -> None:
    new = keys.issue_key(ada, tier=key.tier, name="narrow", scopes=["historical"])
    body = {"jsonrpc": "2.0", "id": 1, "method": "getTips", "params": []}
    headers = {"Authorization": new.secret, "X-Request-Id": "seen-by-me-7"}
    answer = Client().post(
        "/priority", json.dumps(body), content_type="application/json", headers=headers
    )
    assert answer.status_code == 403
    usage.flush()
    text = text_of(client, "key", new.key.pk)
    for shown in (
        "/priority",
        "403 · -32003",
        "scope_missing",
        "does not have the scope `priority`",
        "seen-by-me-7",
        "127.0.0.0/24",
        "Use a key with the scope that data.required names",
    ):
        assert shown in text, shown
    assert "No error in the last 7 days" in text_of(client, "key", key.pk)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert refused_calls.last(key.pk) is None


def test_a_quota_is_a_bar_that_says_where_the_pace_leads(client: Client, key: ApiKey) -> None:
    assert "No counted call" in text_of(client, "key", key.pk)
    ApiKey.objects.filter(pk=key.pk).update(calls_per_month=1_000)
    count(key, 400, at=timezone.now())
    count(key, 900, at=timezone.now(), status="rate_limited")
    page = client.get(reverse("portal:key", args=[key.pk])).content.decode()
    assert 'class="tm-used-' in page and 'width="40.00%"' in page
    assert "400</strong> of 1,000 calls" in page and "40 %" in page
    count(key, 600, at=timezone.now())
    assert "The limit is reached: calls are answered 429" in text_of(client, "key", key.pk)


def test_what_is_left_counts_calls_that_reached_their_method(
    client: Client, ada: Any, key: ApiKey, empty_redis: None
) -> None:
    new = keys.issue_key(ada, tier=key.tier, name="narrow", scopes=["historical"])
    ApiKey.objects.filter(pk=new.key.pk).update(calls_per_month=1_000)
    for path, method, params, status in (
        ("/historical", "getBlock", ["no slot"], 200),
        ("/priority", "getTips", [], 403),
    ):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"Authorization": new.secret}
        answer = Client().post(
            path, json.dumps(body), content_type="application/json", headers=headers
        )
        assert answer.status_code == status
    usage.flush()
    roll_up_usage(now=timezone.now() + timedelta(minutes=3))
    outcomes = UsageMinute.objects.filter(key=new.key).values_list("status", flat=True)
    assert set(outcomes) == {"invalid_params", "scope_missing"}
    resets = f"at {month_of(timezone.now())[1]:%Y-%m-%d} 00:00 UTC"
    usage_path = f"{reverse('portal:usage')}?key={new.key.pk}"
    limits_path = reverse("portal:key_limits", args=[new.key.pk])
    for path in (reverse("portal:key", args=[new.key.pk]), usage_path, limits_path):
        page = client.get(path)
        said = words_of(page)
        assert "999 calls left until the quota resets" in said and resets in said, path
        assert "A call counts if its method answers it" in said
        assert f'href="{usage_path}' in page.content.decode() or path == usage_path
        assert f'href="{limits_path}' in page.content.decode() or path == limits_path
    listed = text_of(client, "limits")
    assert "1 of 1,000 (0.1 %) 999 Usage of this month" in listed and resets in listed


@pytest.mark.parametrize(
    ("limit", "reaches"), [(300_000, None), (30_000, datetime(2026, 11, 27).date())]
)
def test_the_forecast_is_the_pace_of_the_last_days(key: ApiKey, limit: int, reaches: Any) -> None:
    """1,000 calls a day for seven days, at noon of the 20th: ten and a half days are left."""
    now = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
    ApiKey.objects.filter(pk=key.pk).update(
        calls_per_month=limit, created_at=now - timedelta(days=30)
    )
    count(key, 16_000, at=now - timedelta(days=12))
    for days in range(7):
        count(key, 1_000 if days else 500, at=now - timedelta(days=days))
    found = quota_forecast.forecast(key.pk, now)
    assert found is not None
    assert found.used == 22_500 and found.resets_at == month_of(now)[1]
    assert found.per_day == pytest.approx(1_000)
    assert found.projected == 33_000
    assert (found.reaches_at and found.reaches_at.date()) == (
        None if reaches is None else (now + timedelta(days=7.5)).date()
    )
    assert quota_forecast.forecast(0, now) is None


def test_a_successors_month_and_pace_are_those_of_the_key_before(
    client: Client, key: ApiKey
) -> None:
    now = timezone.now()
    ApiKey.objects.filter(pk=key.pk).update(calls_per_month=10_000)
    count(key, 700, at=now)
    new = keys.rotate_key(key.pk, overlap=timedelta(hours=1), now=now).key
    found = quota_forecast.forecast(new.pk, now)
    assert found is not None and found.used == 700 and found.is_too_early
    ApiKey.objects.filter(pk=key.pk).update(created_at=now - timedelta(hours=7))
    found = quota_forecast.forecast(new.pk, now)
    assert found is not None and found.per_day == pytest.approx(2_400)
    page = text_of(client, "key", new.pk)
    assert "At the pace since the first key of this rotation was issued 7 h ago (about" in page


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (
            timedelta(minutes=12),
            "It is too early for a forecast of this month: the key was issued 12 min ago.",
        ),
        (timedelta(hours=2), "At the pace since the key was issued 2 h ago (about 12,000 a day)"),
    ],
)
def test_the_pace_of_a_new_key_is_that_since_it_was_issued(
    client: Client, key: ApiKey, age: timedelta, words: str
) -> None:
    now = timezone.now()
    ApiKey.objects.filter(pk=key.pk).update(created_at=now - age)
    count(key, 1_000, at=now)
    assert words in text_of(client, "key", key.pk)


def test_the_pace_of_a_key_that_rested_is_that_since_its_first_day(key: ApiKey) -> None:
    now = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
    ApiKey.objects.filter(pk=key.pk).update(created_at=now - timedelta(days=90))
    count(key, 300, at=now - timedelta(days=1))
    key.refresh_from_db()
    bar = key_panel.quota_bar(key, now)
    assert bar is not None
    assert bar.sentence.startswith("At the pace since 2026-11-19 (about 200 a day)")
    bar = key_panel.quota_bar(key, now - timedelta(hours=35.5))
    assert bar is not None and bar.sentence.endswith(
        "forecast of this month: the day has just begun."
    )


def test_the_list_has_calls_by_day_with_their_sum_and_the_expiry(
    client: Client, key: ApiKey
) -> None:
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() + timedelta(days=3, hours=1))
    now = timezone.now()
    count(key, 1_200, at=now)
    count(key, 34, at=now - timedelta(days=3), status="rate_limited")
    count(key, 9_999, at=now - timedelta(days=15))
    page = client.get(reverse("portal:keys")).content.decode()
    label = (
        f"1,200 counted calls in 14 days, most on {now:%Y-%m-%d}: 1,200, last: 1,200; 34 refused"
    )
    assert label in page
    assert page.count('class="tm-errors"') == 1 and page.count('class="tm-ok"') == 1
    assert "in 3 d" in page


def press(client: Client, name: str, key: ApiKey, **posted: Any) -> str:
    answer = client.post(reverse(f"portal:key_{name}", args=[key.pk]), posted, follow=True)
    assert answer.status_code == 200
    key.refresh_from_db()
    return words_of(answer)


@pytest.fixture
def rotated(client: Client, key: ApiKey) -> ApiKey:
    """The old key, two hours before it ends."""
    press(client, "rotate", key, overlap_hours="2")
    return key


def test_both_pages_of_a_rotation_say_how_long_the_old_key_works(
    client: Client, rotated: ApiKey
) -> None:
    assert rotated.expires_at is not None
    new = ApiKey.objects.get(rotated_from=rotated)
    for pk, words in (
        (rotated.pk, "This key was rotated and ends"),
        (new.pk, "still works and ends"),
    ):
        page = client.get(reverse("portal:key", args=[pk])).content.decode()
        assert words in page
        assert f'tm-countdown"><time datetime="{rotated.expires_at.isoformat()}"' in page
        assert reverse("portal:key_end_overlap", args=[rotated.pk]) in page


def test_an_overlap_is_ended_now(client: Client, rotated: ApiKey) -> None:
    assert "is ended; this applies within two seconds" in press(client, "end_overlap", rotated)
    assert rotated.expires_at is not None and rotated.expires_at <= timezone.now()
    assert "has ended already" in press(client, "end_overlap", rotated)
    new = ApiKey.objects.get(rotated_from=rotated)
    assert "still works and ends" not in text_of(client, "key", new.pk)
    assert "it has no overlap" in press(client, "end_overlap", new)
    entry = AuditEntry.objects.filter(verb="ended").first()
    assert entry is not None and entry.subject_id == str(rotated.pk)


def test_an_overlap_is_extended_as_far_as_the_rights_go(client: Client, rotated: ApiKey) -> None:
    before = rotated.expires_at
    assert before is not None
    assert "works until" in press(client, "extend_overlap", rotated, more_hours="24")
    assert rotated.expires_at == before + timedelta(hours=24)
    assert "It can be valid until" in press(client, "extend_overlap", rotated, more_hours="719")
    assert rotated.expires_at == before + timedelta(hours=24)
    for wrong in ("0", "721", "x", ""):
        assert "Hours more:" in press(client, "extend_overlap", rotated, more_hours=wrong)
    # What staff sets then is the end: nobody puts it off.
    ApiKey.objects.filter(pk=rotated.pk).update(expires_at=before)
    assert "It can be valid until" in press(client, "extend_overlap", rotated, more_hours="1")
    press(client, "revoke", rotated)
    assert "does not work any more" in press(client, "end_overlap", rotated)
    assert rotated.expires_at == before


def test_what_staff_rotated_only_staff_extends(client: Client, key: ApiKey) -> None:
    keys.rotate_key(key.pk, overlap=timedelta(hours=5), now=timezone.now())
    assert "It can be valid until" in press(client, "extend_overlap", key, more_hours="1")
    assert "is ended" in press(client, "end_overlap", key)


def test_a_key_given_for_a_time_ends_with_it_in_an_overlap_too(
    client: Client, ada: Any, key: ApiKey
) -> None:
    now = timezone.now()
    ApiKey.objects.filter(pk=key.pk).update(expires_at=now + timedelta(hours=30))
    key_actions.rotate(ada.pk, key.pk, overlap=timedelta(hours=1), now=now)
    assert "works until" in press(client, "extend_overlap", key, more_hours="20")
    assert "It can be valid until" in press(client, "extend_overlap", key, more_hours="20")


def test_a_reader_sees_the_clock_and_no_button(
    reader: Any, browser: Browser, rotated: ApiKey
) -> None:
    page = browser(reader).get(reverse("portal:key", args=[rotated.pk])).content.decode()
    assert "tm-countdown" in page and "end-overlap" not in page


Issue = Callable[..., Any]


def test_the_admins_page_begins_with_the_usage_and_has_the_clock(
    admin_client: Client, key: ApiKey
) -> None:
    now = timezone.now()
    count(key, 77, at=now)
    keys.rotate_key(key.pk, overlap=timedelta(hours=2), now=now)
    refused_calls.note(
        key.pk,
        seconds=now.timestamp(),
        method="getBlock",
        path="/historical",
        status=200,
        code=-32602,
        reason="invalid_params",
        message="Invalid params: expected a slot",
        request_id="r-9",
        address="203.0.113.9",
    )
    usage.flush()
    refused_calls.flush()
    page = admin_client.get(f"/admin/access/apikey/{key.pk}/change/").content.decode()
    assert page.index("Usage of this key") < page.index("This month") < page.index("id_name")
    for shown in ("200 · -32602", "203.0.113.0/24", "Invalid params: expected a slot", "r-9"):
        assert shown in page
    assert "End now" in page and "tm-countdown" in page
    listed = admin_client.get("/admin/access/apikey/").content.decode()
    assert "77 counted calls in 14 days" in listed and "in 1 h" in listed


def test_staff_ends_and_extends_an_overlap(admin_client: Client, key: ApiKey) -> None:
    keys.rotate_key(key.pk, overlap=timedelta(hours=2), now=timezone.now())
    key.refresh_from_db()
    before = key.expires_at
    assert before is not None
    extend = f"/admin/access/apikey/orders/extend_overlap/?ids={key.pk}"
    assert "Hours more" in admin_client.get(extend).content.decode()
    admin_client.post(extend, {"ids": key.pk, "more_hours": "48"})
    key.refresh_from_db()
    assert key.expires_at == before + timedelta(hours=48)
    end = f"/admin/access/apikey/orders/end_overlap/?ids={key.pk}"
    admin_client.post(end, {"ids": key.pk})
    key.refresh_from_db()
    assert key.expires_at <= timezone.now()
    verbs = [entry.verb for entry in AuditEntry.objects.all()[:2]]
    assert verbs == ["ended the overlap of", "extended the overlap of"]
    assert "it has ended already" in admin_client.get(end).content.decode()


def test_who_may_not_issue_keys_may_not_extend_an_overlap(
    client: Client, django_user_model: Any, key: ApiKey
) -> None:
    from django.contrib.auth.models import Permission

    keys.rotate_key(key.pk, overlap=timedelta(hours=2), now=timezone.now())
    helper = django_user_model.objects.create_user("helper", password="x", is_staff=True)
    codes = ("view_apikey", "change_apikey")
    helper.user_permissions.set(Permission.objects.filter(codename__in=codes))
    staff = Client()
    staff.force_login(helper)
    extend, end = (
        f"/admin/access/apikey/orders/{name}/?ids={key.pk}"
        for name in ("extend_overlap", "end_overlap")
    )
    assert staff.post(extend, {"ids": key.pk, "more_hours": "1"}).status_code == 403
    assert staff.post(end, {"ids": key.pk}).status_code == 302
    key.refresh_from_db()
    assert key.expires_at is not None and key.expires_at <= timezone.now()
