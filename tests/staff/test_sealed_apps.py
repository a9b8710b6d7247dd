"""The secret of an authenticator app: nothing that the database alone gives away."""

from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice

from staff import second_factor
from staff.models import App
from tests.staff.conftest import PASSWORD

LOGIN, CODE, PAGE = "/admin/login/", "/admin/login/code/", "/admin/two-factor/"


@pytest.fixture(autouse=True)
def _no_attempts_before(nothing_remembered: None) -> None:
    """No limit was used up by a test before."""


def signs_in(user: Any, code: str) -> bool:
    browser = Client()
    browser.post(LOGIN, {"username": user.username, "password": PASSWORD})
    browser.post(CODE, {"code": code})
    return bool(browser.get("/admin/").status_code == 200)


def test_two_apps_of_one_secret_are_stored_differently(person: Callable[..., Any]) -> None:
    user = person("viewer")
    app = App.new(user, confirmed=True)
    stored = TOTPDevice.objects.get(user=user).key
    assert app.bin_key not in b64decode(stored) and len(app.bin_key) == 20
    assert App.new(user).key != stored
    shown = second_factor.secret_text(app).replace(" ", "")
    assert shown.encode() not in stored.encode()


def test_another_secret_key_leaves_recovery_codes_and_the_one_of_before_everything(
    person: Callable[..., Any],
    with_device: Callable[..., Any],
    code_of: Callable[..., str],
    settings: Any,
) -> None:
    user = person("viewer")
    codes, code, before = with_device(user), code_of(user), settings.SECRET_KEY
    settings.SECRET_KEY = "another one, unknown to the app"
    assert not signs_in(user, code)
    assert signs_in(user, codes[0])
    settings.SECRET_KEY_FALLBACKS = [before]
    assert signs_in(user, code)


def test_an_app_that_is_being_set_up_is_made_anew_under_another_secret_key(
    person: Callable[..., Any], settings: Any, code_of: Callable[..., str]
) -> None:
    user = person("viewer")
    first = second_factor.new_device(user)
    assert second_factor.new_device(user) == first
    settings.SECRET_KEY = "another one, unknown to the app"
    browser = Client()
    browser.force_login(user)
    assert browser.post(PAGE, {"order": "confirm", "code": "123456"}).status_code == 200
    assert not App.objects.filter(pk=first.pk).exists()
    assert not second_factor.has_device(user)
    browser.post(PAGE, {"order": "confirm", "code": code_of(user)})
    assert second_factor.has_device(user)
