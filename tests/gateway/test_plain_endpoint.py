"""A plain GET with policy: the steps of RPC endpoints, for one function."""

from collections.abc import Callable
from typing import Any

import pytest

from access.services import keys

Issue = Callable[..., keys.IssuedKey]
pytestmark = pytest.mark.django_db


def test_a_key_is_told_its_limits_and_its_caller_is_known(door: Any, issue: Issue) -> None:
    response = door.get("/tip", key=issue().secret)
    assert response.status_code == 200 and response.json() == {"tier": "basic"}
    assert response["X-RateLimit-Limit"] == "10" and response["X-Request-Id"]
    assert response["Access-Control-Allow-Origin"] == "*"


def test_refusals_are_words(door: Any, issue: Issue) -> None:
    response = door.get("/tip", key="nonsense")
    assert response.status_code == 401
    assert response.json()["error"] == "key_malformed"
    assert response["WWW-Authenticate"]
    response = door.get("/tip", key=issue(scopes=["rewind"]).secret)
    assert response.status_code == 403
    assert response.json()["error"] == "scope_missing"
    assert response.json()["required"] == "priority"
    response = door.get("/tip", method="DELETE")
    assert response.status_code == 405 and "GET" in response["Allow"]
    assert door.get("/tip", HTTP_HOST="lite.rpc.localhost").json()["error"] == "path_not_served"


def test_the_limit_is_the_quotas_own(door: Any, issue: Issue, tier: Any) -> None:
    made = tier(requests_burst=10, tip_fetches_per_second=0.1, tip_fetches_burst=2)
    issued = issue(tier=made)
    responses = [door.get("/tip", key=issued.secret) for _ in range(3)]
    assert [response.status_code for response in responses] == [200, 200, 429]
    assert responses[-1].json()["error"] == "rate_limited"
    assert int(responses[-1]["Retry-After"]) >= 1


@pytest.mark.django_db(transaction=True)
def test_a_change_is_heard_by_the_next_request(door: Any, issue: Issue) -> None:
    from django.utils import timezone

    issued = issue()
    assert door.get("/tip", key=issued.secret).status_code == 200
    keys.suspend_key(issued.key.pk, now=timezone.now())
    assert door.get("/tip", key=issued.secret).json()["error"] == "key_suspended"
