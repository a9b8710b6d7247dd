"""Signing in with a second factor, and no way around it."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.staff.conftest import PASSWORD

LOGIN, CODE, PAGE = "/admin/login/", "/admin/login/code/", "/admin/two-factor/"


@pytest.fixture(autouse=True)
def _no_attempts_before(empty_redis: None) -> Iterator[None]:
    from access import windows

    windows.forget()
    yield
    windows.forget()


def give_password(browser: Any, user: Any, **asked: Any) -> Any:
    return browser.post(LOGIN, {"username": user.username, "password": PASSWORD, **asked})


def is_in(browser: Any) -> bool:
    return bool(browser.get("/admin/").status_code == 200)


def test_without_a_device_the_password_signs_in(client: Any, person: Callable[..., Any]) -> None:
    answer = give_password(client, person("viewer"))
    assert answer["Location"] == "/admin/"
    assert is_in(client)


def test_setting_it_up_shows_the_secret_once_and_takes_a_code(
    signed_in: Callable[..., Any], code_of: Callable[..., str]
) -> None:
    from staff import second_factor
    from staff.models import AuditEntry

    browser = signed_in("operator")
    assert f'href="{PAGE}"' in browser.get("/admin/").content.decode()  # the user's menu
    page = browser.get(PAGE).content.decode()
    secret = re.search(r'<code id="secret"[^>]*>([A-Z2-7 ]+)<', page)
    assert secret and len(secret[1].replace(" ", "")) == 32
    assert page.count("<svg") >= 1
    assert secret[1] in browser.get(PAGE).content.decode()  # loaded again: still the same
    wrong = browser.post(PAGE, {"order": "confirm", "code": "000000"})
    assert "Wrong or used code" in wrong.content.decode()
    assert not second_factor.has_device(browser.user)
    done = browser.post(PAGE, {"order": "confirm", "code": code_of(browser.user)})
    codes = re.findall(r"\b[a-z2-9]{5}-[a-z2-9]{5}\b", done.content.decode())
    assert len(set(codes)) == 10
    assert is_in(browser)  # who set it up has given a code
    page = browser.get(PAGE).content.decode()
    assert secret[1] not in page and codes[0] not in page
    assert AuditEntry.objects.filter(verb="set up a second factor").count() == 1


def test_password_then_code(
    client: Any,
    person: Callable[..., Any],
    with_device: Callable[..., Any],
    code_of: Callable[..., str],
) -> None:
    from staff.models import AuditEntry

    user = person("viewer")
    with_device(user)
    answer = client.post(
        f"{LOGIN}?next=/admin/rewind/gap/",
        {"username": user.username, "password": PASSWORD, "next": "/admin/rewind/gap/"},
    )
    assert answer["Location"] == CODE
    assert "_auth_user_id" not in client.session
    assert not is_in(client)
    assert client.get("/admin/password_change/").status_code == 302
    assert client.get(CODE).status_code == 200
    wrong = client.post(CODE, {"code": "000000"})
    assert wrong.status_code == 200
    assert not is_in(client)
    answer = client.post(CODE, {"code": code_of(user)})
    assert answer["Location"] == "/admin/rewind/gap/"
    assert is_in(client)
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == ["failed a second factor", "signed in"]
    client.post("/admin/logout/")
    assert AuditEntry.objects.first().verb == "signed out"  # type: ignore[union-attr]


def test_a_code_signs_in_once(
    person: Callable[..., Any], with_device: Callable[..., Any], code_of: Callable[..., str]
) -> None:
    from django.test import Client

    user = person("viewer")
    with_device(user)
    code = code_of(user)
    first, second = Client(), Client()
    for browser in (first, second):
        give_password(browser, user)
        browser.post(CODE, {"code": code})
    assert (is_in(first), is_in(second)) == (True, False)


def test_two_that_give_the_same_code_at_once(
    transactional_db: None,
    person: Callable[..., Any],
    with_device: Callable[..., Any],
    code_of: Callable[..., str],
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    from staff import second_factor

    user = person("viewer")
    recovery = with_device(user)[0]
    code = code_of(user)

    def give(text: str) -> bool:
        try:
            return second_factor.check_code(user, text) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(give, [code] * 6)) == 1
        assert sum(pool.map(give, [recovery] * 6)) == 1


def test_a_recovery_code_signs_in_once_and_is_nowhere_in_the_tables(
    person: Callable[..., Any], with_device: Callable[..., Any]
) -> None:
    from django.test import Client
    from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

    user = person("viewer")
    codes = with_device(user)
    stored = set(StaticToken.objects.values_list("token", flat=True))
    assert not stored & {*codes, *(code.replace("-", "") for code in codes)}
    browser = Client()
    give_password(browser, user)
    browser.post(CODE, {"code": codes[0].upper().replace("-", " ")})
    assert is_in(browser)
    again = Client()
    give_password(again, user)
    again.post(CODE, {"code": codes[0]})
    assert not is_in(again)
    StaticDevice.objects.update(throttling_failure_count=0, throttling_failure_timestamp=None)
    again.post(CODE, {"code": codes[1]})
    assert is_in(again)


def test_wrong_codes_make_the_next_one_wait(
    client: Any,
    person: Callable[..., Any],
    with_device: Callable[..., Any],
    code_of: Callable[..., str],
) -> None:
    from django_otp.plugins.otp_totp.models import TOTPDevice

    user = person("viewer")
    with_device(user)
    give_password(client, user)
    for failures in (1, 2, 3, 4, 5):
        TOTPDevice.objects.update(throttling_failure_count=failures - 1)
        TOTPDevice.objects.update(throttling_failure_timestamp=None)  # as if time had passed
        client.post(CODE, {"code": "000000"})
    right = code_of(user, forget=False)
    answer = client.post(CODE, {"code": right})
    assert re.search(r"Wait 1[0-6] s", answer.content.decode())
    assert not is_in(client)
    client.post(CODE, {"code": code_of(user)})
    assert is_in(client)


def test_the_code_page_is_limited_by_address_and_by_account(
    client: Any, person: Callable[..., Any], with_device: Callable[..., Any]
) -> None:
    user = person("viewer")
    with_device(user)
    give_password(client, user)
    statuses = [client.post(CODE, {"code": "000000"}).status_code for _ in range(10)]
    assert statuses == [200] * 9 + [429]
    by_account = [
        client.post(
            LOGIN, {"username": " Grace ", "password": "x"}, REMOTE_ADDR=f"192.0.2.{i}"
        ).status_code
        for i in range(61)
    ]
    # What was tried at the code page counts for the account, too.
    assert by_account == [200] * 51 + [429] * 10
    stranger = type(client)()  # this one's session is about Grace's account
    other = stranger.post(LOGIN, {"username": "ada", "password": "x"}, REMOTE_ADDR="198.51.100.1")
    assert other.status_code == 200


def test_the_code_page_is_nobodys_without_a_password(
    client: Any, person: Callable[..., Any], with_device: Callable[..., Any], code_of: Any
) -> None:
    from staff import second_factor

    user = person("viewer")
    with_device(user)
    assert client.get(CODE)["Location"] == LOGIN
    assert client.post(CODE, {"code": code_of(user)})["Location"] == LOGIN
    wrong = client.post(LOGIN, {"username": user.username, "password": "wrong"})
    assert wrong.status_code == 200
    assert client.get(CODE)["Location"] == LOGIN
    give_password(client, user)
    user.set_password("another one")  # as somebody who found out changes it meanwhile
    user.save()
    assert client.post(CODE, {"code": code_of(user)})["Location"] == LOGIN
    user.set_password(PASSWORD)
    user.save()
    give_password(client, user)
    session = client.session
    session["password_given"]["at"] -= second_factor._PATIENCE.total_seconds() + 1
    session.save()
    assert client.post(CODE, {"code": code_of(user)})["Location"] == LOGIN
    assert not is_in(client)


def test_a_session_of_before_the_device_has_to_give_a_code(
    signed_in: Callable[..., Any], with_device: Callable[..., Any], code_of: Callable[..., str]
) -> None:
    browser = signed_in("operator")
    user = browser.user
    assert is_in(browser)
    with_device(user)
    for path in ("/admin/rewind/gap/", PAGE, "/admin/password_change/", "/admin/search/?s=a"):
        assert browser.get(path)["Location"].startswith(f"{CODE}?next=")
    assert browser.post(PAGE, {"order": "turn_off"})["Location"] == CODE
    assert browser.get(LOGIN)["Location"] == "/admin/"
    answer = browser.post(f"{CODE}?next=https://elsewhere.example/", {"code": code_of(user)})
    assert answer["Location"] == "/admin/"
    assert is_in(browser)


def test_a_new_password_by_a_link_is_no_way_around_the_code(
    signed_in: Callable[..., Any], person: Callable[..., Any], with_device: Callable[..., Any]
) -> None:
    from django.test import Client

    from staff import invitations

    user = person("viewer")
    with_device(user)
    guest = Client()
    path = invitations.link_for(user).partition("//")[2].partition("/")[2]
    choose = guest.get(f"/{path}", follow=True).request["PATH_INFO"]
    guest.post(choose, {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert not is_in(guest)
    assert give_password(guest, user)["Location"] == CODE
    assert not is_in(guest)


def test_required_nothing_else_is_open_until_it_is_set_up(
    signed_in: Callable[..., Any], code_of: Callable[..., str], settings: Any
) -> None:
    settings.STAFF_TWO_FACTOR = True
    browser = signed_in("administrator")
    for path in ("/admin/", "/admin/access/apikey/", "/admin/access/apikey/add/"):
        assert browser.get(path)["Location"] == PAGE
    assert browser.post("/admin/auth/user/add/", {"username": "x"})["Location"] == PAGE
    assert browser.get("/admin/password_change/").status_code == 200
    assert "requires a second factor for staff" in browser.get(PAGE).content.decode()
    browser.post(PAGE, {"order": "confirm", "code": code_of_new(browser, code_of)})
    assert is_in(browser)
    page = browser.get(PAGE).content.decode()
    assert "Not possible" in page
    code = code_of(browser.user)
    browser.post(PAGE, {"order": "turn_off", "password": PASSWORD, "code": code})
    assert "Not possible" in browser.get(PAGE).content.decode()


def code_of_new(browser: Any, code_of: Callable[..., str]) -> str:
    browser.get(PAGE)
    return code_of(browser.user)


def test_turning_it_off_takes_password_and_code(
    signed_in: Callable[..., Any], code_of: Callable[..., str]
) -> None:
    from django_otp.plugins.otp_static.models import StaticDevice

    from staff import second_factor

    browser = signed_in("viewer")
    browser.post(PAGE, {"order": "confirm", "code": code_of_new(browser, code_of)})
    user = browser.user
    for password, code in (("wrong", code_of(user)), (PASSWORD, "000000")):
        answer = browser.post(PAGE, {"order": "turn_off", "password": password, "code": code})
        assert "Wrong password or code" in answer.content.decode()
        assert second_factor.has_device(user)
    sent = {"order": "turn_off", "password": PASSWORD, "code": code_of(user)}
    assert browser.post(PAGE, sent).status_code == 302
    assert not second_factor.has_device(user)
    assert not StaticDevice.objects.exists()
    assert is_in(browser)


def test_recovery_codes_are_renewed_with_a_code(
    signed_in: Callable[..., Any], code_of: Callable[..., str]
) -> None:
    from staff import second_factor

    browser = signed_in("viewer")
    first = browser.post(PAGE, {"order": "confirm", "code": code_of_new(browser, code_of)})
    old = re.findall(r"\b[a-z2-9]{5}-[a-z2-9]{5}\b", first.content.decode())
    browser.post(PAGE, {"order": "renew", "code": "000000"})
    assert second_factor.recovery_codes_left(browser.user) == 10
    answer = browser.post(PAGE, {"order": "renew", "code": code_of(browser.user)})
    new = re.findall(r"\b[a-z2-9]{5}-[a-z2-9]{5}\b", answer.content.decode())
    assert len(new) == 10 and not set(new) & set(old)
    assert second_factor.check_code(browser.user, new[0]) is not None
    assert second_factor.check_code(browser.user, old[0]) is None


def test_somebody_else_signs_in_over_an_open_session(
    signed_in: Callable[..., Any],
    person: Callable[..., Any],
    with_device: Callable[..., Any],
    code_of: Callable[..., str],
) -> None:
    browser, user = signed_in("viewer"), person("operator")
    with_device(user)
    give_password(browser, user)
    assert not is_in(browser)
    browser.post(CODE, {"code": code_of(user)})
    assert is_in(browser)
    assert browser.session["_auth_user_id"] == str(user.pk)


def test_sessions_that_ended_are_forgotten(db: None) -> None:
    from django.contrib.sessions.models import Session
    from django.utils import timezone

    from staff.tasks import forget_sessions

    now = timezone.now()
    for name, hours in (("old", -1), ("new", 1)):
        end = now + timedelta(hours=hours)
        Session.objects.create(session_key=name, session_data="", expire_date=end)
    forget_sessions()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["new"]


def test_a_portal_user_never_enters_the_admin(client: Any, db: None) -> None:
    from django.contrib.auth.models import User

    from staff.models import AuditEntry

    user = User.objects.create_user("ada@example.org", password=PASSWORD)
    answer = give_password(client, user)
    assert answer.status_code == 200
    wrong = client.post(LOGIN, {"username": user.username, "password": "wrong"})
    strip = re.compile(r'name="csrfmiddlewaretoken" value="[^"]*"')
    assert strip.sub("", answer.content.decode()) == strip.sub("", wrong.content.decode())
    assert AuditEntry.objects.filter(verb="failed to sign in", subject=user.username).count() == 2
    client.force_login(user)
    for path in ("/admin/", PAGE, "/admin/password_change/"):
        assert client.get(path)["Location"].startswith(LOGIN)


def test_sessions_end(person: Callable[..., Any], settings: Any) -> None:
    from django.test import Client

    user = person("viewer")
    here, there, old = Client(), Client(), Client()
    for browser in (here, there, old):
        assert give_password(browser, user)["Location"] == "/admin/"
    session = old.session
    session["signed_in_at"] -= timedelta(hours=12, seconds=1).total_seconds()
    session.save()
    assert not is_in(old)
    assert is_in(here) and is_in(there)
    sent = {"old_password": PASSWORD, "new_password1": "Low-tide-7", "new_password2": "Low-tide-7"}
    assert here.post("/admin/password_change/", sent).status_code == 302
    assert is_in(here)
    assert not is_in(there)
    kept = here.cookies["tidemark_session"].value
    here.post("/admin/logout/")
    here.cookies["tidemark_session"] = kept  # a stolen cookie is worth nothing after signing out
    assert not is_in(here)


def test_the_first_admin_signs_in(client: Any, db: None, tmp_path: Any) -> None:
    from config.running.first_run import ensure_credentials

    made = ensure_credentials(tmp_path, "http://localhost:8000").admin
    client.post(LOGIN, {"username": made.username, "password": made.password})
    page = client.get("/admin/auth/user/")
    assert page.status_code == 200
    assert "administrator" in page.content.decode()
