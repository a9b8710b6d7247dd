"""Alarms in the admin: looked at by whoever may, acknowledged by who may change."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission
from django.utils import timezone
from django.utils.html import escape

from operations.models import Alarm
from operations.rules.table import RULES
from operations.rules_page import docs_page
from staff.models import AuditEntry

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

LIST = "/admin/operations/alarm/"


@pytest.fixture
def alarm() -> Alarm:
    began = timezone.now() - timedelta(minutes=9)
    return Alarm.objects.create(
        name="upstream_broken",
        subject="frankfurt",
        severity="warning",
        text="Nothing is sent by frankfurt: HTTP status 429.",
        began_at=began,
        opened_at=began + timedelta(seconds=20),
    )


def signed_in(client: Any, users: Any, *names: str) -> Any:
    user = users.objects.create_user("ada", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(user)
    return user


def text_of(client: Any, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_the_list_says_what_since_when_and_who(admin_client: Any, alarm: Alarm) -> None:
    now = timezone.now()
    Alarm.objects.create(name="disk_low", severity="critical", began_at=now, text="Not yet open.")
    closed = Alarm.objects.create(
        name="gaps_open",
        severity="warning",
        text="2 gaps are not filled.",
        began_at=now - timedelta(hours=2),
        opened_at=now - timedelta(hours=2),
        closed_at=now - timedelta(hours=1),
    )
    text = text_of(admin_client, LIST)
    assert "An upstream is broken: frankfurt" in text
    assert "9 min ago" in text and "not yet" in text
    assert "Not yet open." not in text
    assert closed.text in text
    assert closed.text not in text_of(admin_client, f"{LIST}?state=open")
    assert alarm.text not in text_of(admin_client, f"{LIST}?state=closed")


def test_who_may_acknowledges_once_and_it_is_written_down(
    client: Any, django_user_model: Any, alarm: Alarm
) -> None:
    user = signed_in(client, django_user_model, "view_alarm", "change_alarm", "view_upstream")
    page = text_of(client, f"{LIST}{alarm.pk}/change/")
    assert "reset its circuit breaker" in page
    assert 'href="/admin/priority/upstream/"' in page
    order = f"{LIST}{alarm.pk}/acknowledge/"
    assert order in page
    for _ in range(2):
        assert client.post(order, follow=True).status_code == 200
    alarm.refresh_from_db()
    assert alarm.acknowledged_by == user and alarm.closed_at is None
    (entry,) = AuditEntry.objects.filter(verb="acknowledged")
    assert (entry.who, entry.subject_type, entry.subject_id) == (
        "ada",
        "operations.alarm",
        str(alarm.pk),
    )
    assert "ada, " in text_of(client, LIST)
    assert order not in text_of(client, f"{LIST}{alarm.pk}/change/")


@pytest.mark.parametrize(
    ("name", "subject", "page"),
    [
        ("gaps_open", "archive", "/admin/rewind/gap/?state=open"),
        ("gaps_open", "ledger", "/admin/historical/gap/?state=open"),
        ("divergences_open", "", "/admin/rewind/divergence/?state=open"),
    ],
)
def test_who_acts_sees_what_is_open_and_not_what_was(
    admin_client: Any, alarm: Alarm, name: str, subject: str, page: str
) -> None:
    Alarm.objects.filter(pk=alarm.pk).update(name=name, subject=subject)
    for address in ("/admin/", f"{LIST}{alarm.pk}/change/"):
        assert f'href="{page}"' in text_of(admin_client, address)


def test_the_rules_can_be_read_before_there_is_an_alarm(
    client: Any, django_user_model: Any, settings: Any
) -> None:
    signed_in(client, django_user_model, "view_alarm", "view_gap")
    for address in (LIST, "/admin/"):
        assert f'href="{LIST}rules/"' in text_of(client, address)
    settings.STAFF_MAIL = ["ops@example.com"]
    text = text_of(client, f"{LIST}rules/")
    for rule in RULES:
        part = text.partition(f'id="rule-{rule.name}"')[2].partition("</section>")[0]
        for said in (rule.title, rule.name, str(rule.severity), rule.meaning, rule.when):
            assert escape(said) in part
        assert escape(rule.advice) in part
    assert 'href="/admin/rewind/gap/?state=open">Operate</a>' in text
    assert "/admin/tipping/" not in text.partition('id="rule-class_unavailable"')[2], "may not see"
    assert "ops@example.com" in text and "none with the event alarm.opened" in text


def test_who_may_not_see_alarms_does_not_see_their_rules(
    client: Any, django_user_model: Any
) -> None:
    signed_in(client, django_user_model, "view_gap")
    assert client.get(f"{LIST}rules/").status_code == 403


def test_the_page_of_the_docs_is_what_the_rules_say() -> None:
    stored = (django_settings.ROOT / "docs" / "alarms.md").read_text(encoding="utf-8")
    assert stored == docs_page(), "run manage.py alarm_catalogue"


def test_an_alarm_leads_to_its_rule(admin_client: Any, alarm: Alarm) -> None:
    page = text_of(admin_client, f"{LIST}{alarm.pk}/change/")
    assert f'href="{LIST}rules/#rule-upstream_broken"' in page


def test_each_rule_has_its_paragraph_of_the_served_docs(client: Any) -> None:
    page = client.get("/docs/alarms/", HTTP_HOST="localhost").content.decode()
    for rule in RULES:
        address, _, place = rule.paragraph.partition("#")
        assert address == "/docs/alarms/", rule.name
        assert f'id="{place}"><a class="anchor"' in page, rule.name
        assert f'aria-label="Link to {escape(rule.title)}"' in page, rule.name
    assert len({rule.paragraph for rule in RULES}) == len(RULES)


def test_what_has_a_runbook_leads_to_its_section(
    client: Any, admin_client: Any, alarm: Alarm
) -> None:
    sections = text_of(client, "/docs/operators/")
    rules = text_of(admin_client, f"{LIST}rules/")
    with_one = [rule for rule in RULES if rule.runbook]
    assert {"class_unavailable", "class_running_dry", "gaps_open", "process_missing"} <= {
        rule.name for rule in with_one
    }
    for rule in with_one:
        _, _, place = rule.runbook_page.partition("#")
        assert f'id="{place}"' in sections, f"docs/operators.md has no section {rule.runbook}"
        link = f'href="{rule.runbook_page}">Runbook: {rule.runbook}</a>'
        assert link in rules.partition(f'id="rule-{rule.name}"')[2].partition("</section>")[0]
        Alarm.objects.filter(pk=alarm.pk).update(name=rule.name, subject="x")
        for address in ("/admin/", f"{LIST}{alarm.pk}/change/"):
            assert link in text_of(admin_client, address)


def test_several_are_acknowledged_at_once(admin_client: Any, alarm: Alarm) -> None:
    body = {"action": "acknowledge", "_selected_action": [alarm.pk]}
    assert "Acknowledged 1 alarm." in admin_client.post(LIST, body, follow=True).content.decode()
    assert Alarm.objects.get().acknowledged_at is not None


def test_who_may_only_look_can_give_no_orders(
    client: Any, django_user_model: Any, alarm: Alarm
) -> None:
    signed_in(client, django_user_model, "view_alarm")
    assert "acknowledge" not in text_of(client, f"{LIST}{alarm.pk}/change/")
    assert client.post(f"{LIST}{alarm.pk}/acknowledge/").status_code == 403
    client.post(LIST, {"action": "acknowledge", "_selected_action": [alarm.pk]})
    assert client.get(f"{LIST}{alarm.pk}/acknowledge/").status_code in (403, 405)
    assert Alarm.objects.get().acknowledged_at is None
    for path in ("add/", f"{alarm.pk}/change/", f"{alarm.pk}/delete/"):
        assert client.post(f"{LIST}{path}", {"text": "gone"}).status_code == 403


def test_the_list_asks_little_however_many_there_are(
    admin_client: Any, alarm: Alarm, django_assert_max_num_queries: Any
) -> None:
    for number in range(40):
        Alarm.objects.create(
            name="upstream_broken",
            subject=f"way {number}",
            severity="warning",
            text="x",
            began_at=alarm.began_at,
            opened_at=alarm.opened_at,
        )
    with django_assert_max_num_queries(8):
        text_of(admin_client, LIST)
