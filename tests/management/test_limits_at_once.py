"""Requests at the same moment do not exceed what a customer, or the staff, may have."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from alerts.models import Rule, Webhook
from alerts.services import rules, webhooks
from management.models import ManagementKey
from management.services import management_keys
from tests.management.conftest import Api
from tests.patience import PATIENCE_SECONDS

AT_ONCE = 6
URL = "http://127.0.0.1:9/hook"
TOKEN = {"name": "billing", "scopes": ["keys:read"], "networks": ""}
RULE = {"trigger": "account", "condition": {"address": "1" * 32}, "mails": True}

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(send: Callable[[], Any]) -> list[int]:
    """The statuses of AT_ONCE requests."""
    barrier = threading.Barrier(AT_ONCE)

    def one(_number: int) -> int:
        try:
            connections["default"].ensure_connection()
            barrier.wait(PATIENCE_SECONDS)
            return int(send().status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sorted(pool.map(one, range(AT_ONCE)))


@pytest.mark.parametrize("of_staff", [True, False])
def test_webhooks(root: Callable[..., Api], ada: Any, of_staff: bool) -> None:
    customer, secret = None if of_staff else ada.pk, root().secret
    for number in range(webhooks.MOST_WEBHOOKS - 1):
        webhooks.create(customer, name=f"number {number}", url=URL)
    body = {"name": "last", "url": URL, "customer": customer}
    statuses = at_once(lambda: Api(secret).post("webhooks", body))
    assert statuses == [201, *[409] * (AT_ONCE - 1)]
    assert Webhook.objects.filter(customer=customer).count() == webhooks.MOST_WEBHOOKS


def test_rules(root: Callable[..., Api], ada: Any, settings: Any) -> None:
    settings.EVENT_RULES, secret = 1, root().secret
    body = {"name": "last", "customer": ada.pk, **RULE}
    statuses = at_once(lambda: Api(secret).post("rules", body))
    assert statuses == [201, *[409] * (AT_ONCE - 1)]
    assert Rule.objects.count() == rules.most_rules()


def test_tokens(member: Callable[..., Any], ada: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management_keys, "MOST_TOKENS", 1)
    browsers = [Client() for _ in range(AT_ONCE)]
    owner = member(ada)
    for each in browsers:
        each.force_login(owner.user)
    statuses = at_once(lambda: browsers.pop().post("/portal/tokens/", TOKEN))
    assert statuses == [*[200] * (AT_ONCE - 1), 302]
    assert ManagementKey.objects.count() == 1
