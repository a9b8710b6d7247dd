"""The page of usage narrowed, and its files."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.usage_sums import add_usage

PAGE = "/admin/access/usageminute/"

pytestmark = pytest.mark.django_db

_MINUTE = timedelta(minutes=1)


def add(
    key: Any, calls: int, *, method: str = "getSlot", status: str = "ok", ago: Any = None
) -> None:
    at = (timezone.now() - (5 * _MINUTE if ago is None else ago)).replace(second=0, microsecond=0)
    add_usage([(None if key is None else key.pk, method, status, at, calls, calls * 1_500)])


def read(client: Any, **asked: Any) -> list[list[str]]:
    response = client.get(f"{PAGE}csv/", asked)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/csv")
    text = b"".join(response.streaming_content).decode()
    assert text.endswith("\r\n")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_method_and_outcome_narrow_every_figure_of_the_page(admin_client: Any, issue: Any) -> None:
    key, other = issue().key, issue().key
    add(key, 10)
    add(key, 4, status="rate_limited")
    add(key, 3, method="getBlock")
    add(other, 2, method="getBlock")

    def told(**asked: Any) -> tuple[int, int, list[str]]:
        context = admin_client.get(PAGE, asked).context
        report = context["usage"]["report"]
        busiest = [str(key.pk) for key, *_rest in context["busiest"]]
        return report.counts.counted, report.counts.not_answered, busiest

    both = [str(key.pk), str(other.pk)]
    for span in ("1h", "24h", "7d", "month", "30d", "90d"):
        assert told(span=span) == (15, 4, both), span
        assert told(span=span, method="getBlock") == (5, 0, both), span
        assert told(span=span, status="rate_limited") == (0, 4, both[:1]), span
        assert told(span=span, method="getSlot", status="ok") == (10, 0, both[:1]), span
        assert told(span=span, key=key.pk, method="getBlock") == (3, 0, []), span
        assert told(span=span, customer=key.customer_id, method="getBlock") == (5, 0, both), span
    assert told(method="x' OR 1=1")[:2] == (0, 0)
    assert admin_client.get(PAGE, {"method": "\0"}).status_code == 400


def test_the_tables_links_narrow_and_the_chips_widen_again(admin_client: Any, issue: Any) -> None:
    add(issue().key, 10)
    usage = admin_client.get(PAGE, {"span": "7d"}).context["usage"]
    [(_method, method_link, _status, status_link, kind, calls, mean)] = usage["methods"]
    assert (kind, calls, mean) == ("counted", "10", "1.50")
    assert method_link == "?span=7d&method=getSlot"
    assert status_link == "?span=7d&status=ok"
    [(bar, _calls, link)] = usage["bars"]
    assert (bar.method, bar.counted_width, bar.refused_width, link) == (
        "getSlot",
        100,
        0,
        method_link,
    )
    [(name, value, wider)] = admin_client.get(PAGE + method_link).context["usage"]["narrowed"]
    assert (name, value, wider) == ("method", "getSlot", "?span=7d")


def test_a_span_of_days_says_what_the_single_days_add_up_to(admin_client: Any, issue: Any) -> None:
    key = issue().key
    for days in range(95):
        add(key, 1, ago=timedelta(days=days))
    today = timezone.now()
    for span, days in (("7d", 7), ("30d", 30), ("90d", 90), ("month", today.day)):
        for who in ({}, {"key": key.pk}, {"customer": key.customer_id}):
            page = admin_client.get(PAGE, {"span": span, **who})
            assert page.context["usage"]["report"].counts.counted == days, (span, who)
        [(_key, _link, _customer, counts)] = admin_client.get(PAGE, {"span": span}).context[
            "busiest"
        ]
        assert counts == [str(days), "0", "0", "0"], span
        rows = read(admin_client, span=span, of="rows")[1:]
        assert len(rows) == days
        if span != "7d":
            # The chart ends with today's bar, also that of a month.
            starts = admin_client.get(PAGE, {"span": span}).context["usage"]["chart"].starts
            assert starts[-1].date() == today.date() and len(starts) == days


def test_a_chart_of_young_data_begins_with_the_first_call(admin_client: Any, issue: Any) -> None:
    first = (timezone.now() - timedelta(minutes=3)).replace(second=0, microsecond=0)
    add_usage([(issue().key.pk, "getSlot", "ok", first, 5, 9)])
    chart = admin_client.get(PAGE, {"span": "1h"}).context["usage"]["chart"]
    assert chart.starts[0] == first and chart.series[0].values[0] == 5
    assert "Nothing was counted before" in chart.note
    for span in ("24h", "7d", "month", "30d", "90d"):
        usage = admin_client.get(PAGE, {"span": span}).context["usage"]
        chart = usage["chart"]
        assert chart.starts[:2] == [first, first + timedelta(minutes=1)] and len(chart.starts) < 9
        assert chart.series[0].values[0] == 5 and not any(chart.series[0].values[1:]), span
        assert "Nothing was counted before" in chart.note
        assert usage["report"].span.each == "minute" and usage["report"].counts.counted == 5
        compared = admin_client.get(PAGE, {"span": span, "compare": "previous"})
        compared = compared.context["usage"]["chart"]
        assert compared.starts[0] == first and set(compared.series[0].before) <= {None}


@pytest.mark.parametrize(
    ("age", "each"), [(110, "minute"), (300, "5 minutes"), (1_300, "hour"), (3 * 1_440, "6 hours")]
)
def test_steps_are_as_fine_as_the_data_is_young(
    admin_client: Any, issue: Any, age: int, each: str
) -> None:
    now, key = timezone.now(), issue().key.pk
    first = (now - timedelta(minutes=age)).replace(second=0, microsecond=0)
    rows = [(key, "getSlot", "ok", first, 5, 9), (key, "getSlot", "rate_limited", now, 2, 9)]
    add_usage(rows)
    usage = admin_client.get(PAGE, {"span": "7d"}).context["usage"]
    chart, report = usage["chart"], usage["report"]
    assert report.span.each == each and report.span.phrase == "the last 7 days"
    assert chart.starts[0] <= first < chart.starts[0] + chart.step
    bars = [(chart.starts[at], value) for at, value in enumerate(chart.series[0].values) if value]
    assert bars == [(chart.starts[0], 5)], "no bar where nothing was called"
    assert (report.counts.counted, report.counts.refused) == (5, 2)
    for who in ({"key": key}, {"span": "24h"}):
        if age < 1_440:
            counts = admin_client.get(PAGE, {"span": "7d", **who}).context["usage"]["report"].counts
            assert (counts.counted, counts.refused) == (5, 2)


def test_the_files_say_what_the_page_shows(admin_client: Any, issue: Any) -> None:
    key = issue().key
    add(key, 10)
    add(key, 2, status="rate_limited")
    add(None, 5, method="getBlock")
    page = admin_client.get(PAGE)
    files = {text: link for text, _hint, link in page.context["usage"]["exports"]}
    assert list(files) == ["over time", "by method", "every minute"]
    assert read(admin_client, of="methods") == [
        ["method", "outcome", "kind", "calls", "mean_ms"],
        ["getSlot", "ok", "counted", "10", "1.500"],
        ["getBlock", "ok", "counted", "5", "1.500"],
        ["getSlot", "rate_limited", "refused", "2", "1.500"],
    ]
    steps = read(admin_client, of="steps")
    assert steps[0] == ["start", "counted", "refused", "failed", "pushed"]
    starts = page.context["usage"]["chart"].starts
    assert [row[0] for row in steps[1:]] == [f"{start:%Y-%m-%dT%H:%M:%SZ}" for start in starts]
    assert sum(int(row[1]) for row in steps[1:]) == 15
    rows = read(admin_client, of="rows", key=key.pk)
    assert rows[0][5:7] == ["kind", "minute"]
    assert [row[:2] + row[3:6] + row[7:] for row in rows[1:]] == [
        [str(key.pk), str(key), "getSlot", status, kind, calls, "1.500"]
        for status, kind, calls in (("ok", "counted", "10"), ("rate_limited", "refused", "2"))
    ]
    everybody = read(admin_client, of="rows", span="30d", method="getBlock")
    assert everybody[0][6] == "day"
    assert everybody[1][:5] == ["", "without a key", "", "getBlock", "ok"]
    name = admin_client.get(f"{PAGE}csv/", {"key": key.pk})["Content-Disposition"]
    assert name == f'attachment; filename="usage-key-{key.pk}-24h-methods.csv"'


def test_no_cell_of_a_file_is_a_formula(admin_client: Any, issue: Any) -> None:
    key = issue().key
    key.name, key.customer.name = '=HYPERLINK("https://evil.example")', "@sum,\r\n"
    key.save()
    key.customer.save()
    add(key, 1)
    [row] = read(admin_client, of="rows")[1:]
    assert row[1].startswith("'=HYPERLINK(")
    assert row[2] == "'@sum,\r\n"


def test_files_are_for_those_who_may_see_usage(
    client: Any, issue: Any, django_user_model: Any
) -> None:
    from django.contrib.auth.models import Permission

    clerk = django_user_model.objects.create_user("clerk", password="x", is_staff=True)
    client.force_login(clerk)
    assert client.get(f"{PAGE}csv/").status_code == 403
    clerk.user_permissions.add(Permission.objects.get(codename="view_usageminute"))
    assert client.get(f"{PAGE}csv/").status_code == 200
    assert client.get(f"{PAGE}csv/", {"of": "secrets"}).status_code == 404
    assert client.get(f"{PAGE}csv/", {"key": "1' OR"}).status_code == 404


def test_queries_do_not_grow_with_keys_customers_or_usage(
    admin_client: Any, issue: Callable[..., Any], django_assert_max_num_queries: Any
) -> None:
    from access import store

    first = issue().key

    def visit() -> list[int]:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        found = []
        for path in (
            PAGE,
            f"{PAGE}?span=90d",
            "/admin/access/customer/",
            f"/admin/access/customer/{first.customer_id}/change/",
            "/admin/access/apikey/",
            f"/admin/access/apikey/?customer__id__exact={first.customer_id}",
            f"/admin/access/apikey/{first.pk}/change/",
            f"{PAGE}csv/?of=rows",
        ):
            with CaptureQueriesContext(connection) as queries:
                response = admin_client.get(path)
                if response.streaming:
                    b"".join(response.streaming_content)
            found.append(len(queries))
        return found

    add(first, 1)
    visit()
    few = visit()
    for number in range(12):
        key = issue(environment=f"e{number}").key
        key.customer = store.customer_by_name(f"Customer {number}")
        key.save()
        own = issue().key
        for holder in (key, own, first):
            add(holder, number + 1, method=f"m{number}", ago=timedelta(hours=number))
    assert visit() == few
    assert max(few) <= 21


def test_a_customers_page_has_the_usage_of_its_keys_and_the_list_the_month(
    admin_client: Any, issue: Any
) -> None:
    from access import store

    key, other = issue().key, issue().key
    other.customer = store.customer_by_name("Bo")
    other.save()
    add(key, 1_234, ago=timedelta(0))
    add(other, 5, ago=timedelta(0))
    page = admin_client.get(f"/admin/access/customer/{key.customer_id}/change/")
    assert page.context["usage"]["report"].counts.counted == 1_234
    text = admin_client.get("/admin/access/customer/").content.decode()
    assert ">1,234</a>" in text
    assert ">5</a>" in text


def test_who_may_not_see_usage_sees_none_on_other_pages(
    client: Any, issue: Any, django_user_model: Any
) -> None:
    from django.contrib.auth.models import Permission

    key = issue().key
    clerk = django_user_model.objects.create_user("clerk", password="x", is_staff=True)
    for codename in ("view_apikey", "view_customer"):
        clerk.user_permissions.add(Permission.objects.get(codename=codename))
    client.force_login(clerk)
    for path in (f"apikey/{key.pk}", f"customer/{key.customer_id}"):
        page = client.get(f"/admin/access/{path}/change/")
        assert page.status_code == 200
        assert "usage" not in page.context
        assert not page.context.get("story")
    assert client.get(PAGE).status_code == 403


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("use=day", ["new"]),
        ("use=never", ["never", "young"]),
        ("use=long", ["never", "old"]),
        ("month=spent", ["spent"]),
        ("customer__id__exact=0", []),
    ],
)
def test_keys_are_found_by_their_use(
    admin_client: Any, issue: Any, query: str, found: list[str]
) -> None:
    from access.models import ApiKey

    now = timezone.now()
    for name, values in {
        "new": {"last_used_at": now - timedelta(hours=1)},
        "old": {"last_used_at": now - timedelta(days=91)},
        "spent": {
            "last_used_at": now - timedelta(days=2),
            "quota_reached_until": now + timedelta(days=1),
            "quota_used": 5,
        },
        "never": {"created_at": now - timedelta(days=91)},
        "young": {},
    }.items():
        ApiKey.objects.filter(pk=issue().key.pk).update(name=name, **values)
    page = admin_client.get(f"/admin/access/apikey/?{query}")
    assert sorted(key.name for key in page.context["cl"].result_list) == found


def test_a_keys_page_tells_its_limits_and_its_month(
    admin_client: Any, issue: Any, tier: Any
) -> None:
    limited = tier("basic", requests_per_second=0.5, requests_burst=7, tip_fetches_daily_cap=2_000)
    key = issue(tier=limited, calls_per_month=200).key
    add(key, 170, ago=timedelta(0))
    text = admin_client.get(f"/admin/access/apikey/{key.pk}/change/").content.decode()
    assert "0.5 calls per second, 7 at once after a pause" in text
    assert "at most 2,000 a day (UTC)" in text
    assert "85 %" in text
    assert "170 of 200 calls" in text
