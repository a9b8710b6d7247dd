"""Calls and pages that change what another transaction holds for longer than LOCK_TIMEOUT_MS."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.utils import timezone
from solders.signature import Signature

from access.models import ApiKey, Customer
from columns.advisory_locks import AdvisoryLock, exclusive
from management.services import management_keys
from portal.services import members

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]


@contextmanager
def held(statement: str) -> Iterator[None]:
    """Another session holds what the statement locks; this one waits 0.2 s for it."""
    other = connections.create_connection("default")
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 200")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(statement)
        yield
    finally:
        other.close()
        connection.close()


@pytest.fixture
def key(issue: Callable[..., Any], tier: Callable[..., Any]) -> Any:
    return issue(tier=tier(simulation_jobs=3))


def test_a_change_by_the_management_api_may_be_repeated(key: Any) -> None:
    root = management_keys.issue(
        name="robot", scopes=["keys:write"], created_by="grace", now=timezone.now()
    )
    client = Client(raise_request_exception=False)

    def suspend() -> Any:
        return client.post(
            f"/manage/v1/keys/{key.key.pk}/suspend",
            content_type="application/json",
            headers={"Authorization": f"Bearer {root.secret}", "Idempotency-Key": "once"},
        )

    with held(f"SELECT FROM access_apikey WHERE id = {key.key.pk} FOR UPDATE"):
        refused = suspend()
    assert (refused.status_code, refused["Retry-After"]) == (503, "2")
    assert json.loads(refused.content) == {
        "error": "database_busy",
        "message": "Another request is changing the same data. Try again",
        "retryAfterSeconds": 2,
    }
    assert suspend().status_code == 200
    assert ApiKey.objects.get().suspended_at is not None


def test_a_call_that_writes_may_be_repeated(client: Client, key: Any) -> None:
    spec = {"signatures": [str(Signature.default())]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "submitSimulationJob", "params": [spec]}

    def submit() -> Any:
        return client.post(
            "/rewind", body, "application/json", headers={"Authorization": key.secret}
        )

    with held(exclusive(AdvisoryLock.JOBS_OF_KEY, str(key.key.pk))):
        refused = submit()
    error = refused.json()["error"]
    assert (error["code"], refused["Retry-After"]) == (-32005, "2")
    assert error["data"] == {"reason": "database_busy", "retryAfterSeconds": 2}
    assert submit().json()["result"]["total"] == 1


def test_pages_ask_for_another_try(admin_user: Any, key: Any) -> None:
    customer = Customer.objects.get()
    owner = members.invite(customer, email="owner@ada.example", role="owner")
    idle = Customer.objects.create(name="idle")
    people = {
        owner.user: "/portal/webhooks/mails/",
        admin_user: f"/admin/access/customer/{idle.pk}/delete/",
    }
    for person, path in people.items():
        browser = Client(raise_request_exception=False)
        browser.force_login(person)
        with held("SELECT FROM access_customer FOR UPDATE"):
            refused = browser.post(path, {"post": "yes"})
        text = refused.content.decode()
        assert (refused.status_code, refused["Retry-After"]) == (503, "5"), path
        assert "Another request is changing the same data" in text
        assert "doctor" not in text, "nothing is wrong on the server"
        assert browser.post(path, {"post": "yes"}).status_code in (200, 302)
