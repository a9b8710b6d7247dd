"""GET /health: one word of text with status 200, as a node gives it."""

import json
from typing import Any

import pytest

from gateway.hosts import EVERY
from tests.localnet_process import Localnet, free_ports
from tests.priority.test_proxy import Issue, Node, result, text

pytestmark = pytest.mark.django_db


def error(data: Any) -> Any:
    """A node whose health check fails so."""
    body = {"code": -32005, "message": "Node is unhealthy", "data": data}
    return text(json.dumps({"jsonrpc": "2.0", "id": 0, "error": body}))


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (result("ok"), "ok"),
        (error({"numSlotsBehind": 42}), "behind"),
        (error({"numSlotsBehind": None}), "unknown"),
        (error({}), "unknown"),
        (text("<html>a proxy in front of it</html>", 502), "unknown"),
    ],
)
def test_it_is_the_nodes_own_word(client: Any, node: Node, answer: Any, word: str) -> None:
    node(answer)
    response = client.get("/health")
    assert (response.status_code, response.content) == (200, word.encode())
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Access-Control-Allow-Origin"] == "*" and response["X-Request-Id"]


def test_without_a_node_it_is_unknown(client: Any, settings: Any) -> None:
    for url in ("", f"http://127.0.0.1:{free_ports(1)[0]}"):
        settings.UPSTREAM_RPC_URL = url
        response = client.get("/health")
        assert (response.status_code, response.content) == (200, b"unknown")


def test_every_host_that_serves_calls_answers(
    client: Any, chain: Localnet, settings: Any, api_key: str
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", ".localhost"]
    settings.UPSTREAM_RPC_URL = chain.url
    for host in ("localhost", *(f"{label}.localhost" for label in EVERY)):
        answer = client.get("/health", HTTP_HOST=host, HTTP_AUTHORIZATION=api_key)
        assert answer.content == b"ok", host
    assert client.head("/health", HTTP_HOST="localhost").status_code == 200
    assert client.get("/health", HTTP_HOST="lite.rpc.localhost").status_code == 404
    refused = client.post("/health", b"{}", "application/json", HTTP_HOST="localhost")
    assert (refused.status_code, refused["Allow"]) == (405, "GET, OPTIONS")


def test_it_is_a_call_with_the_limits_of_one(
    client: Any, node: Node, tier: Any, issue: Issue
) -> None:
    node(result("ok"))
    tier("anonymous", 0, requests_per_second=5, requests_burst=5)
    statuses = {client.get("/health").status_code for _ in range(20)}
    assert statuses == {200, 429}
    refused = client.get("/health", HTTP_AUTHORIZATION="no key of ours")
    assert refused.status_code == 401 and refused.json()["error"]
