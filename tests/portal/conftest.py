"""Two customers, their people, and browsers that are signed in."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

PASSWORD = "a password for the tests"

People = Callable[..., Any]
Browser = Callable[..., Client]


@pytest.fixture(autouse=True)
def forgetful(nothing_remembered: None, settings: Any) -> None:
    """No limit was used up by a test before, and hashing a password takes no time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


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
    from portal.services import members

    def make(customer: Any, role: str = "owner", email: str = "") -> Any:
        address = email or f"{role}@{customer.name.split()[0].lower()}.example"
        member = members.invite(customer, email=address, role=role)
        member.user.set_password(PASSWORD)
        member.user.save()
        return member

    return make


@pytest.fixture
def owner(ada: Any, person: People) -> Any:
    return person(ada, "owner")


@pytest.fixture
def developer(ada: Any, person: People) -> Any:
    return person(ada, "developer")


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


@pytest.fixture
def rows_of(tiers: dict[str, Any], person: People) -> Callable[[Any], dict[str, Any]]:
    """`rows_of(ada)`: one of everything that the portal has a page of, by the names of its URLs'
    parts, with `url name` → parts for those whose `pk` is no key's.
    """
    from django.utils import timezone

    from access.services import keys
    from alerts.models import Delivery, Event
    from alerts.services import rules, webhooks
    from priority.models import Bundle, Submission
    from tests.browser.kept_replays import kept_replay
    from tests.priority.landed_samples import fill_landing

    def make(customer: Any) -> dict[str, Any]:
        now = timezone.now()
        key = keys.issue_key(customer, tier=tiers["elite"], name=f"key of {customer}").key
        fill_landing(now, key=key, rounds=1, seed=customer.pk)
        url = "http://127.0.0.1:9/hook"
        webhook = webhooks.create(customer.pk, name=f"webhook of {customer}", url=url)
        rule = rules.create(
            customer.pk,
            name=f"rule of {customer}",
            trigger="submission",
            condition={"keys": [key.pk]},
            mails=True,
            now=now,
        )
        event = Event.objects.create(
            kind="key.expiring", customer=customer, about="a key", text="soon", at=now
        )
        delivery = Delivery.objects.create(
            event=event, webhook=webhook, rule=rule, due_at=now, state="failed"
        )
        signature = Submission.objects.filter(key=key, state="landed")[0].signature
        name = f"colleague@{customer.name.split()[0].lower()}.example"
        return {
            "key": key,
            "webhook": webhook,
            "rule": rule,
            "delivery": delivery,
            "colleague": person(customer, "reader", name),
            "signature": str(signature),
            "bundle_id": Bundle.objects.filter(key=key, state="landed")[0].bundle_id,
            "replay": kept_replay(customer, signature),
        }

    return make
