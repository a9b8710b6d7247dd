"""Two orders at the same moment."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from access.errors import ActionRefused
from access.models import ApiKey
from access.services import keys
from portal.models import Member
from portal.services import key_actions, members
from tests.patience import PATIENCE_SECONDS
from tests.portal.conftest import People

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*orders: Callable[[], object]) -> list[str]:
    """What became of each: `done`, or why it was refused."""
    barrier, told = threading.Barrier(len(orders)), []

    def run(order: Callable[[], object]) -> None:
        barrier.wait(PATIENCE_SECONDS)
        try:
            order()
            told.append("done")
        except ActionRefused as refusal:
            told.append(str(refusal))
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[order]) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    return sorted(told)


def test_owners_remove_each_other_and_the_last_key_is_issued_once(
    ada: Any, tiers: dict[str, Any], person: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = person(ada, "owner"), person(ada, "owner", "second@ada.example")
    told = at_once(
        lambda: members.remove(first, second.pk), lambda: members.remove(second, first.pk)
    )
    assert told == ["You are no longer an owner", "done"]
    assert Member.objects.get().is_owner

    key = keys.issue_key(ada, tier=tiers["elite"], name="first").key
    monkeypatch.setattr(key_actions, "MOST_KEYS", 2)
    now = timezone.now()
    wish = key_actions.Wish(
        name="another",
        environment="",
        scopes=["historical"],
        networks=[],
        origins=[],
        methods=[],
        requests_per_second=None,
        expires_at=None,
    )
    told = at_once(
        *[lambda: key_actions.issue(ada.pk, like=key.pk, wish=wish, now=now) for _ in range(4)]
    )
    assert told.count("done") == 1
    assert ApiKey.objects.filter(customer=ada).count() == 2
