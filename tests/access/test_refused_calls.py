"""The last refused calls of a key: what is kept of them, and how much at most."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from access import networks, refused_calls, usage
from access.services import keys
from shared_state.redis_client import client as redis_client

pytestmark = pytest.mark.django_db

Post = Callable[..., Any]


@pytest.fixture
def post(client: Any) -> Post:
    """`post(secret, method, …params, path="/historical")`: the HTTP response."""

    def call(secret: str, *calls: Any, path: str = "/historical", **headers: str) -> Any:
        bodies = [
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            for method, *params in calls
        ]
        return client.post(
            path,
            json.dumps(bodies if len(bodies) > 1 else bodies[0]),
            content_type="application/json",
            headers={"Authorization": secret, **headers},
        )

    return call


def last(key_id: int) -> list[refused_calls.RefusedCall]:
    assert usage.flush()
    found = refused_calls.last(key_id)
    assert found is not None
    return found


def note(key_id: int, number: int, **changed: Any) -> None:
    call: dict[str, Any] = {
        "seconds": 1_790_000_000 + number,
        "method": "getSlot",
        "path": "/historical",
        "status": 429,
        "code": -32005,
        "reason": "rate_limited",
        "message": "Too many requests",
        "request_id": f"r-{number}",
        "address": "192.0.2.7",
    }
    refused_calls.note(key_id, **{**call, **changed})


def test_a_refused_call_is_kept_with_its_reason_and_place(issue: Any, post: Post) -> None:
    new = issue(scopes=["historical"])
    before = timezone.now()
    assert post(new.secret, ["whoami"]).status_code == 200
    answer = post(new.secret, ["getTips"], path="/priority", **{"X-Request-Id": "mine-1"})
    assert answer.status_code == 403
    (call,) = last(new.key.pk)
    assert (call.path, call.status, call.code) == ("/priority", 403, -32003)
    assert call.reason == "scope_missing" and "scope `priority`" in call.message
    assert call.request_id == "mine-1" and call.network == "127.0.0.0/24"
    assert timedelta(seconds=-1) < call.at - before < timedelta(minutes=5)
    assert new.secret not in str(redis_client().lrange(f"tidemark:refused:{new.key.pk}", 0, -1))


def test_limits_errors_of_methods_and_batches_are_kept_newest_first(issue: Any, post: Post) -> None:
    new = issue(requests_per_second=0.01, requests_burst=7)
    assert post(new.secret, ["getBlock", "x"]).status_code == 200
    assert post(new.secret, ["whoami"], ["getBlock", "y"]).status_code == 200
    assert post(new.secret, ["getSlot"]).status_code == 429
    found = [(call.method, call.status, call.code, call.reason) for call in last(new.key.pk)]
    assert found == [
        ("getSlot", 429, -32005, "rate_limited"),
        ("getBlock", 200, -32602, "invalid_params"),
        ("getBlock", 200, -32602, "invalid_params"),
    ]


def test_a_revoked_and_an_expired_key_keep_their_refusals(issue: Any, post: Post) -> None:
    revoked, expired = issue(), issue()
    keys.revoke_key(revoked.key.pk, now=timezone.now())
    keys.rotate_key(expired.key.pk, overlap=timedelta(0), now=timezone.now())
    for new, reason in ((revoked, "key_revoked"), (expired, "key_expired")):
        assert post(new.secret, ["getSlot"]).status_code == 401
        (call,) = last(new.key.pk)
        assert (call.reason, call.status, call.method) == (reason, 401, "none")


def test_plain_gets_are_kept_too(issue: Any, client: Any) -> None:
    new = issue(scopes=["historical"])
    answer = client.get("/priority/fetchtipaddress", headers={"Authorization": new.secret})
    assert answer.status_code == 403
    (call,) = last(new.key.pk)
    assert (call.method, call.path, call.status) == (
        "fetchtipaddress",
        "/priority/fetchtipaddress",
        403,
    )


def test_calls_without_a_known_key_are_kept_nowhere(issue: Any, post: Post) -> None:
    issue()
    assert post("tmk_nonsense", ["getSlot"]).status_code == 401
    assert post("", ["getBlock", "x"]).status_code in (200, 401)
    assert usage.flush()
    assert redis_client().keys("tidemark:refused*") == []


def test_of_a_flood_the_newest_calls_are_kept() -> None:
    for number in range(3 * refused_calls.MOST):
        note(7, number)
    assert len(refused_calls._noted[7]) == refused_calls.MOST, "in this process"
    usage.count(7, "getSlot", "ok", seconds=1, microseconds=1, address="192.0.2.7")
    first = last(7)
    assert [call.request_id for call in first[:2]] == ["r-149", "r-148"]
    for number in range(200, 200 + refused_calls.MOST // 2):
        note(7, number)
    found = last(7)
    assert len(found) == refused_calls.MOST
    assert [call.request_id for call in found[24:26]] == ["r-200", "r-149"]
    assert redis_client().llen("tidemark:refused:7") == refused_calls.MOST
    assert 0 < redis_client().ttl("tidemark:refused:7") <= refused_calls.KEPT_SECONDS


def test_of_many_keys_those_refused_last_are_kept() -> None:
    most = refused_calls.MOST_KEYS
    for key_id in range(1, most + 21):
        note(key_id, key_id)
        if key_id % 1000 == 0:
            assert refused_calls.flush()
    assert refused_calls.flush()
    lists = redis_client().keys("tidemark:refused:*")
    assert len(lists) == most == redis_client().zcard("tidemark:refused")
    assert refused_calls.last(most + 20) and not refused_calls.last(1)


def test_texts_of_callers_are_cut_and_shown_as_they_are() -> None:
    note(3, 1, message="\ud800" + "é" * 1_000, path="/" + "p" * 1_000, address="2001:db8:1:2::3")
    (call,) = last(3)
    assert call.message == "?" + "é" * 159 and len(call.path) == 100
    assert call.network == "2001:db8:1::/48"


def test_while_redis_is_away_the_newest_wait(settings: Any) -> None:
    here = settings.REDIS_URL
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    for number in range(60):
        note(5, number)
    assert not refused_calls.flush()
    assert refused_calls.last(5) is None
    note(5, 60)
    settings.REDIS_URL = here
    assert refused_calls.flush()
    assert [call.request_id for call in last(5)[:2]] == ["r-60", "r-59"]
    assert len(last(5)) == refused_calls.MOST


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9", "203.0.113.0/24"),
        ("::ffff:203.0.113.9", "203.0.113.0/24"),
        ("2001:db8:1234:5678::1", "2001:db8:1234::/48"),
        ("", ""),
        ("unix:", ""),
    ],
)
def test_an_address_is_kept_as_its_network(address: str, network: str) -> None:
    assert networks.shown_network(address) == network
