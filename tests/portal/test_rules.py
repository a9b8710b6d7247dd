"""Event rules in the portal: made, tested, read in the log, replayed, changed and deleted."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from alerts.models import Delivery, Rule
from alerts.services import delivering, routing, webhooks
from staff.models import AuditEntry
from tests.alerts.conftest import Receiver
from tests.alerts.test_rules import ADDRESS
from tests.portal.conftest import Browser, People

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOKS_PRIVATE = True
    found = Receiver()
    yield found
    found.stop()


@pytest.fixture
def hook(ada: Any, receiver: Receiver) -> Any:
    return webhooks.create(ada.pk, name="pager", url=receiver.url)


def work() -> None:
    """What the worker does now."""
    routing.route_events(now=timezone.now(), staff_mail=[])
    turns = [
        turn
        for failing in (False, True)
        for turn in delivering.claim(now=timezone.now(), most=10, failing=failing)
    ]
    for turn in turns:
        delivering.deliver(turn, clock=timezone.now)


def text(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def add(client: Client, trigger: str, **values: Any) -> Any:
    return client.post(f"/portal/rules/add/?trigger={trigger}", values, follow=True)


def test_a_rule_is_made_tested_read_and_replayed(
    owner: Any, browser: Browser, hook: Any, receiver: Receiver, key: Any
) -> None:
    client = browser(owner)
    assert "None yet" in text(client, "/portal/rules/")
    assert "?trigger=tip_spend" in text(client, "/portal/rules/add/")
    page = add(
        client,
        "submission",
        name="Lost ones",
        states=["expired", "refused"],
        keys=[key.pk],
        webhook=hook.pk,
    ).content.decode()
    assert "Added Lost ones. Send a test now" in page and "No deliveries yet" in page
    rule = Rule.objects.get()
    assert rule.condition == {"states": ["expired", "refused"], "keys": [key.pk]}
    path = f"/portal/rules/{rule.pk}/"
    assert "expired, refused, of 1 key" in text(client, "/portal/rules/")

    receiver.status, receiver.text = 503, b"try later"
    assert "The test is being sent" in client.post(f"{path}test/", follow=True).content.decode()
    work()
    page = text(client, path)
    assert "submission.expired" in page and "HTTP 503" in page and "try later" in page
    receiver.status = 204
    delivery = Delivery.objects.get()
    client.post(f"{path}deliveries/{delivery.pk}/")
    work()
    assert "HTTP 204" in text(client, path) and len(receiver.got) == 2

    replay = {"since": "2026-01-01T00:00", "which": "all"}
    page = client.post(f"{path}replay/", replay, follow=True).content.decode()
    assert "Sending 1 delivery again" in page
    work()
    assert len({headers["webhook-id"] for _path, headers, _body in receiver.got}) == 1
    assert len(receiver.got) == 3
    page = client.post(f"{path}replay/", {"since": "yesterday"}, follow=True).content.decode()
    assert "Choose when the replay begins" in page

    client.post(path, {"name": "All lost", "states": ["expired"], "webhook": hook.pk})
    rule.refresh_from_db()
    assert (rule.name, rule.condition) == ("All lost", {"states": ["expired"], "keys": []})
    client.post(f"{path}disable/")
    assert "No events are published until it is enabled" in text(client, path)
    client.post(f"{path}enable/")
    assert "Event rules post to pager" in (
        client.post(f"/portal/webhooks/{hook.pk}/delete/", follow=True).content.decode()
    )
    client.post(f"{path}delete/")
    assert not Rule.objects.exists() and not Delivery.objects.exists()
    verbs = AuditEntry.objects.order_by("pk").values_list("verb", flat=True)
    assert list(verbs)[1:] == [
        "added",
        "tested",
        "delivered again of",
        "replayed",
        "changed",
        "disabled",
        "enabled",
        "deleted",
    ]


@pytest.mark.parametrize(
    ("trigger", "values", "condition"),
    [
        (
            "landing_share",
            {"below_percent": "75", "minutes": "15", "least_submissions": "5"},
            {"below_percent": 75, "minutes": 15, "least_submissions": 5, "keys": []},
        ),
        (
            "tip_spend",
            {"above_lamports": "1000000", "period": "month"},
            {"above_lamports": 1_000_000, "period": "month", "keys": []},
        ),
        ("account", {"address": ADDRESS}, {"address": ADDRESS}),
        (
            "program",
            {"program": ADDRESS, "filters": '[{"dataSize": 165}, "tokenAccountState"]'},
            {
                "program": ADDRESS,
                "filters": [{"memcmp": None, "dataSize": 165}, "tokenAccountState"],
            },
        ),
        ("mention", {"address": ADDRESS, "outcome": "failed"},
         {"address": ADDRESS, "outcome": "failed"}),
    ],
)  # fmt: skip
def test_each_trigger_has_its_form(
    owner: Any, browser: Browser, trigger: str, values: Any, condition: Any
) -> None:
    client = browser(owner)
    add(client, trigger, name="r", mails="on", **values)
    rule = Rule.objects.get()
    assert (rule.trigger, rule.condition) == (trigger, condition)
    assert (rule.mails, rule.webhook) == (True, None)
    # Saving the form as it is shown changes nothing.
    form = client.get(f"/portal/rules/{rule.pk}/").context["form"]
    shown = {each.name: each.value() for each in form if each.value() not in (None, "")}
    assert client.post(f"/portal/rules/{rule.pk}/", shown).status_code == 302
    rule.refresh_from_db()
    assert rule.condition == condition and rule.mails


@pytest.mark.parametrize(
    ("trigger", "values", "problem"),
    [
        ("account", {"address": "0OIl", "mails": "on"}, "is not a Solana address"),
        ("account", {"address": ADDRESS}, "A rule needs a webhook, or mails"),
        ("submission", {"mails": "on"}, "This field is required"),
        ("program", {"program": ADDRESS, "filters": "{", "mails": "on"}, "Write a JSON list"),
        ("program", {"program": ADDRESS, "filters": "[" * 1_990}, "Write a JSON list"),
        ("program", {"program": ADDRESS, "filters": "[{}]", "mails": "on"}, "expected one of"),
        ("submission", {"states": ["landed"], "keys": ["999999"]}, "Select a valid choice"),
    ],
)
def test_a_wrong_form_says_what_is_wrong(
    owner: Any, browser: Browser, key: Any, trigger: str, values: Any, problem: str
) -> None:
    answer = add(browser(owner), trigger, name="r", **values)
    assert problem in answer.content.decode() and not Rule.objects.exists()


def test_a_rule_posts_to_no_webhook_of_another_customer(
    owner: Any, eve: Any, browser: Browser, receiver: Receiver, settings: Any
) -> None:
    theirs = webhooks.create(eve.pk, name="eve's pager", url=receiver.url)
    client = browser(owner)
    answer = add(client, "account", name="r", address=ADDRESS, webhook=theirs.pk)
    assert "Select a valid choice" in answer.content.decode() and not Rule.objects.exists()
    settings.EVENT_RULES = 1
    add(client, "account", name="r", address=ADDRESS, mails="on")
    page = add(client, "account", name="s", address=ADDRESS, mails="on").content.decode()
    assert "A customer can have 1 event rule" in page and Rule.objects.count() == 1
    assert "You have the maximum of 1 rule." in text(client, "/portal/rules/")


def test_a_reader_reads_and_another_customer_does_not(
    ada: Any, reader: Any, eve: Any, person: People, browser: Browser, owner: Any
) -> None:
    add(browser(owner), "account", name="watched", address=ADDRESS, mails="on")
    path = f"/portal/rules/{Rule.objects.get().pk}/"
    page = text(browser(reader), path)
    assert "watched" in page and "Send a test" not in page and "<h2>Settings" not in page
    assert browser(reader).post(f"{path}test/").status_code == 403
    stranger = browser(person(eve, "owner"))
    assert stranger.get(path).status_code == 404
    assert stranger.post(f"{path}delete/").status_code == 404
    assert "watched" not in text(stranger, "/portal/rules/")
