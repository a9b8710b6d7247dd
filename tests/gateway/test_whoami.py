"""whoami: what a caller is answer of itself, by JSON-RPC and by GET."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from access import usage_sums
from access.services import keys, monthly_quotas

pytestmark = pytest.mark.django_db

Issue = Callable[..., Any]


def ask(door: Any, secret: str = "", path: str = "/ledger", **meta: Any) -> Any:
    response = door.call("whoami", key=secret, path=path, **meta)
    assert response.status_code == 200, response.content
    return json.loads(response.content)["result"]


def fetch(door: Any, secret: str = "", **meta: Any) -> Any:
    response = door.get("/whoami", key=secret, **meta)
    assert response.status_code == 200, response.content
    return json.loads(response.content)


@pytest.mark.parametrize("way", [ask, fetch])
def test_a_key_is_told_what_it_is_and_may(door: Any, issue: Issue, way: Any) -> None:
    expiry = timezone.now().replace(microsecond=0) + timedelta(days=3)
    issued = issue(
        requests_per_second=0.01,
        requests_burst=40,
        bundles_per_second=None,
        scopes=["historical", "rewind"],
        networks=["127.0.0.0/8"],
        methods=["getSlot"],
        environment="staging",
        expires_at=expiry,
    )
    before = time.time()
    answer = way(door, issued.secret)
    after = time.time()
    assert answer["key"] == {
        "name": "test",
        "prefix": issued.key.shown_prefix,
        "lastFour": issued.secret[-4:],
        "customer": "Ada",
        "environment": "staging",
        "createdAt": int(issued.key.created_at.timestamp()),
        "expiresAt": int(expiry.timestamp()),
        "networks": ["127.0.0.0/8"],
        "origins": [],
    }
    assert answer["tier"] == "basic"
    assert answer["scopes"] == ["historical", "rewind"]
    assert answer["methods"] == ["getSlot"]
    assert answer["host"] == "all-in-one"
    assert answer["hosts"] == ["public.rpc.localhost", "basic.qos.localhost", "basic.rpc.localhost"]
    assert answer["address"] == "127.0.0.1"
    assert int(before) <= answer["serverTime"] <= after
    limits = answer["limits"]
    assert 100 - (after - before) <= limits["requests"].pop("resetSeconds") <= 100
    assert limits["requests"] == {"perSecond": 0.01, "burst": 40, "remaining": 39}
    unlimited = {"perSecond": None, "burst": None, "remaining": None, "resetSeconds": None}
    assert limits["bundles"] == unlimited
    assert limits["tipFetches"].keys() == {*unlimited, "dailyCap", "remainingToday"}
    assert limits["simulationJobs"] == {"open": 2, "simulationsPerJob": 1000}
    assert issued.secret not in json.dumps(answer)


def test_who_has_no_key_is_told_the_limits_of_those(door: Any, tier: Any) -> None:
    tier("anonymous", 0, requests_per_second=2, requests_burst=20, tip_fetches_daily_cap=7)
    door.call("getSlot")
    answer = ask(door)
    assert answer["key"] is None
    assert answer["usage"] is None
    assert answer["methods"] is None
    assert answer["tier"] == "anonymous"
    assert answer["limits"]["monthly"] is None
    assert answer["limits"]["requests"]["burst"] == 20
    assert answer["limits"]["requests"]["remaining"] == 18, "the call before, and this one"
    assert answer["limits"]["tipFetches"]["remainingToday"] == 7


def test_it_asks_for_no_scope_and_opens_no_other_method(door: Any, issue: Issue) -> None:
    bundles = issue(scopes=["bundle"], requests_burst=50)
    assert ask(door, bundles.secret)["scopes"] == ["bundle"]
    refused = door.call("getSlot", key=bundles.secret)
    assert refused.status_code == 403
    body = [
        {"jsonrpc": "2.0", "id": number, "method": method}
        for number, method in enumerate(["whoami", "getSlot"])
    ]
    mixed = json.loads(door.post("/ledger", json.dumps(body), key=bundles.secret).content)
    assert mixed[0]["result"]["scopes"] == ["bundle"]
    assert mixed[1]["error"]["data"]["reason"] == "scope_missing"
    unreadable = door.post("/ledger", "{", key=bundles.secret)
    assert unreadable.status_code == 403


def test_a_suspended_key_is_told_so(door: Any, issue: Issue) -> None:
    issued = issue()
    keys.suspend_key(issued.key.pk, now=timezone.now())
    for response in (
        door.call("whoami", key=issued.secret),
        door.get("/whoami", key=issued.secret),
    ):
        assert response.status_code == 403
        assert b"key_suspended" in response.content
    assert door.get("/whoami", key="tm_nonsense").status_code == 401


def test_it_is_served_on_tier_hosts_the_key_opens(door: Any, issue: Issue) -> None:
    issued = issue()
    answer = fetch(door, issued.secret, HTTP_HOST="basic.qos.localhost")
    assert answer["host"] == "basic.qos"
    above = door.get("/whoami", key=issued.secret, HTTP_HOST="elite.rpc.localhost")
    assert above.status_code == 403
    assert json.loads(above.content)["error"] == "tier_too_low"


def test_looking_takes_one_request_and_nothing_else(door: Any, issue: Issue) -> None:
    issued = issue(
        requests_per_second=0.001,
        requests_burst=5,
        bundles_per_second=0.001,
        bundles_burst=3,
        tip_fetches_per_second=0.001,
        tip_fetches_burst=4,
    )
    for left in (4, 3, 2):
        limits = ask(door, issued.secret)["limits"]
        assert limits["requests"]["remaining"] == left
        assert limits["bundles"]["remaining"] == 3
        assert limits["tipFetches"]["remaining"] == 4
    fetch(door, issued.secret)
    fetch(door, issued.secret)
    assert door.get("/whoami", key=issued.secret).status_code == 429


def test_the_month_is_told_with_what_counts(door: Any, issue: Issue) -> None:
    issued = issue(calls_per_month=10)
    this_minute = timezone.now().replace(second=0, microsecond=0)
    usage_sums.add_usage(
        [
            (issued.key.pk, "getSlot", "ok", this_minute, 5, 100),
            (issued.key.pk, "getSlot", "invalid_params", this_minute, 1, 100),
            (issued.key.pk, "getSlot", "rate_limited", this_minute, 30, 100),
            (issued.key.pk, "getSlot", "upstream_unreachable", this_minute, 2, 100),
            (issued.key.pk, "slotNotification", "ok", this_minute, 9, 0),
        ]
    )
    answer = ask(door, issued.secret)
    first = datetime.fromtimestamp(answer["limits"]["monthly"].pop("resetsAt"), UTC)
    assert answer["limits"]["monthly"] == {"limit": 10, "used": 6, "remaining": 4}
    assert (first.day, first.hour, first > timezone.now()) == (1, 0, True)
    assert answer["usage"] == {"counted": 6, "refused": 30, "failed": 2, "pushed": 9}


def test_a_month_used_up_refuses_all_but_whoami(
    door: Any, issue: Issue, django_capture_on_commit_callbacks: Any
) -> None:
    issued = issue(calls_per_month=5, requests_burst=50)
    now = timezone.now()
    minute = now.replace(second=0, microsecond=0)
    usage_sums.add_usage([(issued.key.pk, "getSlot", "ok", minute, 5, 100)])
    monthly_quotas.enforce(now)
    before = time.time()
    refused = door.call("getSlot", key=issued.secret)
    after = time.time()
    assert refused.status_code == 429
    error = json.loads(refused.content)["error"]
    assert error["code"] == -32005
    wait = error["data"].pop("retryAfterSeconds")
    assert refused["Retry-After"] == str(wait)
    resets_at = error["data"].pop("resetsAt")
    assert before + wait - 1 <= resets_at <= after + wait + 1
    assert error["data"] == {"reason": "monthly_quota_reached", "limit": 5, "used": 5}
    assert door.get("/tip", key=issued.secret).status_code == 429
    assert ask(door, issued.secret)["limits"]["monthly"]["remaining"] == 0
    assert fetch(door, issued.secret)["limits"]["monthly"]["remaining"] == 0

    def save(row: Any, limit: int) -> None:
        row.calls_per_month = limit
        with django_capture_on_commit_callbacks(execute=True):
            row.save(update_fields=["calls_per_month"])

    save(issued.key.tier, 100)
    assert door.call("getSlot", key=issued.secret).status_code == 429, "its own number holds"
    save(issued.key, 6)
    assert door.call("getSlot", key=issued.secret).status_code == 200, "without any task between"


def test_a_key_calls_only_what_is_on_its_list(door: Any, issue: Issue) -> None:
    issued = issue(methods=["getSlot"], requests_burst=50)
    assert door.call("getSlot", key=issued.secret).status_code == 200
    refused = door.call("whoCalls", key=issued.secret)
    assert refused.status_code == 403
    assert json.loads(refused.content)["error"]["data"] == {
        "reason": "method_not_allowed",
        "required": "whoCalls",
        "found": ["getSlot"],
    }
    batch = [{"jsonrpc": "2.0", "id": i, "method": m} for i, m in enumerate(["getSlot", "long"])]
    answers = json.loads(door.post("/ledger", json.dumps(batch), key=issued.secret).content)
    assert answers[0]["result"] == 301_999_999
    assert answers[1]["error"]["data"]["reason"] == "method_not_allowed"
    refused = door.get("/tip", key=issued.secret)
    assert (refused.status_code, json.loads(refused.content)["required"]) == (403, "tip")


@pytest.mark.parametrize("path", ["/", "/priority", "/bundle", "/rewind", "/historical"])
def test_it_is_served_on_every_path(rpc: Any, path: str) -> None:
    answer = rpc(path, "whoami")["result"]
    assert answer["key"]["customer"] == "a customer"
    assert answer["limits"]["requests"]["perSecond"] is None
