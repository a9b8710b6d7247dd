"""One span, one number: every page and file has the figures of the database, by kind of call."""

import csv
import io
import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from access.counted_calls import CallCounts
from access.models import ApiKey, KeyDay
from access.services import keys, monthly_quotas
from access.usage_sums import add_usage
from tests.examples import examples
from tests.portal.conftest import Browser

pytestmark = pytest.mark.django_db

ADMIN = "/admin/access/usageminute/"
# What each outcome is, by the docs and not by the code.
KINDS = {
    ("getSlot", "ok"): "counted",
    ("getBlock", "invalid_params"): "counted",
    ("getBlock", "slot_skipped"): "counted",
    ("getSlot", "rate_limited"): "refused",
    ("fetchtipaddress", "quota_exceeded"): "refused",
    ("none", "body_unreadable"): "refused",
    ("sendTransaction", "queue_unavailable"): "failed",
    ("getSlot", "upstream_unreachable"): "failed",
    ("fetchtipaddress", "unavailable"): "failed",
    ("getBlock", "internal_error"): "failed",
    ("slotNotification", "ok"): "pushed",
    ("geyserNotification", "ok"): "pushed",
}
# For each of two keys: how often each outcome.
MIXES = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(sorted(KINDS)), st.integers(1, 4_000)), max_size=12
)


def summed(found: list[tuple[str, int]]) -> CallCounts:
    totals = dict.fromkeys(CallCounts._fields, 0)
    for kind, calls in found:
        totals[kind] += calls
    return CallCounts(**totals)


def rows_of(client: Client, path: str) -> list[dict[str, str]]:
    answer: Any = client.get(path)
    assert answer.status_code == 200, path
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def by_kind(rows: list[dict[str, str]]) -> CallCounts:
    return summed([(row["kind"], int(row["calls"])) for row in rows])


def number(text: str) -> int:
    return int(
        text.replace("\N{NO-BREAK SPACE}", "")
        .replace("\N{NARROW NO-BREAK SPACE}", "")
        .replace(",", "")
    )


def lined(cell: Any) -> int:
    """The figure beside the bars of a list's cell."""
    (found,) = re.findall(r'class="tm-number number">([^<]*)<', str(cell))
    return number(found)


@settings(
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    # An example reads thirty pages: a failing one is shown as it was found.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(MIXES)
def test_every_page_and_file_has_the_figures_of_the_database(
    owner: Any, browser: Browser, admin_client: Client, key: ApiKey, mix: list[Any]
) -> None:
    with transaction.atomic():
        other = keys.issue_key(key.customer, tier=key.tier, name="other").key
        both = (key, other)
        minute = timezone.now().replace(second=0, microsecond=0)
        add_usage(
            [(both[which].pk, *outcome, minute, calls, calls) for which, outcome, calls in mix]
        )
        of_key = [
            summed([(KINDS[outcome], calls) for each, outcome, calls in mix if each == which])
            for which in (0, 1)
        ]
        total = of_key[0].plus(of_key[1])
        _in_the_database(both, of_key)
        for span in ("1h", "24h", "7d", "month"):
            _in_reports(browser(owner), admin_client, key, span, both, of_key)
        _in_lists(browser(owner), admin_client, both, of_key, total)
        transaction.set_rollback(True)


def _in_the_database(both: Any, of_key: list[CallCounts]) -> None:
    now = timezone.now()
    for key, counts in zip(both, of_key, strict=True):
        days = list(KeyDay.objects.filter(key=key))
        for name in ("counted", "refused", "failed"):
            assert sum(getattr(day, name) for day in days) == getattr(counts, name)
        assert sum(day.calls for day in days) == sum(counts)
        month = monthly_quotas.usage_of(key.pk, now)
        assert month is not None and month.used == counts.counted


def _in_reports(
    portal: Client, admin: Client, key: ApiKey, span: str, both: Any, of_key: list[CallCounts]
) -> None:
    total = of_key[0].plus(of_key[1])
    customer = f"span={span}&customer={key.customer_id}"
    for client, path, files in (
        (portal, f"/portal/usage/?span={span}", (f"/portal/usage/csv/?span={span}",)),
        (admin, f"{ADMIN}?{customer}", (f"{ADMIN}csv/?of=rows&{customer}",
                                         f"{ADMIN}csv/?of=methods&{customer}")),
        (admin, f"{ADMIN}?span={span}", (f"{ADMIN}csv/?of=rows&span={span}",)),
    ):  # fmt: skip
        page = client.get(path)
        usage = page.context["usage"]
        assert usage["report"].counts == total, path
        series = [*usage["chart"].series, *(usage["pushed_chart"] or usage["chart"]).series[:1]]
        drawn = {each.label: sum(each.values) for each in series}
        assert drawn == {name: calls for name, calls in total._asdict().items() if name in drawn}
        assert ("pushed" in drawn) is bool(total.pushed)
        listed = [(row[4], number(row[5])) for row in usage["methods"]]
        assert summed(listed) == total, path
        counted = [calls for kind, calls in listed if kind == "counted"]
        assert counted == sorted(counted, reverse=True)
        assert [kind for kind, _ in listed[: len(counted)]] == ["counted"] * len(counted)
        busiest = [
            (row[0].pk, CallCounts(*map(number, row[-1]))) for row in page.context["busiest"]
        ]
        used = {each.pk: found for each, found in zip(both, of_key, strict=True) if any(found)}
        assert dict(busiest) == used, path
        by_counted = [found.counted for _, found in busiest]
        assert by_counted == sorted(by_counted, reverse=True)
        for file in files:
            assert by_kind(rows_of(client, file)) == total, file
    steps = rows_of(admin, f"{ADMIN}csv/?of=steps&{customer}")
    assert total == CallCounts(
        *(sum(int(row[name]) for row in steps) for name in CallCounts._fields)
    )


def _in_lists(
    portal: Client, admin: Client, both: Any, of_key: list[CallCounts], total: CallCounts
) -> None:
    counted = {key.pk: found.counted for key, found in zip(both, of_key, strict=True)}
    rows = portal.get("/portal/keys/").context["valid"]
    assert {row["key"].pk: lined(row["calls"]) for row in rows} == counted
    listed = admin.get("/admin/access/apikey/").context["cl"].result_list
    assert {row.pk: lined(row.shown_calls) for row in listed} == counted
    (customer,) = admin.get("/admin/access/customer/").context["cl"].result_list
    assert customer.month_calls == total.counted
    assert number(portal.get("/portal/").context["month"]["used"]) == total.counted
    compared = ",".join(str(key.pk) for key in both)
    for place in ("/portal/keys/compare/", reverse("admin:priority_compare")):
        client = portal if place.startswith("/portal") else admin
        found = client.get(f"{place}?keys={compared}&span=month")
        assert [
            (number(row["counted"]), number(row["refused"]), number(row["failed"]))
            for row in found.context["rows"]
        ] == [each[:3] for each in of_key]
