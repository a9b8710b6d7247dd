"""People who work here, each signed in."""

from collections.abc import Callable
from typing import Any

import pytest

PASSWORD = "tide and time wait"


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
def signed_in(client: Any, person: Callable[..., Any]) -> Callable[..., Any]:
    """`signed_in("operator")`: a browser of its own, in which somebody with this role works."""
    from django.test import Client

    def make(role: str | None, **values: Any) -> Any:
        browser = Client()
        browser.force_login(person(role, **values))
        return browser

    return make
