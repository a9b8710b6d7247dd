"""What one body's answer may hold, and what a batch pays for dear calls."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import path

from gateway import budgets
from gateway.budgets import EXPENSIVE_PRICE

pytestmark = pytest.mark.django_db

KIB = 1_024


@pytest.fixture
def large(settings: Any) -> Any:
    """`large.post(calls, key)` on an endpoint whose dear method `fill` answers so many KiB; `runs`
    counts how often it ran.
    """
    from django.test import Client

    from gateway.calls import Call
    from gateway.endpoint import RpcEndpoint
    from gateway.endpoint_policy import EndpointPolicy
    from jsonrpc.methods import MethodTable
    from jsonrpc.params import U64

    table = MethodTable()

    class Large:
        runs = 0

        def post(self, calls: Any, key: str, **meta: Any) -> Any:
            return Client().generic(
                "POST",
                "/large",
                json.dumps(calls),
                "application/json",
                HTTP_HOST="localhost",
                HTTP_AUTHORIZATION=key,
                **meta,
            )

    found = Large()

    @table.add("fill", expensive=True)
    def fill(call: Call, kib: U64) -> str:
        found.runs += 1
        return "x" * (kib * KIB)

    @table.add("cheap")
    def cheap(call: Call) -> int:
        return 1

    class Paths:
        urlpatterns = [
            path(
                "large",
                RpcEndpoint.as_view(methods=table, policy=EndpointPolicy(scope="historical")),
            )
        ]

    settings.ROOT_URLCONF = Paths
    settings.MAX_ANSWER = 1_024 * KIB
    return found


def call(number: int, method: str, *params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_what_does_not_fit_any_more_is_refused_call_by_call_and_not_run(
    large: Any, issue: Callable[..., Any]
) -> None:
    key = issue(requests_per_second=1_000, requests_burst=1_000).secret
    response = large.post([call(number, "fill", 300) for number in range(20)], key)
    answers = response.json()
    assert [answer["id"] for answer in answers] == list(range(20))
    assert ["result" in answer for answer in answers] == [True] * 3 + [False] * 17
    error = answers[3]["error"]
    assert error["code"] == -32005
    assert error["data"]["reason"] == "answer_too_large"
    assert error["data"]["maximum"] == 1_024 * KIB
    assert len(response.content) < 1_024 * KIB
    # The one that did not fit was built, and thrown away; smaller ones may fit, so they were tried.
    assert large.post(call(1, "fill", 1_025), key).json()["error"]["data"]["required"] > 1_024 * KIB
    large.runs = 0
    full = large.post([call(0, "fill", 1_023), *(call(n, "fill", 2) for n in range(1, 9))], key)
    assert sum("result" in answer for answer in full.json()) == 1


def test_nothing_runs_once_the_answer_is_full(large: Any, issue: Callable[..., Any]) -> None:
    from django.conf import settings

    settings.MAX_ANSWER = 300 * KIB + 2  # a string of 300 KiB, exactly
    key = issue(requests_per_second=1_000, requests_burst=1_000).secret
    answers = large.post([call(n, "fill", 300) for n in range(5)], key).json()
    assert ["result" in answer for answer in answers] == [True] + [False] * 4
    assert large.runs == 1


def test_answers_that_wait_to_be_sent_count_against_their_key(
    large: Any, issue: Callable[..., Any], settings: Any
) -> None:
    settings.MAX_ANSWERS_OF_KEY = 900 * KIB
    key, other = (issue(requests_per_second=1_000, requests_burst=1_000).secret for _ in range(2))
    first = large.post(call(1, "fill", 600), key)
    assert "result" in first.json()
    refused = large.post(call(1, "fill", 600), key).json()
    assert refused["error"]["data"]["reason"] == "answer_too_large"
    assert "result" in large.post(call(1, "fill", 600), other).json()
    assert first.sent is not None
    first.sent()  # as the server does once the client has taken everything
    again = large.post(call(1, "fill", 600), key)
    assert "result" in again.json()
    again.sent()
    before = budgets._in_use.bytes.total()
    del first, again
    assert budgets._in_use.bytes.total() == before  # given back once, not twice


def test_a_batch_pays_more_for_dear_calls(large: Any, issue: Callable[..., Any]) -> None:
    issued = issue(requests_per_second=0.01, requests_burst=20)

    def left(response: Any) -> int:
        return int(response["X-RateLimit-Remaining"])

    assert left(large.post(call(1, "fill", 1), issued.secret)) == 19
    batch = [call(1, "fill", 1), call(2, "cheap"), call(3, "fill", 1)]
    assert left(large.post(batch, issued.secret)) == 19 - 2 * EXPENSIVE_PRICE - 1
