"""The admin's pages on tiers, customers and usage, as a browser's requests."""

import html
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

TIERS = "/admin/access/tier/"
LIMITS = (
    "rank",
    "requests_per_second",
    "requests_burst",
    "bundles_per_second",
    "bundles_burst",
    "tip_fetches_per_second",
    "tip_fetches_burst",
    "tip_fetches_daily_cap",
    "landing_weight",
)


def list_form(**changes: Any) -> dict[str, Any]:
    """What a browser sends that saves the list; `changes` are of the first tier."""
    from access.models import Tier

    tiers = list(Tier.objects.all())
    sent: dict[str, Any] = {
        "form-TOTAL_FORMS": len(tiers),
        "form-INITIAL_FORMS": len(tiers),
        "_save": "Save",
    }
    for number, tier in enumerate(tiers):
        sent[f"form-{number}-id"] = tier.pk
        for name in LIMITS:
            value = getattr(tier, name)
            sent[f"form-{number}-{name}"] = "" if value is None else value
    return {**sent, **{f"form-0-{name}": value for name, value in changes.items()}}


def test_limits_are_edited_in_the_list_and_hold_at_the_public_door(
    admin_client: Any, client: Any, django_capture_on_commit_callbacks: Any
) -> None:
    """The first tier is that of callers without a key."""

    def status() -> int:
        body = b'{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
        answer = client.post("/historical", body, content_type="application/json")
        return int(answer.status_code)

    assert status() == 200
    form = list_form(requests_per_second="0.01", requests_burst="1")
    with django_capture_on_commit_callbacks(execute=True):
        response = admin_client.post(TIERS, form)
    assert response.status_code == 302, response.context["cl"].formset.errors
    assert [status(), status()] == [200, 429]


def test_an_empty_limit_is_unlimited(admin_client: Any, db: None) -> None:
    from access.models import Tier

    admin_client.post(TIERS, list_form(requests_per_second="", tip_fetches_daily_cap=""))
    first = Tier.objects.all()[0]
    assert (first.requests_per_second, first.tip_fetches_daily_cap) == (None, None)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("requests_per_second", "0", "Above 0"),
        ("bundles_per_second", "-3", "Above 0"),
        ("tip_fetches_per_second", "1000001", "up to 1,000,000"),
        ("requests_per_second", "nan", "Enter a number"),
        ("requests_burst", "0", "greater than or equal to 1"),
        ("requests_burst", "", "required"),
        ("tip_fetches_daily_cap", "-1", "greater than or equal to 0"),
        ("rank", "-1", "greater than or equal to 0"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_with_the_reason(
    admin_client: Any, db: None, name: str, value: str, said: str
) -> None:
    from access.models import Tier

    before = list(Tier.objects.values())
    response = admin_client.post(TIERS, list_form(**{name: value}))
    assert response.status_code == 200
    assert said in response.content.decode()
    tier = Tier.objects.all()[0]
    page = admin_client.post(
        f"{TIERS}{tier.pk}/change/",
        {"name": tier.name, **{n: getattr(tier, n) or "" for n in LIMITS}, name: value},
    )
    assert page.status_code == 200
    assert said in page.content.decode()
    assert list(Tier.objects.values()) == before


def test_the_order_of_the_named_tiers_holds_in_the_list_and_on_a_tiers_page(
    admin_client: Any, db: None
) -> None:
    from access.models import Tier

    before = list(Tier.objects.values())
    names = [tier.name for tier in Tier.objects.all()]
    ultra = names.index("ultra")

    def refused(path: str, sent: dict[str, Any]) -> str:
        page = admin_client.post(path, sent)
        assert page.status_code == 200
        assert list(Tier.objects.values()) == before
        return str(page.content.decode())

    tier = Tier.objects.get(name="ultra")
    limits = {n: getattr(tier, n) or "" for n in LIMITS}
    for rank, said in ((35, "ultra has 35, elite has 30"), (10, "Rank 10 is also that of basic")):
        sent = html.unescape(refused(TIERS, {**list_form(), f"form-{ultra}-rank": rank}))
        assert said in sent
    change = f"{TIERS}{tier.pk}/change/"
    told = html.unescape(refused(change, {"name": "ultra", **limits, "rank": 5}))
    assert "basic < ultra < elite < epic must hold: basic has 10, ultra has 5" in told
    told = html.unescape(refused(f"{TIERS}add/", {**limits, "name": "more", "rank": 40}))
    assert "Rank 40 is also that of epic" in told


def test_two_tiers_change_places_in_one_saving_of_the_list(admin_client: Any, db: None) -> None:
    from access.models import Tier

    Tier.objects.create(name="trial", rank=7)
    names = [tier.name for tier in Tier.objects.all()]
    anonymous, trial = names.index("anonymous"), names.index("trial")
    ranks = {f"form-{anonymous}-rank": 7, f"form-{trial}-rank": 0}
    assert admin_client.post(TIERS, {**list_form(), **ranks}).status_code == 302
    assert Tier.objects.get(name="trial").rank == 0


def test_the_hint_says_that_a_burst_is_never_empty(admin_client: Any, db: None) -> None:
    text = admin_client.get(TIERS).content.decode()
    assert "rate or cap (∞) is no limit; a burst is always a number" in text


def test_a_tier_in_use_and_that_of_keyless_callers_cannot_be_deleted(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    from access.models import Tier

    used = issue().key.tier
    for tier, reason in ((used, "1 key is of the tier"), (Tier.objects.all()[0], "without a key")):
        for ask in (admin_client.get, admin_client.post):
            page = ask(f"{TIERS}{tier.pk}/delete/", {"post": "yes"}, follow=True)
            assert reason in page.content.decode()
        assert Tier.objects.filter(pk=tier.pk).exists()
    free = Tier.objects.get(name="epic")
    admin_client.post(f"{TIERS}{free.pk}/delete/", {"post": "yes"})
    assert not Tier.objects.filter(pk=free.pk).exists()


def test_the_tier_of_keyless_callers_keeps_its_name(admin_client: Any, db: None) -> None:
    from access.models import Tier

    tier = Tier.objects.get(name="anonymous")
    sent = {"name": "visitors", **{n: getattr(tier, n) or "" for n in LIMITS}}
    page = admin_client.post(f"{TIERS}{tier.pk}/change/", sent)
    assert "keep its name" in page.content.decode()
    tier.refresh_from_db()
    assert tier.name == "anonymous"


def test_who_may_only_look_at_tiers_gets_no_field(
    client: Any, django_user_model: Any, db: None
) -> None:
    from django.contrib.auth.models import Permission

    from access.models import Tier

    viewer = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_tier"))
    client.force_login(viewer)
    page = client.get(TIERS)
    assert page.status_code == 200
    assert b"form-0-rank" not in page.content
    client.post(TIERS, list_form(rank=77))
    assert not Tier.objects.filter(rank=77).exists()


def test_customers_show_their_keys_and_stay_while_they_have_some(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    from access.models import Customer

    key = issue().key
    path = f"/admin/access/customer/{key.customer_id}/"
    page = admin_client.get(f"{path}change/").content.decode()
    assert f"/admin/access/apikey/{key.pk}/change/" in page
    assert f"/admin/access/customer/{key.customer_id}/show_usage/" in page
    refused = admin_client.post(f"{path}delete/", {"post": "yes"}, follow=True)
    assert "revoke keys instead of deleting" in refused.content.decode()
    assert Customer.objects.filter(pk=key.customer_id).exists()

    admin_client.post("/admin/access/customer/add/", {"name": "Eve", "email": "", "notes": ""})
    eve = Customer.objects.get(name="Eve")
    admin_client.post(f"/admin/access/customer/{eve.pk}/delete/", {"post": "yes"})
    assert not Customer.objects.filter(name="Eve").exists()


def test_saving_a_customer_leaves_the_keys_as_they_are(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    key = issue().key
    sent = {
        "name": "Ada Lovelace",
        "email": "ada@example.com",
        "notes": "",
        "keys-TOTAL_FORMS": 1,
        "keys-INITIAL_FORMS": 1,
        "keys-0-id": key.pk,
        "keys-0-customer": key.customer_id,
        "keys-0-name": "stolen",
    }
    admin_client.post(f"/admin/access/customer/{key.customer_id}/change/", sent)
    key.refresh_from_db()
    assert (key.customer.name, key.name) == ("Ada Lovelace", "test")


def count(key: Any, status: str, calls: int, *, ago: timedelta, method: str = "getSlot") -> None:
    from django.utils import timezone

    from access.usage_sums import add_usage

    minute = (timezone.now() - ago).replace(second=0, microsecond=0)
    key_id = None if key is None else key.pk
    add_usage([(key_id, method, status, minute, calls, calls * 500)])


def test_usage_is_summed_for_all_for_a_customer_for_a_key_and_for_the_keyless(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    from access import store

    key = issue().key
    other = issue().key
    other.customer = store.customer_by_name("Bo")
    other.save()
    day = timedelta(days=1)
    count(key, "ok", 100, ago=timedelta(minutes=5))
    count(key, "rate_limited", 7, ago=timedelta(minutes=5))
    count(key, "ok", 1000, ago=3 * day)
    count(other, "ok", 20, ago=timedelta(minutes=5))
    count(None, "key_malformed", 3, ago=timedelta(minutes=5))

    def told(**asked: Any) -> tuple[int, int]:
        page = admin_client.get("/admin/access/usageminute/", asked)
        assert page.status_code == 200
        report = page.context["usage"]["report"]
        return report.counts.counted, report.counts.not_answered

    assert told() == (120, 10)
    assert told(span="7d") == (1120, 10)
    assert told(key=key.pk) == (100, 7)
    assert told(key=key.pk, span="90d") == (1100, 7)
    assert told(customer=other.customer_id) == (20, 0)
    assert told(who="keyless") == (0, 3)
    assert told(span="nonsense") == (120, 10)
    for nobody in ("x' OR 1=1", "999999999", "1" * 30):
        for name in ("key", "customer"):
            page = admin_client.get("/admin/access/usageminute/", {name: nobody})
            assert page.status_code == 404


def test_the_chart_begins_where_counting_did_and_its_table_has_its_figures(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    key = issue().key
    count(key, "ok", 999_999, ago=timedelta(hours=2))
    count(key, "internal_error", 1, ago=timedelta(hours=2))
    count(key, "ok", 1, ago=timedelta(hours=9))
    page = admin_client.get("/admin/access/usageminute/", {"compare": "previous"})
    chart = page.context["usage"]["chart"]
    assert len(chart.starts) == 10
    assert "Nothing was counted before" in chart.note
    counted, refused, failed = chart.series
    found = (sum(counted.values), sum(refused.values), sum(failed.values))
    assert found == (1_000_000, 0, 1)
    assert counted.before == [None] * 10, "what was not counted is not zero"
    text = page.content.decode()
    (row,) = [words for _, words in chart.rows if words[0] == "999,999"]
    assert row == ["999,999", "0", "1", "-", "-", "-"]
    assert '<td class="tm-number number">999,999</td>' in text
    assert '<script type="application/json">' in text
    count(key, "ok", 5, ago=timedelta(hours=33))
    page = admin_client.get("/admin/access/usageminute/", {"compare": "previous"})
    chart = page.context["usage"]["chart"]
    assert len(chart.starts) == 24 and chart.note == ""
    assert sum(value or 0 for value in chart.series[0].before) == 5


def test_a_range_from_and_to_is_shown_and_a_bad_one_is_explained(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    key, now = issue().key, timezone.now()
    count(key, "ok", 7, ago=timedelta(days=3))
    count(key, "ok", 9, ago=timedelta(days=1))
    here = "/admin/access/usageminute/"

    def shown(start: timedelta, end: timedelta) -> Any:
        query = {"from": f"{now - start:%Y-%m-%dT%H:%M}", "to": f"{now - end:%Y-%m-%dT%H:%M}"}
        page = admin_client.get(here, query)
        files = [link for _, _, link in page.context["usage"]["exports"]]
        assert all("from=" in link and "to=" in link for link in files)
        assert admin_client.get(files[0]).status_code == 200
        return page.context["usage"]["report"]

    assert shown(timedelta(days=3, hours=1), timedelta(days=2, hours=23)).span.each == "minute"
    report = shown(timedelta(days=3, hours=1), timedelta(days=2, hours=23))
    assert (report.counts.counted, report.span.is_of_days) == (7, False)
    # From the first call on it is three hours long, whatever minute begins meanwhile.
    assert shown(timedelta(days=3, hours=3), timedelta(days=2, hours=21)).span.each == "5 minutes"
    report = shown(timedelta(days=5), timedelta(days=0))
    assert (report.counts.counted, report.span.each) == (16, "6 hours")
    assert shown(timedelta(days=200), timedelta(days=0)).span.each == "day"
    for query, why in (
        ({"from": "2026-01-01"}, "needs both its start (from) and its end (to)"),
        ({"from": "soon", "to": "2026-01-01"}, "`from` is not a time"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "is not before its end"),
        ({"from": "2020-01-01", "to": "2026-01-01"}, "longer than 400 days"),
        ({"from": "8999-01-01", "to": "8999-01-02"}, "begins in the future"),
    ):
        page = admin_client.get(here, query)
        assert page.status_code == 200
        text = html.unescape(page.content.decode())
        assert why in text and "Shown instead: the default span" in text
        assert page.context["usage"]["report"].span.name == "24h"
        answer = admin_client.get(f"{here}csv/", query)
        assert (answer.status_code, why in answer.content.decode()) == (400, True)


def test_the_home_counts_every_call_and_names_our_own_failures_first(
    admin_client: Any, issue: Callable[..., Any]
) -> None:
    key = issue().key
    count(key, "ok", 1_000, ago=timedelta(minutes=5))
    count(key, "internal_error", 1, ago=timedelta(minutes=5))
    for number in range(30):
        count(key, f"refused_{number}", 10 + number, ago=timedelta(minutes=5))
    groups = admin_client.get("/admin/").context["groups"]
    (card,) = [card for group in groups for card in group.cards if card.kind.id == "calls"]
    total, *rows = card.shown.rows
    assert total[1] == f"{1_001 + sum(10 + number for number in range(30)):,}"
    assert ["internal_error" in rows[0][0], rows[0][1]] == [True, "1"]
    assert len(rows) == 8
    last, number = rows[-1]
    assert ">other<" in last
    assert "refused_0" in last
    assert number == str(sum(10 + number for number in range(25)))


def test_a_large_table_of_usage_is_summed_by_few_queries(
    admin_client: Any, issue: Callable[..., Any], django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        key = issue().key
        for method in ("getSlot", "getBlock"):
            count(key, "ok", number + 1, ago=timedelta(hours=number), method=method)
    with django_assert_max_num_queries(10):
        page = admin_client.get("/admin/access/usageminute/")
    assert [row[3][0] for row in page.context["busiest"]][:3] == ["24", "22", "20"]


def test_usage_rows_cannot_be_opened_or_written(admin_client: Any, issue: Any) -> None:
    from access.models import UsageMinute

    count(issue().key, "ok", 1, ago=timedelta(0))
    row = UsageMinute.objects.get()
    for path in ("add/", f"{row.pk}/change/", f"{row.pk}/delete/"):
        assert admin_client.post(f"/admin/access/usageminute/{path}").status_code == 403


def test_sign_in_is_limited_per_address(client: Any, db: None) -> None:
    # A window is a minute of the clock: one that ends meanwhile gives ten more.
    answers: list[Any] = []
    while len(answers) < 21 and (not answers or answers[-1].status_code == 200):
        answers.append(client.post("/admin/login/", {"username": "admin", "password": "guess"}))
    refused = answers[-1]
    assert refused.status_code == 429
    assert len(answers) >= 11
    assert int(refused.headers["Retry-After"]) > 0
    assert f"Try again in {refused.headers['Retry-After']} s" in refused.content.decode()
    assert "frame-ancestors 'none'" in refused.headers["Content-Security-Policy"]
