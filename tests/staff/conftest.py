"""People who work here, each signed in."""

import time
from collections.abc import Callable
from typing import Any

import pytest

PASSWORD = "tide and time wait"


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any) -> None:
    """The real hasher takes a third of a second, by intention, for each person made here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def person(db: None) -> Callable[..., Any]:
    """`person("viewer")`: somebody of the staff with this role; None has none."""
    from django.contrib.auth.models import User

    from staff.roles import Role, give_role

    def make(role: str | None, name: str = "", **values: Any) -> User:
        user = User.objects.create_user(
            name or role or "newcomer", password=PASSWORD, is_staff=True, **values
        )
        if role is not None:
            give_role(user, Role(role), by=None)
        return User.objects.get(pk=user.pk)

    return make


@pytest.fixture
def signed_in(person: Callable[..., Any]) -> Callable[..., Any]:
    """`signed_in("operator")`: a browser of its own, in which somebody with this role works."""
    from django.test import Client

    def make(role: str | None, **values: Any) -> Any:
        browser = Client()
        browser.user = person(role, **values)
        browser.force_login(browser.user)
        return browser

    return make


@pytest.fixture
def code_of() -> Callable[..., str]:
    """`code_of(user)`: the digits that the app shows now, or so many steps of 30 s later; what
    was given or failed before is forgotten, as if time had passed.
    """
    from django_otp.oath import TOTP

    from staff.models import App

    def now(user: Any, step: int = 0, *, forget: bool = True) -> str:
        devices = App.objects.filter(user_id=user.pk)
        if forget:
            devices.update(last_t=-1, throttling_failure_count=0, throttling_failure_timestamp=None)
        device = devices.get()
        app = TOTP(device.bin_key, device.step, device.t0, device.digits, device.drift)
        app.time = time.time() + 30 * step
        return f"{app.token():06d}"

    return now


@pytest.fixture
def with_device(code_of: Callable[..., str]) -> Callable[..., list[str]]:
    """`with_device(user)`: sets up a second factor, and gives the recovery codes."""
    from staff import second_factor
    from staff.models import App

    def make(user: Any) -> list[str]:
        App.new(user, confirmed=True)
        return second_factor.renew_recovery_codes(user)

    return make
