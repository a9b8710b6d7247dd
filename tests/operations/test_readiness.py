"""/readyz tells which processes are missing, and is ready all the same."""

from typing import Any

import pytest
from django.utils import timezone

from access import heartbeats
from operations.services import watching

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def test_missing_processes_are_named_and_calls_are_still_answered(client: Any) -> None:
    heartbeats.beat("worker")
    answer = client.get("/readyz")
    assert answer.status_code == 200
    found = answer.json()["checks"]["processes"]
    assert "worker" not in found["missing"] and {"beat", "lander"} <= set(found["missing"])
    assert found["watchedSecondsAgo"] is None
    watching.watch(now=timezone.now())
    assert client.get("/readyz").json()["checks"]["processes"]["watchedSecondsAgo"] < 60
