"""Health and readiness."""

from typing import Any

import pytest

from gateway import health


@pytest.mark.django_db
def test_a_ready_service_says_so_check_by_check(door: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(health._checks, "ledger", lambda: {"latestSlot": None})
    response = door.get("/readyz")
    assert response.status_code == 200
    checks = response.json()["checks"]
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
        response = door.get("/readyz")
    finally:
        settings.REDIS_URL = url
    assert response.status_code == 503
    body = response.json()
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


def test_the_process_is_healthy_whatever_it_needs(door: Any) -> None:
    response = door.get("/healthz")
    assert response.status_code == 200 and response.json() == {"status": "ok"}


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
