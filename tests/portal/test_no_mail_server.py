"""Without EMAIL_URL no page says that a mail goes out: who invites gets the link to pass on."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from alerts.models import Delivery
from alerts.services import events, mailing, routing
from portal.models import Member
from shared_state.redis_client import client as client_of_redis
from staff.models import AuditEntry
from tests.portal.conftest import PASSWORD, Browser

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mail_folder(settings: Any, tmp_path: Path) -> Path:
    """Mails are files, as without EMAIL_URL."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path / "mail")
    return tmp_path / "mail"


def link_in(answer: Any, kind: str) -> str:
    """The path of the only link to a password on the page."""
    assert "no-store" in answer["Cache-Control"]
    (path,) = re.findall(rf"http://[^/]+(/portal/{kind}/[^<\s]+/)<", answer.content.decode())
    return str(path)


def choose(path: str) -> Client:
    """A visitor who followed the link and set a password."""
    visitor = Client()
    chosen = {"password": PASSWORD, "again": PASSWORD}
    assert "The password is set" in visitor.post(path, chosen).content.decode()
    return visitor


def test_an_owner_gets_the_link_to_pass_on(owner: Any, browser: Browser) -> None:
    client = browser(owner)
    page = client.get("/portal/team/").content.decode()
    assert "is mailed" not in page and "This service sends no mails" in page
    answer = client.post("/portal/team/", {"email": "new@ada.example", "role": "reader"})
    first = link_in(answer, "invitation")
    assert "No mail is sent" in answer.content.decode()
    new = Member.objects.get(user__username="new@ada.example")
    again = client.post(reverse("portal:invite_again", args=[new.pk]))
    second = link_in(again, "invitation")
    assert Client().get(first).status_code == 410, "the newer link voids it"
    visitor = choose(second)
    sent = {"email": "new@ada.example", "password": PASSWORD}
    assert visitor.post("/portal/sign-in/", sent).status_code == 302
    assert client_of_redis().llen("default") == 0, "no task of a mail waits"


def test_a_reader_gets_no_link(reader: Any, person: Any, ada: Any, browser: Browser) -> None:
    new = person(ada, "reader", "new@ada.example")
    new.user.set_unusable_password()
    new.user.save()
    client = browser(reader)
    assert client.post(reverse("portal:invite_again", args=[new.pk])).status_code == 403


def test_staff_is_told_that_an_invitation_is_not_mailed(admin_client: Client, ada: Any) -> None:
    form = {"customer": ada.pk, "email": "new@ada.example", "role": "owner"}
    answer = admin_client.post(reverse("admin:portal_member_add"), form)
    page = answer.content.decode()
    assert "It is not mailed: pass it on yourself" in page and "being mailed" not in page
    choose(link_in(answer, "invitation"))


def test_staff_makes_a_link_where_a_password_was_forgotten(
    admin_client: Client, owner: Any, client: Client
) -> None:
    page = client.get("/portal/password/").content.decode()
    assert "sends no mails. Ask its operator" in page and "<form" not in page.split("<main")[1]
    posted = client.post("/portal/password/", {"email": owner.user.username}).content.decode()
    assert "is being mailed" not in posted
    path = reverse("admin:portal_member_order", args=[owner.pk, "new_link"])
    assert "The present one stays good" in admin_client.get(path).content.decode()
    answer = admin_client.post(path)
    assert "It works once, for 3 hours" in answer.content.decode()
    choose(link_in(answer, "password"))
    assert AuditEntry.objects.filter(verb="made a password link", subject=str(owner)).exists()


def test_a_link_is_made_only_for_who_has_a_password(admin_client: Client, owner: Any) -> None:
    owner.user.set_unusable_password()
    owner.user.save()
    path = reverse("admin:portal_member_order", args=[owner.pk, "new_link"])
    page = admin_client.post(path, follow=True).content.decode()
    assert "Has no password yet: invite again" in page and "/portal/password/" not in page


def test_a_colleague_is_not_mailed_either(admin_client: Client, mail_folder: Path) -> None:
    form = {"username": "grace", "email": "g@example.org", "role": "operator"}
    page = admin_client.post("/admin/auth/user/add/", form).content.decode()
    assert "Not mailed: give it to the person yourself" in page and "Mailed to" not in page
    assert "/admin/password/" in page and not mail_folder.exists()
    assert User.objects.filter(username="grace").exists()


def test_home_and_rules_say_that_alarms_are_not_mailed(admin_client: Client, settings: Any) -> None:
    settings.STAFF_MAIL = ["ops@example.com"]
    home = admin_client.get("/admin/").content.decode()
    rules = admin_client.get("/admin/operations/alarm/rules/").content.decode()
    assert "mailed to STAFF_MAIL" not in home
    assert "Mails are written to files: EMAIL_URL is not set" in rules
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert "written to files" not in admin_client.get("/admin/operations/alarm/rules/").text


def test_a_delivery_says_that_it_is_a_file(
    admin_client: Client, ada: Any, mail_folder: Path
) -> None:
    now = timezone.now()
    events.publish(
        "key.revoked",
        about="key A",
        text="key A was revoked.",
        data={},
        now=now,
        customer_id=ada.pk,
    )
    routing.route_events(now=now, staff_mail=[])
    (turn,) = mailing.claim(now=now, most=1)
    assert mailing.deliver(turn, clock=lambda: now) == 1
    assert len(list(mail_folder.iterdir())) == 1
    delivery = Delivery.objects.get()
    page = admin_client.get(reverse("admin:alerts_delivery_change", args=[delivery.pk])).text
    assert "written to a file" in page and "EMAIL_URL is not set" in page
    assert "accepted" not in page.split("Attempts")[1]
