"""The page of landing, as a browser asks for it."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.signature import Signature

from access.models import ApiKey, UsageDay, UsageHour
from priority.models import Bundle, Submission
from priority.reports.models import LandingCount
from priority.reports.services import counting
from priority.submissions import pending_key
from shared_state.redis_client import client as redis_client
from tests.priority.landed_samples import fill_landing
from tests.priority.test_landing_counts import mark_all
from tests.rewind.test_audit_admin import text_of
from tests.tipping.tipped_samples import fill_tipping
from tipping.models import TipSweep

PAGE = "/admin/priority/submission/landing/"
USAGE = "/admin/access/usageminute/"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_remembered")]


@pytest.fixture
def key(issue: Callable[..., Any]) -> ApiKey:
    """Whose submissions are stored and counted, beside a refusal at the door."""
    now = timezone.now()
    found: ApiKey = issue().key
    fill_landing(now, key=found)
    mark_all()
    counting.count(kept=timedelta(days=30), now=now, calm=timedelta(0))
    refusal = {"method": "sendTransaction", "status": "tip_too_small", "calls": 41}
    UsageDay.objects.create(key=found, day=now.date(), **refusal)
    hour = now.replace(minute=0, second=0, microsecond=0)
    UsageHour.objects.create(hour=hour, **refusal)
    return found


@pytest.mark.parametrize("span", ["1h", "24h", "7d", "30d"])
def test_every_span_tells_the_same_of_what_came_just_now(
    admin_client: Any,
    key: ApiKey,
    span: str,
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    with django_assert_max_num_queries(26):
        text = text_of(admin_client, PAGE, span=span)
    states = Submission.objects.exclude(kind="sweep").values_list("state", flat=True)
    expired = sum(state == "expired" for state in states)
    assert f"{len(states)} submissions" in text
    link = f'href="/admin/priority/submission/?since={span}&amp;state=expired">{expired}</a>'
    assert link in text
    for told in (
        "Transaction simulation failed: Blockhash not found (-32002)",
        "not landed: block height # is finalized",
        "{&quot;InstructionError&quot;: [2, {&quot;Custom&quot;: 6001}]}",
        "tip_too_small",
        "static addresses",
        "All submissions",
    ):
        assert told in text, told


@pytest.mark.parametrize("span", ["24h", "7d", "30d"])
def test_a_span_is_the_same_as_that_of_usage(admin_client: Any, span: str) -> None:
    landing = admin_client.get(PAGE, {"span": span}).context["picker"]
    usage = admin_client.get(USAGE, {"span": span}).context["usage"]["picker"]
    assert (landing.start, landing.end) == (usage.start, usage.end)


def test_it_is_narrowed_to_a_key_a_customer_a_tier_and_an_upstream(
    admin_client: Any, key: ApiKey, issue: Callable[..., Any]
) -> None:
    other = issue().key
    fill_landing(timezone.now(), key=other, rounds=1, seed=9)
    mark_all()
    counting.count(kept=timedelta(days=30), now=timezone.now(), calm=timedelta(0))
    of_key = Submission.objects.filter(key=key).count()
    text = text_of(admin_client, PAGE, key=str(key.pk))
    assert f"{of_key} submissions" in text
    assert f"of key {key}" in text
    both = of_key + Submission.objects.filter(key=other).count()
    assert f"{both} submissions" in text_of(admin_client, PAGE, customer=str(key.customer_id))
    assert f"{both} submissions" in text_of(admin_client, PAGE, tier="basic")
    assert "Nothing was accepted" in text_of(admin_client, PAGE, tier="ultra")
    took = LandingCount.objects.filter(seconds=86_400, measure="took", upstream="node")
    number = sum(took.values_list("count", flat=True))
    text = text_of(admin_client, PAGE, upstream="node")
    assert f"{number} submissions" in text
    assert "All submissions" not in text
    of_both = text_of(admin_client, PAGE, upstream="node", key=str(key.pk))
    assert "newest 5,000 submissions" in of_both
    assert "frankfurt: " not in of_both


def test_a_range_has_the_same_figures_and_percentiles_of_each_step(
    admin_client: Any, key: ApiKey
) -> None:
    now = timezone.now()
    asked = {
        "from": f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M}",
        "to": f"{now + timedelta(minutes=1):%Y-%m-%dT%H:%M}",
        "compare": "previous",
    }
    context = admin_client.get(PAGE, asked).context
    report, slots, byte = (context[name] for name in ("report", "slots_chart", "byte_chart"))
    assert report.span.each == "5 minutes"
    assert report.total == Submission.objects.exclude(kind="sweep").count()
    drawn = context["chart"]
    assert all(value is None for each in drawn.series for value in each.before[:1]), "not zero"
    assert sum(sum(each.values) for each in drawn.series) == report.total
    assert [each.label for each in slots.series] == ["p50", "p95", "p99"]
    for chart in (slots, byte):
        assert len(chart.starts) == len(drawn.starts)
        known = [
            step for step in zip(*(each.values for each in chart.series), strict=True) if any(step)
        ]
        assert known and all(p50 <= p95 <= p99 for p50, p95, p99 in known)
    landed = Submission.objects.filter(state__in=("landed", "failed"), slot__isnull=False)
    waits = sorted(
        (each.slot or 0) - (each.accepted_slot or 0) for each in landed.exclude(kind="sweep")
    )
    if max(waits) <= 8:
        assert max(value or 0 for value in slots.series[2].values) == waits[-1]
    text = text_of(admin_client, PAGE, **{"from": "2026-01-02", "to": "2026-01-01"})
    assert "is not before its end" in text
    assert f"{report.total} submissions" in text


def test_its_figures_lead_to_the_submissions_that_they_count(
    admin_client: Any, key: ApiKey
) -> None:
    listed = "/admin/priority/submission/"
    for query in (
        {"since": "24h", "state": "expired", "key": str(key.pk)},
        {"since": "30d", "state": "expired", "customer": str(key.customer_id)},
        {"since": "1h", "state": "landed", "upstream": "node", "tier": "basic"},
    ):
        text = text_of(admin_client, listed, **query)
        wanted = Submission.objects.filter(state=query["state"], kind="transaction").first()
        assert wanted is not None
        assert f"{listed}{wanted.pk}/change/" in text
    Submission.objects.update(accepted_at=timezone.now() - timedelta(hours=2))
    assert "Nothing found" in text_of(admin_client, listed, since="1h")


def test_it_says_what_to_do_while_nothing_came(admin_client: Any) -> None:
    text = text_of(admin_client, PAGE)
    assert "0 submissions" in text
    assert "sendTransaction" in text
    assert "Nothing with both slots known landed in this span" in text


def test_who_may_not_see_submissions_may_not_see_their_counts(
    client: Any, django_user_model: Any
) -> None:
    client.force_login(django_user_model.objects.create_user("x", password="x", is_staff=True))
    assert client.get(PAGE).status_code == 403
    assert client.get(FATE).status_code == 403


# --- the fate of one ---

FATE = "/admin/priority/submission/fate/"
CHANGE = "/admin/priority/submission/{}/change/"


def test_one_is_found_by_whatever_somebody_has_of_it(admin_client: Any, key: ApiKey) -> None:
    row = Submission.objects.filter(state="expired", bundle=None).first()
    assert row is not None and row.tip_address is not None
    for text in (str(row.signature), str(row.tip_address), row.request_id, f" {row.signature} "):
        answer = admin_client.get(FATE, {"q": text})
        assert (answer.status_code, answer["Location"]) == (302, CHANGE.format(row.pk)), text
    bundle = Bundle.objects.filter(state="expired").get()
    listed = admin_client.get(FATE, {"q": bundle.bundle_id}, follow=True)
    text = listed.content.decode()
    for member in bundle.submissions.all():
        assert CHANGE.format(member.pk) in text
    bundle.submissions.all().delete()
    alone = admin_client.get(FATE, {"q": bundle.bundle_id.upper()})
    assert alone["Location"] == f"/admin/priority/bundle/{bundle.pk}/change/"


def test_what_is_not_found_is_told_apart_from_what_waits(admin_client: Any) -> None:
    assert "or at least its first 6 characters" in text_of(admin_client, FATE)
    signature = Signature(bytes(range(64)))
    assert "Not found." in text_of(admin_client, FATE, q=str(signature))
    assert "Not a valid id." in text_of(admin_client, FATE, q="two words")
    redis_client().set(pending_key(bytes(signature)), f"{time.time() - 5}|")
    text = text_of(admin_client, FATE, q=str(signature))
    assert "Accepted <time" in text and "5 s ago" in text


def test_a_fate_is_a_line_of_moments_with_what_to_do(
    admin_client: Any, key: ApiKey, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    expired = Submission.objects.filter(state="expired", bundle=None).first()
    assert expired is not None
    with django_assert_max_num_queries(16):
        text = text_of(admin_client, CHANGE.format(expired.pk))
    order = [
        text.index(told)
        for told in (
            "received and accepted",
            "round 1: leaders",
            "round 2: leaders",
            ", final",
        )
    ]
    assert order == sorted(order)
    assert "What to do:</strong> It can no longer land: sign it again" in text
    assert "SOL) to a static address" in text
    member = Submission.objects.filter(bundle__state="landed").first()
    assert member is not None
    text = text_of(admin_client, CHANGE.format(member.pk))
    assert "Its bundle" in text and text.count("this one") == 1


def test_a_tip_leads_to_its_batch_and_to_the_sweep_that_took_it(
    admin_client: Any, key: ApiKey
) -> None:
    tipped = fill_tipping(timezone.now(), key=key)
    sweep = TipSweep.objects.filter(state="landed").first()
    assert sweep is not None
    part = sweep.parts.select_related("address__batch").first()
    assert part is not None
    row = Submission.objects.filter(state="landed", commitment="finalized").first()
    assert row is not None
    Submission.objects.filter(pk=row.pk).update(
        tip_address=part.address_id, slot=(sweep.slot or 0) - 10
    )
    text = text_of(admin_client, CHANGE.format(row.pk))
    assert f"/admin/tipping/tipsweep/{sweep.pk}/change/" in text
    assert f"batch {part.address.batch.number}</a>" in text
    assert tipped["sweep"]
