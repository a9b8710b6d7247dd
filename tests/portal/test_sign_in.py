"""Signing in and out, and links that lead to a password."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_otp.oath import totp

from portal import tasks
from portal.services import links, mails, members
from portal.services.links import Purpose
from shared_state.redis_client import client as client_of_redis
from staff import second_factor, sessions
from staff.models import AuditEntry
from tests.portal.conftest import PASSWORD, Browser

pytestmark = pytest.mark.django_db

SIGN_IN = "/portal/sign-in/"
HOME = "/portal/"


def sign_in(client: Client, email: str, password: str = PASSWORD, **more: str) -> Any:
    return client.post(SIGN_IN, {"email": email, "password": password, **more})


def is_in(client: Client) -> bool:
    return client.get(HOME).status_code == 200


def test_sign_in_by_address_in_any_case_and_out(owner: Any, client: Client) -> None:
    answer = sign_in(client, "Owner@ADA.example")
    assert answer.status_code == 302 and answer.headers["Location"] == HOME
    assert is_in(client)
    assert client.get(SIGN_IN).headers["Location"] == HOME
    assert client.get("/portal/sign-out/").status_code == 405
    client.post("/portal/sign-out/")
    assert not is_in(client)
    entries = AuditEntry.objects.filter(who="owner@ada.example").order_by("pk")
    assert [entry.verb for entry in entries] == ["signed in", "signed out"]


@pytest.mark.parametrize(
    ("asked", "leads_to"),
    [
        ("/portal/keys/?x=1", "/portal/keys/?x=1"),
        ("/admin/", HOME),
        ("https://evil.example/portal/", HOME),
        ("//evil.example/portal/", HOME),
        ("", HOME),
    ],
)
def test_signing_in_leads_on_within_the_portal(
    owner: Any, client: Client, asked: str, leads_to: str
) -> None:
    answer = sign_in(client, owner.user.username, next=asked)
    assert answer.status_code == 302
    assert answer.headers["Location"] == leads_to


def test_who_is_led_here_comes_back(owner: Any, client: Client) -> None:
    answer = client.get("/portal/keys/", follow=True)
    assert answer.context["next"] == "/portal/keys/"


def test_a_wrong_password_an_unknown_address_and_staff_are_answered_alike(
    owner: Any, client: Client
) -> None:
    User.objects.create_superuser("boss@tidemark.example", password=PASSWORD)
    User.objects.create_user("nobody@nowhere.example", password=PASSWORD)
    User.objects.create_user("off@ada.example", password=PASSWORD, is_active=False)
    texts, statements = set(), set()
    for name, password in (
        (owner.user.username, "wrong"),
        ("unknown@ada.example", PASSWORD),
        ("boss@tidemark.example", PASSWORD),
        ("boss@tidemark.example", "wrong"),
        ("off@ada.example", PASSWORD),
        ("nobody@nowhere.example", PASSWORD),
    ):
        with CaptureQueriesContext(connection) as caught:
            answer = sign_in(client, name, password)
        statements.add(len(caught))
        assert answer.status_code == 200 and not is_in(client)
        texts |= set(re.findall('class="errorlist[^>]*>.*?</ul>', answer.content.decode(), re.S))
    assert len(texts) == 1 and "Wrong e-mail address or password" in texts.pop()
    assert len(statements) == 1, "time tells as little"


def test_a_staff_password_that_is_tried_here_is_in_the_log(owner: Any, client: Client) -> None:
    """Else a password could be checked here with nothing written."""
    boss = User.objects.create_superuser("boss@tidemark.example", password=PASSWORD)
    for password in (PASSWORD, "wrong"):
        assert sign_in(client, boss.username, password).status_code == 200
    tried = AuditEntry.objects.filter(verb="failed to sign in", subject=boss.username)
    told = [(each.subject_id, each.text) for each in tried]
    assert told == [(str(boss.pk), f"At {SIGN_IN}.")] * 2


def test_passwords_cannot_be_guessed_at_leisure(owner: Any) -> None:
    statuses = [
        sign_in(Client(REMOTE_ADDR=f"198.51.100.{number}"), owner.user.username, "x").status_code
        for number in range(61)
    ]
    assert statuses == [200] * 60 + [429], "by account"
    one = Client(REMOTE_ADDR="198.51.100.99")
    answers = [sign_in(one, f"{number}@ada.example", "x") for number in range(11)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429], "by address"
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert f'href="{SIGN_IN}"' in answers[-1].content.decode()


def test_sessions_end_when_somebody_is_deactivated_or_removed(
    owner: Any, reader: Any, browser: Browser
) -> None:
    first, second = browser(owner), browser(reader)
    assert is_in(first) and is_in(second)
    members.set_active(reader, active=False, now=timezone.now())
    assert not is_in(second) and is_in(first)
    members.set_active(reader, active=True, now=timezone.now())
    assert not is_in(second), "an old session does not come back"
    members.forget(owner)
    assert not is_in(first)
    assert not User.objects.filter(username="owner@ada.example").exists()


def test_sign_out_everywhere_and_a_new_password_end_other_sessions(
    owner: Any, browser: Browser
) -> None:
    here, there = browser(owner), browser(owner)
    new = {"current": PASSWORD, "password": "another good one", "again": "another good one"}
    here.post("/portal/account/", new)
    assert is_in(here) and not is_in(there)
    owner.user.refresh_from_db()
    there = browser(owner)
    there.post("/portal/account/sign-out/")
    assert not is_in(here) and not is_in(there)


# --- invitations and forgotten passwords ---


def test_an_invitation_is_good_once(ada: Any, client: Client) -> None:
    member = members.invite(ada, email="New@Ada.example", role="reader")
    assert sign_in(client, "new@ada.example", "").status_code == 200 and not is_in(client)
    tasks.mail_invitation(member.pk)
    (sent,) = mail.outbox
    assert sent.to == ["new@ada.example"] and str(ada) in sent.body
    found = re.search(r"https?://[^/]+(/portal/invitation/\S+)", sent.body)
    assert found is not None
    link = found[1]
    assert "new@ada.example" in client.get(link).content.decode()
    for password, again, problem in (
        ("a good one 1", "another", "The passwords differ"),
        ("12345678", "12345678", "entirely numeric"),
        ("new@ada.example", "new@ada.example", "too similar"),
        ("", "", "required"),
    ):
        answer = client.post(link, {"password": password, "again": again})
        assert problem in answer.content.decode()
    chosen = {"password": "a good one 1", "again": "a good one 1"}
    assert "The password is set" in client.post(link, chosen).content.decode()
    assert not is_in(client), "the link alone signs nobody in"
    sign_in(client, "new@ada.example", "a good one 1")
    assert is_in(client)
    assert client.get(link).status_code == 410
    assert client.post(link, chosen).status_code == 410
    entry = AuditEntry.objects.get(verb="chose a password")
    assert entry.who == "new@ada.example"


def test_links_end_with_time_and_are_for_one_purpose(
    ada: Any, owner: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = members.invite(ada, email="new@ada.example", role="reader")
    token = links.token_for(member.user, Purpose.INVITATION)
    assert client.get(reverse("portal:invitation", args=[token])).status_code == 200
    assert client.get(reverse("portal:new_password", args=[token])).status_code == 410
    assert client.get(reverse("portal:invitation", args=["X" + token[1:]])).status_code == 410
    members.invite_again(member)
    assert client.get(reverse("portal:invitation", args=[token])).status_code == 410
    token = links.token_for(member.user, Purpose.INVITATION)
    members.set_active(member, active=False, now=timezone.now())
    assert client.get(reverse("portal:invitation", args=[token])).status_code == 410
    forgotten = links.token_for(owner.user, Purpose.FORGOTTEN)
    import time

    late = time.time() + 3 * 3600 + 1
    monkeypatch.setattr("django.core.signing.time.time", lambda: late)
    assert client.get(reverse("portal:new_password", args=[forgotten])).status_code == 410


def test_a_forgotten_password_is_chosen_anew_by_mail(owner: Any, client: Client) -> None:
    before = Client()
    sign_in(before, owner.user.username)
    texts = set()
    for email in ("OWNER@ada.example", "unknown@ada.example"):
        answer = client.post("/portal/password/", {"email": email})
        texts.add(re.sub("csrf.*?>", "", answer.content.decode()))
        tasks.mail_new_password(members.username_of(email))
    assert len(texts) == 1 and "is being mailed" in texts.pop()
    assert client_of_redis().llen("default") == 2, "the worker is asked for either"
    assert tasks.mail_new_password.name == "portal.tasks.mail_new_password"
    (sent,) = mail.outbox
    found = re.search(r"/portal/password/\S+", sent.body)
    assert found is not None
    client.post(found[0], {"password": "a good one 1", "again": "a good one 1"})
    assert not is_in(before), "every session is over"
    sign_in(client, owner.user.username, "a good one 1")
    assert is_in(client)
    assert client.get(found[0]).status_code == 410


def test_nobody_is_mailed_at_leisure(owner: Any) -> None:
    asked = {"email": owner.user.username}
    statuses = [
        Client(REMOTE_ADDR=f"198.51.100.{number}").post("/portal/password/", asked).status_code
        for number in range(4)
    ]
    assert statuses == [200, 200, 200, 429]


def test_who_cannot_sign_in_gets_no_mail(owner: Any, ada: Any) -> None:
    User.objects.create_superuser("boss@tidemark.example", "boss@tidemark.example", PASSWORD)
    members.set_active(owner, active=False, now=timezone.now())
    for email in ("boss@tidemark.example", owner.user.username):
        mails.mail_new_password(email)
    assert not mail.outbox
    members.invite(ada, email="new@ada.example", role="reader")
    mails.mail_new_password("new@ada.example")
    assert "invited" in mail.outbox[0].body


# --- the second step ---


def with_app(member: Any) -> Any:
    device = second_factor.new_device(member.user)
    device.confirmed = True
    device.save()
    return device


def code_of(device: Any, drift: int = 0) -> str:
    return f"{totp(device.bin_key, drift=drift):06d}"


def test_who_has_an_app_is_asked_for_its_code(owner: Any, client: Client) -> None:
    device = with_app(owner)
    answer = sign_in(client, owner.user.username, next="/portal/keys/")
    assert answer.headers["Location"] == "/portal/sign-in/code/"
    assert not is_in(client)
    assert "Wrong " in client.post("/portal/sign-in/code/", {"code": "000000"}).content.decode()
    second_factor.device_of(owner.user).throttle_reset()  # type: ignore[union-attr]
    code = code_of(device)
    answer = client.post("/portal/sign-in/code/", {"code": code})
    assert answer.headers["Location"] == "/portal/keys/" and is_in(client)
    again = Client()
    sign_in(again, owner.user.username)
    answer = again.post("/portal/sign-in/code/", {"code": code})
    assert "Wrong " in answer.content.decode() and not is_in(again), "a code is good once"


def test_without_a_password_there_is_no_second_step(owner: Any, client: Client) -> None:
    with_app(owner)
    assert client.get("/portal/sign-in/code/").headers["Location"] == SIGN_IN
    assert client.post("/portal/sign-in/code/", {"code": "1"}).headers["Location"] == SIGN_IN


def test_staff_between_its_steps_does_not_come_in_here(client: Client) -> None:
    boss = User.objects.create_superuser("boss", password=PASSWORD)
    second_factor.new_device(boss)
    client.post("/admin/login/", {"username": "boss", "password": PASSWORD})
    assert client.get("/portal/sign-in/code/").headers["Location"] == SIGN_IN


def test_a_session_from_before_the_app_has_to_sign_in_again(owner: Any, browser: Browser) -> None:
    before = browser(owner)
    assert is_in(before)
    with_app(owner)
    assert not is_in(before)


def test_setting_up_using_a_recovery_code_and_turning_off(owner: Any, browser: Browser) -> None:
    client = browser(owner)
    page = client.get("/portal/account/second-step/").content.decode()
    device = second_factor.new_device(owner.user)
    assert "<svg" in page and second_factor.secret_text(device) in page
    assert (
        "Wrong code" in client.post("/portal/account/second-step/", {"code": "1"}).content.decode()
    )
    device.refresh_from_db()
    device.throttle_reset()
    answer = client.post("/portal/account/second-step/", {"code": code_of(device)})
    codes = answer.context["codes"]
    assert len(codes) == 10 and all(code in answer.content.decode() for code in codes)
    assert is_in(client)

    other = Client()
    sign_in(other, owner.user.username)
    other.post("/portal/sign-in/code/", {"code": codes[0]})
    assert is_in(other)
    assert "9 recovery codes left" in other.get("/portal/account/").content.decode()

    wrong = {"current": "not it", "code": codes[1]}
    other.post("/portal/account/turn-off/", wrong)
    assert second_factor.has_device(owner.user)
    answer = other.post("/portal/account/recovery-codes/", {"current": PASSWORD, "code": codes[2]})
    renewed = answer.context["codes"]
    assert not set(renewed) & set(codes)
    other.post("/portal/account/turn-off/", {"current": PASSWORD, "code": renewed[0]})
    assert not second_factor.has_device(owner.user)
    verbs = set(AuditEntry.objects.values_list("verb", flat=True))
    assert verbs >= {
        "set up a second factor",
        "renewed the recovery codes",
        "removed the second factor",
    }


def test_a_session_ends_after_its_time(owner: Any, browser: Browser, settings: Any) -> None:
    client = browser(owner)
    settings.SESSION_COOKIE_AGE = 0
    assert sessions.standing(owner.user).signed_out_before is None
    assert not is_in(client)


def test_the_password_is_changed_by_who_knows_it(owner: Any, browser: Browser) -> None:
    client = browser(owner)
    for current, password, problem in (
        ("not it", "a good one 1", "Wrong password"),
        (PASSWORD, "password", "too common"),
    ):
        form = {"current": current, "password": password, "again": password}
        assert problem in client.post("/portal/account/", form).content.decode()
    owner.user.refresh_from_db()
    assert owner.user.check_password(PASSWORD)
