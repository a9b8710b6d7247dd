"""Links to a password of the admin: for one use, and void once something changed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from staff import invitations, sessions
from staff.models import AuditEntry
from tests.lock_waits import until_waiting
from tests.patience import PATIENCE_SECONDS
from tests.staff.conftest import PASSWORD

CHOSEN = {"new_password1": "Low-tide-at-7", "new_password2": "Low-tide-at-7"}


def path_of(user: Any) -> str:
    return "/" + invitations.link_for(user).partition("//")[2].partition("/")[2]


def opened(path: str, browser: Client) -> str:
    """The address of the form, to which the link leads."""
    return str(browser.get(path, follow=True).request["PATH_INFO"])


def _save(user: Any, **values: Any) -> None:
    User.objects.filter(pk=user.pk).update(**values)


def _sign_out(user: Any) -> None:
    sessions.sign_out_everywhere(user, timezone.now())


ENDS: dict[str, Callable[[Any], None]] = {
    "signed in": lambda user: Client().force_login(user),
    "deactivated": lambda user: _save(user, is_active=False),
    "signed out everywhere": _sign_out,
    "another address": lambda user: _save(user, email="other@example.org"),
    "no longer staff": lambda user: _save(user, is_staff=False),
    "a new password": lambda user: _save(user, password="!"),
    "removed": lambda user: user.delete() and None,
}


@pytest.mark.parametrize("what", ENDS)
def test_a_link_ends_with_what_it_was_made_for(person: Callable[..., Any], what: str) -> None:
    user = person("viewer", email="g@example.org")
    pk, path, early = user.pk, path_of(user), Client()
    form = opened(path, early)
    assert "You will sign in as" in early.get(form).content.decode()
    ENDS[what](user)
    before = list(User.objects.filter(pk=pk).values_list("password"))
    late = Client()
    for answer in (early.post(form, CHOSEN), late.post(opened(path, late), CHOSEN)):
        assert "This link is invalid" in answer.content.decode()
    assert list(User.objects.filter(pk=pk).values_list("password")) == before


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_link_at_once_one_sets_the_password(person: Callable[..., Any]) -> None:
    user, arrived = person("viewer"), threading.Barrier(5)
    path = path_of(user)
    words = [f"High-water-at-{number}" for number in range(4)]

    def choose(word: str) -> str:
        browser = Client()
        try:
            form = opened(path, browser)
            arrived.wait(PATIENCE_SECONDS)
            done = browser.post(form, {"new_password1": word, "new_password2": word})
            return word if done.status_code == 302 else ""
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        told = [pool.submit(choose, word) for word in words]
        with transaction.atomic():  # all have read the user before the first may write it
            User.objects.select_for_update().get(pk=user.pk)
            arrived.wait(PATIENCE_SECONDS)
            until_waiting(4)
        (chosen,) = filter(None, [each.result() for each in told])
    assert User.objects.get(pk=user.pk).check_password(chosen)
    assert AuditEntry.objects.filter(verb="chose a password").count() == 1


def test_scanners_of_mails_use_no_link_up(person: Callable[..., Any]) -> None:
    user = person("viewer")
    path = path_of(user)
    for method in ("head", "get", "head", "get"):
        assert getattr(Client(), method)(path, follow=True).status_code == 200
    browser = Client()
    assert browser.post(opened(path, browser), CHOSEN).status_code == 302
    assert not User.objects.get(pk=user.pk).check_password(PASSWORD)


def test_a_link_that_was_changed_anywhere_is_refused(person: Callable[..., Any]) -> None:
    first, second = person("viewer"), person("administrator")
    path, others = path_of(first), path_of(second)
    (_, _, _, who, token, _), (_, _, _, _, other_token, _) = path.split("/"), others.split("/")
    wrong = [
        f"/admin/password/{others.split('/')[3]}/{token}/",
        f"/admin/password/{who}/x-y/",
        f"/admin/password/{who}/{other_token}/",
        f"/admin/password/{who}/choose/",
        f"/admin/password/x/{token}/",
        f"/admin/password/{who}/{token}0/",
        f"/admin/password/{who}/0{token}/",
    ]
    for each in wrong:
        page = Client().get(each, follow=True).content.decode()
        assert "This link is invalid" in page, each
    # Of one link's session the form of another user's link is not opened.
    browser = Client()
    form = opened(path, browser)
    swapped = form.replace(f"/{who}/", f"/{others.split('/')[3]}/")
    assert "This link is invalid" in browser.post(swapped, CHOSEN).content.decode()
    assert User.objects.get(pk=second.pk).check_password(PASSWORD)
    assert "You will sign in as" in browser.get(form).content.decode()
