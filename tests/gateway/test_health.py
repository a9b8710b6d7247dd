"""Health and readiness."""

from ipaddress import ip_network
from typing import Any

import pytest

from gateway import health
from tests.readiness import readyz


@pytest.mark.django_db
def test_a_ready_service_says_so_check_by_check(door: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(health._checks, "ledger", lambda: {"latestSlot": None})
    status, body = readyz(door)
    assert status == 200
    checks = body["checks"]
    assert checks["database"]["ok"] and checks["redis"]["ok"]
    assert checks["ledger"]["latestSlot"] is None


@pytest.mark.django_db
def test_what_is_away_is_named_without_its_address(
    door: Any, monkeypatch: Any, settings: Any
) -> None:

    def behind() -> dict[str, Any]:
        raise health.NotReady("the latest block is 700 s old")

    monkeypatch.setitem(health._checks, "ledger", behind)
    url = settings.REDIS_URL
    settings.REDIS_URL = "unix:///nonexistent/valkey.sock"
    try:
        status, body = readyz(door)
    finally:
        settings.REDIS_URL = url
    assert status == 503
    assert body["status"] == "unavailable"
    assert body["checks"]["redis"] == {
        "ok": False,
        "why": "Redis does not answer",
        "cause": "redis_unavailable",
        "remedy": body["checks"]["redis"]["remedy"],
        "milliseconds": body["checks"]["redis"]["milliseconds"],
    }
    assert body["checks"]["ledger"]["why"] == "the latest block is 700 s old"
    assert body["checks"]["database"]["ok"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("headers", "sees"),
    [
        # A stranger behind a proxy that adds no header, as nginx' proxy_pass alone or a tunnel.
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}, False),
        ({"REMOTE_ADDR": "::1"}, False),
        # No address at all: a unix socket.
        ({"REMOTE_ADDR": ""}, False),
        ({"REMOTE_ADDR": "203.0.113.9"}, False),
        # A trusted proxy on this machine that passes on what the client wrote.
        ({"REMOTE_ADDR": "127.0.0.2", "HTTP_X_FORWARDED_FOR": "127.0.0.1"}, False),
        ({"REMOTE_ADDR": "203.0.113.9", "HTTP_AUTHORIZATION": "Bearer the-token"}, True),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_AUTHORIZATION": "Bearer the-token"}, True),
        ({"REMOTE_ADDR": "203.0.113.9", "HTTP_AUTHORIZATION": "Bearer other"}, False),
        ({"REMOTE_ADDR": "203.0.113.9", "HTTP_AUTHORIZATION": "the-token"}, False),
    ],
)
def test_details_of_readiness_are_for_operators(
    door: Any, monkeypatch: Any, settings: Any, headers: dict[str, str], sees: bool
) -> None:
    settings.METRICS_TOKEN = "the-token"
    settings.TRUSTED_PROXIES = (ip_network("127.0.0.2"),)

    def state() -> dict[str, Any]:
        return {"ok": False, "host": "stream.internal", "freeBytes": 7, "why": "10.1.2.3 is away"}

    monkeypatch.setitem(health._checks, "ledger", state)
    response = door.get("/readyz", **headers)
    body = response.json()
    assert (response.status_code, body["status"]) == (503, "unavailable")
    found = body["checks"]["ledger"]
    assert found["ok"] is False and body["checks"]["database"]["ok"] is True
    if sees:
        assert found["why"] == "10.1.2.3 is away" and found["freeBytes"] == 7
    else:
        assert set().union(*body["checks"].values()) <= {"ok", "milliseconds", "cause"}


def test_the_process_is_healthy_whatever_it_needs(door: Any) -> None:
    response = door.get("/healthz")
    assert response.status_code == 200 and response.json()["status"] == "ok"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.django_db
def test_it_is_only_read_and_never_cached(door: Any, path: str) -> None:
    for method in ("POST", "OPTIONS", "DELETE"):
        refused = door.get(path, method=method)
        assert (refused.status_code, refused["Allow"]) == (405, "GET, HEAD")
        assert refused.json()["error"] == "http_method_not_allowed"
    for method in ("GET", "HEAD"):
        response = door.get(path, method=method)
        assert response.status_code == 200 and response["Cache-Control"] == "no-store"
        assert response["Content-Type"] == "application/json" and response["X-Request-Id"]
        assert response["Access-Control-Allow-Origin"] == "*"
    assert door.get(path, HTTP_HOST="basic.rpc.localhost").status_code == 404
