"""Links to a password: for one use, for one person, and void once something changed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from portal.models import Member
from portal.services import mails, members
from portal.services.links import Purpose
from staff import sessions
from staff.models import AuditEntry
from tests.lock_waits import until_waiting
from tests.patience import PATIENCE_SECONDS
from tests.portal.conftest import PASSWORD, Browser, People

CHOSEN = {"password": "a good one 1", "again": "a good one 1"}


def path_of(member: Any, purpose: Purpose = Purpose.FORGOTTEN) -> str:
    return "/" + mails.link_of(member.user, purpose).partition("//")[2].partition("/")[2]


def _reactivate(member: Any) -> None:
    for active in (False, True):
        members.set_active(member, active=active, now=timezone.now())


def _save_user(**values: Any) -> Callable[[Any], None]:
    return lambda member: User.objects.filter(pk=member.user_id).update(**values) and None


ENDS: dict[str, Callable[[Any], None]] = {
    "used": lambda member: Client().post(path_of(member), CHOSEN) and None,
    "signed in": lambda member: Client().force_login(member.user),
    "a new password": lambda member: members.choose_password(member.user, "another good one"),
    "deactivated": lambda member: members.set_active(member, active=False, now=timezone.now()),
    "deactivated for a while": _reactivate,
    "signed out everywhere": lambda member: sessions.sign_out_everywhere(
        member.user, timezone.now()
    ),
    "another address": _save_user(username="other@ada.example"),
    "joined the staff": _save_user(is_staff=True),
    "left the customer": lambda member: Member.objects.filter(pk=member.pk).delete() and None,
    "removed": members.forget,
}


@pytest.mark.django_db
@pytest.mark.parametrize("what", ENDS)
@pytest.mark.parametrize("purpose", Purpose)
def test_a_link_ends_with_what_it_was_made_for(owner: Any, what: str, purpose: Purpose) -> None:
    path, visitor = path_of(owner, purpose), Client()
    assert visitor.get(path).status_code == 200
    ENDS[what](owner)
    after = User.objects.filter(pk=owner.user_id).values_list("password", flat=True).first()
    for answer in (visitor.get(path), visitor.post(path, CHOSEN)):
        assert answer.status_code == 410
        assert "owner@ada.example" not in answer.content.decode()
    now = User.objects.filter(pk=owner.user_id).values_list("password", flat=True).first()
    assert now == after


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_link_at_once_one_sets_the_password(owner: Any) -> None:
    path, arrived = path_of(owner), threading.Barrier(5)
    words = [f"high water at {number}" for number in range(4)]

    def choose(word: str) -> str:
        try:
            arrived.wait(PATIENCE_SECONDS)
            page = Client().post(path, {"password": word, "again": word}).content.decode()
            return word if "The password is set" in page else ""
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        with transaction.atomic():  # all have read the user before the first may write it
            User.objects.select_for_update().get(pk=owner.user_id)
            told = [pool.submit(choose, word) for word in words]
            arrived.wait(PATIENCE_SECONDS)
            until_waiting(4)
        said = [each.result() for each in told]
    (chosen,) = filter(None, said)
    assert User.objects.get(pk=owner.user_id).check_password(chosen)
    assert AuditEntry.objects.filter(verb="chose a password").count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("purpose", Purpose)
def test_scanners_of_mails_use_no_link_up(owner: Any, purpose: Purpose) -> None:
    path = path_of(owner, purpose)
    for method in ("head", "get", "head", "get"):
        assert getattr(Client(), method)(path).status_code == 200
    for method in ("options", "put", "delete"):
        assert getattr(Client(), method)(path).status_code == 405
    assert "The password is set" in Client().post(path, CHOSEN).content.decode()


@pytest.mark.django_db
def test_a_link_opened_by_somebody_else_gives_and_takes_nothing(
    owner: Any, eve: Any, person: People, browser: Browser
) -> None:
    other = person(eve, "owner")
    client, path = browser(other), path_of(owner)
    more = {
        "role": "owner",
        "is_staff": "on",
        "is_superuser": "on",
        "email": other.user.username,
        "user": other.user_id,
        "customer": eve.pk,
        "username": other.user.username,
    }
    assert "The password is set" in client.post(path, {**CHOSEN, **more}).content.decode()
    for member in (owner, other):
        before = Member.objects.values().get(pk=member.pk)
        assert (before["customer_id"], before["role"]) == (member.customer_id, member.role)
        user = User.objects.get(pk=member.user_id)
        assert (user.username, user.is_staff) == (member.user.username, False)
    assert User.objects.get(pk=other.user_id).check_password(PASSWORD)
    # The visitor stays who they were.
    assert client.get("/portal/account/").context["member"] == other
    assert AuditEntry.objects.get(verb="chose a password").who == owner.user.username


@pytest.mark.django_db
def test_a_link_that_was_changed_anywhere_is_refused(owner: Any, reader: Any) -> None:
    path = path_of(owner)
    token = path.split("/")[3]
    content, stamp, seal = token.split(":")
    pk, state = signing.loads(token, salt="portal.links.FORGOTTEN")
    elsewhere = signing.dumps([pk, state], key="another", salt="portal.links.FORGOTTEN")
    for_other = path_of(reader).split("/")[3].split(":")
    wrong = [
        elsewhere,
        f"{content}:{stamp}",
        f"{content}:{stamp}:",
        "x",
        f"{token}:{seal}",
        f"{for_other[0]}:{stamp}:{seal}",
        f"{content}:{for_other[1]}x:{seal}",
        signing.dumps([pk, state], salt="portal.links.INVITATION"),
        signing.dumps([reader.user_id, state], salt="portal.links.FORGOTTEN"),
        signing.dumps([pk], salt="portal.links.FORGOTTEN"),
        signing.dumps({"pk": pk}, salt="portal.links.FORGOTTEN"),
        *(token[:at] + "_" + token[at + 1 :] for at in range(0, len(token), 7)),
    ]
    client = Client()
    for text in {*wrong} - {token}:
        assert client.get(f"/portal/password/{text}/").status_code == 410, text
    assert client.get(path).status_code == 200


@pytest.mark.django_db
def test_the_address_of_a_link_is_told_to_nobody_else(owner: Any) -> None:
    for purpose in Purpose:
        answer = Client().get(path_of(owner, purpose))
        page = answer.content.decode()
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert "no-store" in answer.headers["Cache-Control"]
        assert "http://" not in page and "https://" not in page
