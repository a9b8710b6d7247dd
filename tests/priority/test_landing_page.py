"""The page of landing, as a browser asks for it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access.models import ApiKey, UsageDay, UsageHour
from priority.models import LandingTally, Submission
from priority.services import tallying
from tests.priority.landed_samples import fill_landing
from tests.priority.test_landing_tallies import mark_all
from tests.rewind.test_audit_admin import text_of

PAGE = "/admin/priority/submission/landing/"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_remembered")]


@pytest.fixture
def key(issue: Callable[..., Any]) -> ApiKey:
    """Whose submissions are stored and counted, beside a refusal at the door."""
    now = timezone.now()
    found: ApiKey = issue().key
    fill_landing(now, key=found)
    mark_all()
    tallying.count(kept=timedelta(days=30), now=now, calm=timedelta(0))
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
        "not_landed: block height # is finalized",
        "{&quot;InstructionError&quot;: [2, {&quot;Custom&quot;: 6001}]}",
        "tip_too_small",
        "static addresses",
        "All submissions",
    ):
        assert told in text, told


def test_it_is_narrowed_to_a_key_a_customer_a_tier_and_an_upstream(
    admin_client: Any, key: ApiKey, issue: Callable[..., Any]
) -> None:
    other = issue().key
    fill_landing(timezone.now(), key=other, rounds=1, seed=9)
    mark_all()
    tallying.count(kept=timedelta(days=30), now=timezone.now(), calm=timedelta(0))
    of_key = Submission.objects.filter(key=key).count()
    text = text_of(admin_client, PAGE, key=str(key.pk))
    assert f"{of_key} submissions" in text
    assert f"of key {key}" in text
    both = of_key + Submission.objects.filter(key=other).count()
    assert f"{both} submissions" in text_of(admin_client, PAGE, customer=str(key.customer_id))
    assert f"{both} submissions" in text_of(admin_client, PAGE, tier="basic")
    assert "Nothing was accepted" in text_of(admin_client, PAGE, tier="ultra")
    took = LandingTally.objects.filter(seconds=86_400, measure="took", upstream="node")
    number = sum(took.values_list("count", flat=True))
    text = text_of(admin_client, PAGE, upstream="node")
    assert f"{number} submissions" in text
    assert "All submissions" not in text
    of_both = text_of(admin_client, PAGE, upstream="node", key=str(key.pk))
    assert "newest 10,000 submissions" in of_both
    assert "frankfurt: " not in of_both


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
    assert "Nothing landed in this span" in text


def test_who_may_not_see_submissions_may_not_see_their_counts(
    client: Any, django_user_model: Any
) -> None:
    client.force_login(django_user_model.objects.create_user("x", password="x", is_staff=True))
    assert client.get(PAGE).status_code == 403
