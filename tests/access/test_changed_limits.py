"""A limit that a queryset's `update()` changes, which sends no signal, holds in another process."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from access.key_cache import LONGEST_SECONDS
from access.models import ApiKey, Tier
from access.months import month_of
from tests.historical.racing import web_server

# Every limit of a tier or key that whoami shows, where, and what it is changed to. Those of
# subscriptions are in tests/subscriptions/test_limits.py and tests/yellowstone/test_limits.py.
OF_TIER = {
    "requests_per_second": (("requests", "perSecond"), 900.0),
    "requests_burst": (("requests", "burst"), 901),
    "bundles_per_second": (("bundles", "perSecond"), 7.0),
    "bundles_burst": (("bundles", "burst"), 8),
    "tip_fetches_per_second": (("tipFetches", "perSecond"), 9.0),
    "tip_fetches_burst": (("tipFetches", "burst"), 10),
    "tip_fetches_daily_cap": (("tipFetches", "dailyCap"), 11),
    "simulation_jobs": (("simulationJobs", "open"), 12),
    "simulations_per_job": (("simulationJobs", "simulationsPerJob"), 13),
}


@pytest.fixture(scope="module")
def served(django_db_setup: None) -> Iterator[str]:
    with web_server(1) as (found, _):
        yield found


@pytest.fixture
def address(served: str, transactional_db: None) -> str:
    return served


def call(address: str, path: str, secret: str | None) -> dict[str, Any]:
    headers = {} if secret is None else {"Authorization": secret}
    request = urllib.request.Request(f"http://{address}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request) as response:
            answer: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        answer = json.load(error)
    return answer


def wait_for(expected: object, read: Callable[[], object]) -> None:
    """Sooner than a key is read again although nothing was announced."""
    deadline = time.monotonic() + LONGEST_SECONDS / 2
    while (found := read()) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


@pytest.mark.parametrize("rate", [None, 1_000.0], ids=["unlimited", "limited"])
def test_every_limit_of_a_tier_holds(
    address: str, issue: Callable[..., Any], rate: float | None
) -> None:
    """Redis is asked with each call of a limited key, and by itself for one without a limit."""
    secret = issue(requests_per_second=rate, requests_burst=1_000).secret
    call(address, "/whoami", secret)

    def shown() -> list[object]:
        limits = call(address, "/whoami", secret)["limits"]
        return [limits[where][name] for (where, name), _ in OF_TIER.values()]

    # Once more: the first change may be read because nothing of Redis was known.
    for more in (0, 1):
        new = {name: first + more for name, (_, first) in OF_TIER.items()}
        Tier.objects.filter(name="basic").update(**new)
        wait_for([*new.values()], shown)


def test_a_changed_limit_holds_within_a_second(address: str, issue: Callable[..., Any]) -> None:
    """No call that begins later shows the old one, however slow the machine is; the median of some
    changes. A key without a rate does not ask Redis with each call.
    """
    secret = issue(requests_per_second=None, requests_burst=1_000).secret
    took = []
    for jobs in range(101, 108):
        call(address, "/whoami", secret)
        Tier.objects.filter(name="basic").update(simulation_jobs=jobs)
        changed_at = asked_at = last_old_at = time.monotonic()
        while call(address, "/whoami", secret)["limits"]["simulationJobs"]["open"] != jobs:
            last_old_at, asked_at = asked_at, time.monotonic()
            assert last_old_at - changed_at < LONGEST_SECONDS / 2
        took.append(last_old_at - changed_at)
    assert sorted(took)[len(took) // 2] <= 1.0, took


def test_the_limits_of_a_key_hold(address: str, issue: Callable[..., Any]) -> None:
    issued = issue(requests_per_second=None, calls_per_month=5)
    key = ApiKey.objects.filter(pk=issued.key.pk)

    def reason() -> object:
        return call(address, "/priority/tipinfo", issued.secret).get("error")

    before = reason()
    end = month_of(timezone.now())[1]
    narrow: tuple[tuple[dict[str, Any], str], ...] = (
        ({"quota_used": 5, "quota_reached_until": end}, "monthly_quota_reached"),
        # The raised limit opens the month again.
        ({"methods": ["getSlot"], "calls_per_month": 6}, "method_not_allowed"),
        ({"scopes": ["rewind"]}, "scope_missing"),
        ({"origins": ["https://app.example"]}, "origin_not_allowed"),
        ({"networks": ["10.0.0.0/8"]}, "address_not_allowed"),
        ({"suspended_at": timezone.now()}, "key_suspended"),
        ({"revoked_at": timezone.now()}, "key_revoked"),
    )
    for change, expected in narrow:
        key.update(**change)
        wait_for(expected, reason)
    wide = {"revoked_at": None, "suspended_at": None, "networks": [], "scopes": ["priority"]}
    wide |= {"origins": []}
    key.update(**wide, methods=[])
    wait_for(before, reason)


def test_the_limits_of_callers_without_a_key_hold(address: str) -> None:
    limits = {"requests_per_second": 700.0, "requests_burst": 700}
    Tier.objects.update_or_create(name="anonymous", defaults={"rank": 0, **limits})

    def burst() -> object:
        answer = call(address, "/whoami", None)
        return answer["limits"]["requests"]["burst"] if "limits" in answer else answer

    wait_for(700, burst)
    for new in (701, 702):
        Tier.objects.filter(name="anonymous").update(requests_burst=new)
        wait_for(new, burst)


def test_a_key_that_was_unknown_is_known_when_many_are_made_at_once(
    address: str, issue: Callable[..., Any]
) -> None:
    issued = issue()
    row = ApiKey.objects.get(pk=issued.key.pk)
    row.delete()
    assert call(address, "/whoami", issued.secret)["error"] == "key_unknown"
    ApiKey.objects.bulk_create([row])
    wait_for(True, lambda: "limits" in call(address, "/whoami", issued.secret))
