"""Where a customer's alerts are mailed: an address that its reader confirmed, else the members'."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from alerts.models import Delivery
from alerts.services import events, routing
from portal import tasks
from shared_state.redis_client import client as client_of_redis
from staff.models import AuditEntry
from tests.portal.conftest import Browser, People

pytestmark = pytest.mark.django_db

PAGE, SET = "/portal/webhooks/", "/portal/webhooks/address/"
NEW = "night@ada.example"


def mailed_link(member: Any, address: str = NEW) -> str:
    """The path of the link that the worker mails."""
    mail.outbox.clear()
    tasks.mail_alert_address(member.pk, address)
    (sent,) = mail.outbox
    assert sent.to == [address]
    found = re.search(r"http://\S+?(/portal/alert-address/\S+)", sent.body)
    assert found is not None
    return found[1]


def alerted(customer: Any) -> list[str]:
    """The addresses to which an alert of the customer goes."""
    now = timezone.now()
    events.publish(
        "key.revoked", about="A", text="A was revoked.", data={}, now=now, customer_id=customer.pk
    )
    routing.route_events(now=now, staff_mail=[])
    sent = list(Delivery.objects.order_by("pk").values_list("mail_to", flat=True))
    Delivery.objects.all().delete()
    return sent


def test_an_owner_sets_the_address_and_its_reader_confirms_it(
    owner: Any, ada: Any, browser: Browser
) -> None:
    client = browser(owner)
    page = client.post(SET, {"email": NEW}, follow=True).content.decode()
    assert f"A link is being mailed to {NEW}" in page and "alerts@ada.example" in page
    assert client_of_redis().llen("default") == 1
    assert alerted(ada) == ["alerts@ada.example"], "not before it is confirmed"
    link, reader = mailed_link(owner), Client()
    shown = reader.get(link).content.decode()
    assert NEW in shown and "Ada &amp; Sons" in shown
    assert alerted(ada) == ["alerts@ada.example"], "a scanner of mails opens links"
    assert "from now on" in reader.post(link).content.decode()
    assert alerted(ada) == [NEW]
    assert reader.post(link).status_code == 410 and reader.get(link).status_code == 410
    entry = AuditEntry.objects.get(verb="changed", subject_type="access.customer")
    assert entry.changes == {"email": ["alerts@ada.example", NEW]}
    assert (entry.who, entry.text) == (owner.user.username, "confirmed by a mailed link")
    assert AuditEntry.objects.filter(verb="requested an address", text__contains=NEW).exists()


def test_without_an_address_members_who_chose_a_password_are_mailed(
    owner: Any, reader: Any, ada: Any, eve: Any, person: People, browser: Browser
) -> None:
    for member in (person(ada, "reader", "invited@ada.example"), person(eve, "owner")):
        if member.customer == ada:
            member.user.set_unusable_password()
            member.user.save()
    gone = person(ada, "reader", "gone@ada.example")
    gone.user.is_active = False
    gone.user.save()
    client = browser(owner)
    page = client.post(f"{SET}members/", follow=True).content.decode()
    assert "These are the members' own addresses" in page.replace("&#x27;", "'")
    assert "owner@ada.example, reader@ada.example</span>" in page
    assert alerted(ada) == ["owner@ada.example", "reader@ada.example"]
    entry = AuditEntry.objects.get(verb="changed", subject_type="access.customer")
    assert entry.changes == {"email": ["alerts@ada.example", ""]}
    client.post(f"{SET}members/")
    assert AuditEntry.objects.filter(verb="changed").count() == 1, "nothing changed"
    client.post("/portal/webhooks/mails/", {"wanted": "off"})
    assert alerted(ada) == []


@pytest.mark.parametrize("ended", ["reader", "inactive", "removed", "changed", "late", "forged"])
def test_a_link_ends_with_the_rights_behind_it(
    owner: Any, ada: Any, ended: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = mailed_link(owner)
    if ended == "reader":
        owner.role = "reader"
        owner.save()
    elif ended == "inactive":
        owner.user.is_active = False
        owner.user.save()
    elif ended == "removed":
        owner.user.delete()
    elif ended == "changed":
        ada.email = "other@ada.example"
        ada.save()
    elif ended == "late":
        late = timezone.now() + timedelta(days=3, seconds=1)
        monkeypatch.setattr("django.core.signing.time.time", late.timestamp)
    else:
        link = link[:-6] + "forged/"
    answer = Client().post(link)
    assert answer.status_code == 410 and "no longer valid" in answer.content.decode()
    ada.refresh_from_db()
    assert ada.email != NEW and not AuditEntry.objects.filter(verb="changed").exists()


def test_what_is_not_an_address_and_too_many_requests_are_refused(
    owner: Any, reader: Any, browser: Browser
) -> None:
    client = browser(owner)
    for text in ("", "boss", f"{'x' * 260}@ada.example", "a@b\r\nBcc: all@example.com"):
        page = client.post(SET, {"email": text}, follow=True).content.decode()
        assert "A link is being mailed" not in page
    same = client.post(SET, {"email": "alerts@ada.example"}, follow=True).content.decode()
    assert "go to alerts@ada.example already" in same
    assert browser(reader).post(SET, {"email": NEW}).status_code == 403
    assert "Another address" not in browser(reader).get(PAGE).content.decode()
    statuses = [client.post(SET, {"email": NEW}).status_code for _ in range(11)]
    assert statuses == [302] * 10 + [429]
    assert client_of_redis().llen("default") == 10


def test_a_service_that_sends_no_mails_says_so(owner: Any, browser: Browser, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    client = browser(owner)
    page = client.get(PAGE).content.decode()
    assert "This service sends no mails: alerts go to webhooks only" in page
    assert "<strong>mailed</strong>" not in page and "Another address" not in page
    assert "No mail can be sent now" in client.post(SET, {"email": NEW}, follow=True).text
