"""Two customers, their people, and browsers that are signed in."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

PASSWORD = "a password for the tests"

People = Callable[..., Any]
Browser = Callable[..., Client]


@pytest.fixture(autouse=True)
def forgetful(nothing_remembered: None) -> None:
    """No limit was used up by a test before."""


@pytest.fixture
def tiers(db: None) -> dict[str, Any]:
    from access.models import Tier

    made = {}
    for name, rank in (("basic", 10), ("elite", 30)):
        limits = {"rank": rank, "requests_per_second": rank, "requests_burst": rank}
        made[name] = Tier.objects.update_or_create(name=name, defaults=limits)[0]
    return made


@pytest.fixture
def ada(db: None) -> Any:
    from access.models import Customer

    return Customer.objects.create(name="Ada & Sons", email="alerts@ada.example")


@pytest.fixture
def eve(db: None) -> Any:
    from access.models import Customer

    return Customer.objects.create(name="Eve", email="alerts@eve.example")


@pytest.fixture
def person(db: None) -> People:
    """`person(ada, "owner")`: a member with a password."""
    from django.contrib.auth.hashers import make_password

    from portal.services import members

    password = make_password(PASSWORD)

    def make(customer: Any, role: str = "owner", email: str = "") -> Any:
        address = email or f"{role}@{customer.name.split()[0].lower()}.example"
        member = members.invite(customer, email=address, role=role)
        member.user.password = password
        member.user.save()
        return member

    return make


@pytest.fixture
def owner(ada: Any, person: People) -> Any:
    return person(ada, "owner")


@pytest.fixture
def reader(ada: Any, person: People) -> Any:
    return person(ada, "reader")


@pytest.fixture
def browser() -> Browser:
    """`browser(owner)`: a client in which the member is signed in."""

    def start(member: Any, **options: Any) -> Client:
        client = Client(**options)
        client.force_login(member.user)
        return client

    return start


@pytest.fixture
def key(ada: Any, tiers: dict[str, Any]) -> Any:
    """A key that staff gave Ada."""
    from access.services import keys

    return keys.issue_key(ada, tier=tiers["elite"], name="production").key
