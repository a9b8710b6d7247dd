"""Keys beside each other: calls, refusals and landings in one chart."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access.models import ApiKey
from access.services import keys
from access.usage_sums import add_usage
from tests.portal.conftest import Browser, People

pytestmark = pytest.mark.django_db

COMPARE = "/portal/keys/compare/"


@pytest.fixture
def two(ada: Any, key: ApiKey) -> tuple[ApiKey, ApiKey]:
    """Of the first: 500 calls, 40 of them refused, and landings; of the second 70 calls."""
    from priority.reports.services.counting import count
    from tests.priority.landed_samples import fill_landing

    other = keys.issue_key(ada, tier=key.tier, name="wallet").key
    now = timezone.now()
    minute = now.replace(second=0, microsecond=0)
    add_usage(
        [
            (key.pk, "getSlot", "ok", minute, 460, 9),
            (key.pk, "getSlot", "rate_limited", minute, 40, 9),
            (other.pk, "getSlot", "ok", minute, 70, 9),
        ]
    )
    fill_landing(now, key=key, rounds=1)
    from datetime import timedelta

    count(kept=timedelta(days=30), now=now + timedelta(seconds=1), calm=timedelta(seconds=-60))
    return key, other


def series_of(answer: Any) -> dict[str, int]:
    page = answer.content.decode()
    (found,) = re.findall(r"<script[^>]*application/json[^>]*>(.*?)</script>", page)
    return {each["label"]: sum(each["values"]) for each in json.loads(found)["series"]}


def test_two_keys_are_in_one_chart_by_each_measure(
    owner: Any, browser: Browser, two: tuple[ApiKey, ApiKey]
) -> None:
    from priority.models import Submission

    client, ids = browser(owner), ",".join(str(key.pk) for key in two)
    assert series_of(client.get(f"{COMPARE}?keys={ids}")) == {"production": 460, "wallet": 70}
    refused = client.get(f"{COMPARE}?keys={ids}&measure=refused")
    assert series_of(refused) == {"production": 40, "wallet": 0}
    landed = Submission.objects.filter(key=two[0], state="landed").count()
    found = series_of(client.get(f"{COMPARE}?keys={ids}&measure=landed"))
    assert landed > 0 and found == {"production": landed, "wallet": 0}
    page = refused.content.decode()
    assert "8.0 %" in page and "<code>rate_limited</code> 40" in page
    for span in ("1h", "7d", "30d", "month", "nonsense"):
        answer = client.get(f"{COMPARE}?keys={ids}&measure=landed&span={span}")
        assert answer.status_code == 200 and sum(series_of(answer).values()) == landed


def test_the_lists_form_leads_to_an_address_that_names_the_keys(
    owner: Any, browser: Browser, two: tuple[ApiKey, ApiKey]
) -> None:
    client = browser(owner)
    listed = client.get(reverse("portal:keys")).content.decode()
    assert listed.count('name="key"') == 2
    answer = client.get(f"{COMPARE}?key={two[1].pk}&key={two[0].pk}")
    assert answer.headers["Location"] == f"{COMPARE}?keys={two[1].pk},{two[0].pk}"


@pytest.mark.parametrize("query", ["", "keys=", "keys=x,,1e9", "keys=99999999999999999999"])
def test_without_two_keys_it_says_what_to_choose(owner: Any, browser: Browser, query: str) -> None:
    answer = browser(owner).get(f"{COMPARE}?{query}")
    assert answer.status_code == 200
    assert "Choose two keys or more" in answer.content.decode()


def test_keys_of_others_are_left_out(
    eve: Any, person: People, browser: Browser, two: tuple[ApiKey, ApiKey]
) -> None:
    own = keys.issue_key(eve, tier=two[0].tier, name="eves").key
    ids = ",".join(str(each.pk) for each in (*two, own))
    answer = browser(person(eve, "owner")).get(f"{COMPARE}?keys={ids}")
    assert series_of(answer) == {"eves": 0}
    assert "wallet" not in answer.content.decode()


def test_staff_compares_keys_of_several_customers(
    admin_client: Client, eve: Any, two: tuple[ApiKey, ApiKey], django_user_model: Any
) -> None:
    own = keys.issue_key(eve, tier=two[0].tier, name="eves").key
    action = {"action": "compare_keys", "_selected_action": [two[0].pk, own.pk]}
    answer = admin_client.post("/admin/access/apikey/", action, follow=True)
    assert series_of(answer) == {"production": 460, "eves": 0} or series_of(answer) == {
        "eves": 0,
        "production": 460,
    }
    from django.contrib.auth.models import Permission

    helper = django_user_model.objects.create_user("helper", password="x", is_staff=True)
    helper.user_permissions.set(Permission.objects.filter(codename="view_submission"))
    staff = Client()
    staff.force_login(helper)
    page = reverse("admin:priority_compare")
    assert staff.get(f"{page}?keys={own.pk}").status_code == 403
