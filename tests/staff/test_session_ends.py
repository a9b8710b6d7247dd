"""What ends sessions, of staff and of portal users, and what a session is made of."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from access import windows
from staff import second_factor
from staff.models import AuditEntry
from tests.staff.conftest import PASSWORD

NEW = "Low-tide-at-7"
# The pages of a user of the admin and of the portal.
STAFF = {"home": "/admin/", "sign_in": "/admin/login/", "code": "/admin/login/code/"}
PORTAL = {"home": "/portal/", "sign_in": "/portal/sign-in/", "code": "/portal/sign-in/code/"}


class Someone:
    """A user with two browsers: the one that acts and another one, each signed in with a code."""

    def __init__(self, pages: dict[str, str], user: Any, code_of: Callable[..., str]) -> None:
        self.pages, self.user, self._code_of = pages, user, code_of
        self.codes = second_factor.renew_recovery_codes(user)
        self.here, self.there = self.signed_in(), self.signed_in()

    def code(self) -> str:
        return self._code_of(self.user)

    def give_password(self, browser: Client, **more: str) -> Any:
        name = self.user.username
        sent = {"username": name, "email": name, "password": PASSWORD, **more}
        return browser.post(self.pages["sign_in"], sent)

    def signed_in(self) -> Client:
        browser = Client()
        self.give_password(browser)
        if second_factor.has_device(self.user):
            browser.post(self.pages["code"], {"code": self.code()})
        assert self.is_in(browser)
        windows.forget()
        return browser

    def is_in(self, browser: Client) -> bool:
        return bool(browser.get(self.pages["home"]).status_code == 200)


@pytest.fixture(params=["staff", "portal"])
def someone(
    request: pytest.FixtureRequest,
    nothing_remembered: None,
    person: Callable[..., Any],
    code_of: Callable[..., str],
) -> Someone:
    from access.models import Customer
    from portal.services import members

    pages = STAFF if request.param == "staff" else PORTAL
    if pages is STAFF:
        user = person("administrator")
    else:
        customer = Customer.objects.create(name="Ada's")
        user = members.invite(customer, email="ada@ada.example", role="owner").user
        user.set_password(PASSWORD)
        user.save()
    second_factor.new_device(user)
    user.totpdevice_set.update(confirmed=True)
    return Someone(pages, User.objects.get(pk=user.pk), code_of)


def _new_password(who: Someone) -> None:
    if who.pages is STAFF:
        sent = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
        who.here.post("/admin/password_change/", sent)
    else:
        sent = {"current": PASSWORD, "password": NEW, "again": NEW}
        who.here.post("/portal/account/", sent)


def _turn_off(who: Someone) -> None:
    if who.pages is STAFF:
        sent = {"order": "turn_off", "password": PASSWORD, "code": who.code()}
        who.here.post("/admin/two-factor/", sent)
    else:
        who.here.post("/portal/account/turn-off/", {"current": PASSWORD, "code": who.code()})
    assert not second_factor.has_device(who.user)


def _renew_codes(who: Someone) -> None:
    code = who.codes[5]  # a session that began with a recovery code does this
    if who.pages is STAFF:
        who.here.post("/admin/two-factor/", {"order": "renew", "code": code})
    else:
        sent = {"current": PASSWORD, "code": code}
        who.here.post("/portal/account/recovery-codes/", sent)
    assert second_factor.recovery_codes_left(who.user) == second_factor.RECOVERY_CODES


def _by_staff(name: str) -> Callable[[Someone], None]:
    def act(who: Someone) -> None:
        boss = Client()
        boss.force_login(User.objects.create_superuser("boss", password=PASSWORD))
        if who.pages is STAFF:
            path = f"/admin/auth/user/{who.user.pk}/order/{name}/"
        else:
            path = f"/admin/portal/member/{who.user.member.pk}/order/{name}/"
        assert boss.post(path).status_code == 302

    return act


def _deactivated(who: Someone) -> None:
    User.objects.filter(pk=who.user.pk).update(is_active=False)


# What happens → whether the session that does it, and the other one, go on.
EVENTS: dict[str, tuple[Callable[[Someone], None], bool, bool]] = {
    "a new password": (_new_password, True, False),
    "the second factor is turned off": (_turn_off, True, False),
    "new recovery codes": (_renew_codes, True, True),
    "the second factor is reset": (_by_staff("reset_second_factor"), False, False),
    "signed out by staff": (_by_staff("sign_out"), False, False),
    "deactivated": (_deactivated, False, False),
    "signed out": (lambda who: who.here.post(_sign_out(who)) and None, False, True),
    "removed": (lambda who: who.user.delete() and None, False, False),
}


def _sign_out(who: Someone) -> str:
    return "/admin/logout/" if who.pages is STAFF else "/portal/sign-out/"


@pytest.mark.parametrize("event", EVENTS)
def test_a_session_ends_with_what_it_stands_on(someone: Someone, event: str) -> None:
    happen, here, there = EVENTS[event]
    happen(someone)
    assert (someone.is_in(someone.here), someone.is_in(someone.there)) == (here, there)


def test_a_session_that_began_with_a_recovery_code_survives_new_codes(someone: Someone) -> None:
    someone.here = Client()
    someone.give_password(someone.here)
    someone.here.post(someone.pages["code"], {"code": someone.codes[0]})
    assert someone.is_in(someone.here)
    _renew_codes(someone)
    assert someone.is_in(someone.here)


def test_a_session_from_before_the_app_does_not_come_back_when_it_is_off(
    someone: Someone,
) -> None:
    second_factor.remove(someone.user, AuditEntry.objects.latest("pk").at)
    old, new = someone.signed_in(), someone.signed_in()
    second_factor.new_device(someone.user)
    someone.user.totpdevice_set.update(confirmed=True)
    someone.here = new
    new.post(someone.pages["sign_in"])
    someone.give_password(new)
    new.post(someone.pages["code"], {"code": someone.code()})
    assert someone.is_in(new)
    _turn_off(someone)
    assert someone.is_in(new) and not someone.is_in(old)


@pytest.mark.parametrize("second_step", [True, False])
def test_a_session_that_was_planted_is_not_signed_in(someone: Someone, second_step: bool) -> None:
    if not second_step:
        someone.user.totpdevice_set.all().delete()
    victim, attacker = Client(), Client()
    session = victim.session
    session["planted"] = True
    session.save()
    planted = session.session_key
    keys = {planted}
    for browser in (victim, attacker):
        browser.cookies["tidemark_session"] = planted
    someone.give_password(victim)
    if second_step:
        keys.add(victim.cookies["tidemark_session"].value)
        victim.post(someone.pages["code"], {"code": someone.code()})
    assert someone.is_in(victim)
    own = victim.cookies["tidemark_session"].value
    assert own not in keys
    for key in keys:
        attacker.cookies["tidemark_session"] = key
        assert not someone.is_in(attacker)
        assert not Session.objects.filter(session_key=key).exists()
    victim.post(_sign_out(someone))
    assert not Session.objects.filter(session_key=own).exists()


@pytest.mark.parametrize("behind_https", [True, False])
def test_the_flags_of_cookies(someone: Someone, settings: Any, behind_https: bool) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = behind_https
    browser = Client()
    browser.get(someone.pages["sign_in"])
    someone.give_password(browser)
    browser.post(someone.pages["code"], {"code": someone.code()})
    session, csrf = (browser.cookies[f"tidemark_{name}"] for name in ("session", "csrf"))
    for cookie in (session, csrf):
        assert bool(cookie["secure"]) == behind_https
        assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Lax", "/", "")
    assert session["httponly"]
    assert 0 < session["max-age"] <= 12 * 3_600


OUTSIDE = [
    "https://evil.example/",
    "//evil.example/",
    "///evil.example/",
    "http:///evil.example/",
    "/\\evil.example/",
    "\\\\evil.example/",
    "https:evil.example",
    "javascript:alert(1)",
    "\t//evil.example/",
    "/\t/evil.example/",
    "//evil.example/portal/",
    "/portal//evil.example",
    "/portal/\\\\evil.example/",
    "/portal/\r\nSet-Cookie: a=b",
    "/portal/@evil.example/",
    "https://testserver@evil.example/",
    "https://testserver.evil.example/portal/",
    "//evil.example/admin/",
    "/admin/\r\nLocation: https://evil.example",
    "data:text/html,x",
]


@pytest.mark.parametrize("second_step", [True, False])
def test_signing_in_leads_nowhere_else(someone: Someone, second_step: bool) -> None:
    if not second_step:
        someone.user.totpdevice_set.all().delete()
    for number, asked in enumerate(OUTSIDE):
        browser = Client(REMOTE_ADDR=f"198.51.100.{number}")
        answer = someone.give_password(browser, next=asked)
        if second_step:
            answer = browser.post(someone.pages["code"], {"code": someone.code()})
        assert answer.status_code == 302
        to = answer.headers["Location"]
        assert "\n" not in to and "\r" not in to
        # A browser reads a backslash as a slash, and leaves out tabs.
        read = to.replace("\\", "/").replace("\t", "").strip()
        led = urlsplit(urljoin("http://testserver/portal/sign-in/", read))
        assert (led.scheme, led.netloc) == ("http", "testserver"), to
