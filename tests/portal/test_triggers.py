"""A trigger is known wherever rules are made, shown, described and looked for."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from alerts.conditions import CONDITIONS, TITLES, Trigger
from alerts.services import chain_rules, rules, submission_rules
from jsonrpc.wire import to_camel
from management.views.rules import RuleCondition
from priority.reports.services import thresholds
from tests.alerts import test_rules

EVENTS = Path(__file__).resolve().parents[2] / "docs" / "events.md"


def test_every_trigger_has_a_condition_a_title_and_who_publishes() -> None:
    every = set(Trigger)
    assert CONDITIONS.keys() == every, "alerts/conditions.py: CONDITIONS"
    assert TITLES.keys() == every, "alerts/conditions.py: TITLES"
    published = {*thresholds.TRIGGERS, *chain_rules.TRIGGERS, submission_rules.TRIGGER}
    assert published == every, "TRIGGERS of thresholds.py or chain_rules.py: no rule would fire"
    assert test_rules.CONDITIONS.keys() == every, "tests/alerts/test_rules.py: CONDITIONS"


def test_the_management_api_takes_every_member_and_names_them_by_trigger() -> None:
    members = {to_camel(name) for kind in CONDITIONS.values() for name in kind.__struct_fields__}
    assert RuleCondition().fields.keys() == members, "management/views/rules.py: RuleCondition"
    for trigger in Trigger:
        assert f"`{trigger}`" in (RuleCondition.__doc__ or ""), "management/views/rules.py"


def test_the_guide_has_a_row_for_each_trigger() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| `", EVENTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(Trigger), "docs/events.md"


@pytest.mark.django_db
@pytest.mark.parametrize("trigger", list(Trigger))
def test_the_portal_asks_for_every_member_and_shows_the_rule(
    trigger: Trigger, ada: Any, owner: Any, browser: Any
) -> None:
    client: Client = browser(owner)
    form = client.get(f"/portal/rules/add/?trigger={trigger}").context["form"]
    members = set(CONDITIONS[trigger].__struct_fields__)
    assert members <= form.fields.keys(), "portal/forms/rules.py: _FIELDS"
    made = rules.create(
        ada.pk,
        trigger=trigger,
        name="of this trigger",
        condition=test_rules.CONDITIONS[trigger],
        mails=True,
        now=timezone.now(),
    )
    assert TITLES[trigger] in client.get("/portal/rules/").content.decode()
    assert client.get(f"/portal/rules/{made.pk}/").status_code == 200
