"""A customer's way through the portal in a real browser: from the sign-in to a webhook's test."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.alerts.conftest import Receiver
from tests.browser.conftest import PASSWORD, Watched
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.soak

EMAIL = "owner@northern-lights.example"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.stop()


@pytest.fixture
def signature(service: str) -> str:
    """A landed transaction of the customer, whose owner can sign in."""
    from django.utils import timezone

    from access.models import Customer, Tier
    from access.services.keys import issue_key
    from portal.services import members
    from priority.models import Submission
    from tests.priority.landed_samples import fill_landing

    customer = Customer.objects.create(name="Northern Lights")
    member = members.invite(customer, email=EMAIL, role="owner")
    members.choose_password(member.user, PASSWORD)
    tier = Tier.objects.get_or_create(name="elite", defaults={"rank": 30})[0]
    key = issue_key(customer, tier=tier, name="from staff").key
    fill_landing(timezone.now(), key=key, rounds=1)
    return str(
        Submission.objects.filter(key=key, state="landed", commitment="finalized")[0].signature
    )


def who(base: str, secret: str) -> dict[str, Any]:
    """What /historical knows of the key."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "whoami", "params": []}).encode()
    headers = {"Authorization": secret, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{base}/historical", body, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        found: dict[str, Any] = json.load(answer)["result"]["key"]
        return found


def shown_secret(visitor: Watched) -> str:
    """The new key's secret, copied by its button."""
    page = visitor.page
    page.wait_for_url(visitor.base + "/portal/keys/issued/")
    page.click("[data-copy=secret]")
    page.wait_for_selector("button:text-is('Copied')")
    secret: str = page.evaluate("navigator.clipboard.readText()")
    assert secret == page.inner_text("#secret")
    return secret


def test_a_customer_looks_after_themselves(
    watched: Callable[[], Watched], signature: str, receiver: Receiver
) -> None:
    from django.utils import timezone

    from alerts.services import delivering

    visitor = watched()
    page, base = visitor.page, visitor.base
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=base)
    visitor.open("/portal/keys/")
    page.fill("#id_email", EMAIL.upper())
    page.fill("#id_password", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_url(base + "/portal/keys/")

    page.click("text=Issue a key")
    page.fill("#id_name", "the night shift")
    page.uncheck("input[value=proxy]")
    page.click("main button[type=submit]")
    secret = shown_secret(visitor)
    assert who(base, secret)["name"] == "the night shift"

    page.click("text=The key's page")
    page.click("summary:has-text('Rotate')")
    page.fill("#id_overlap_hours", "2")
    page.click("details[open] button[type=submit]")
    successor = shown_secret(visitor)
    assert successor != secret
    assert who(base, successor)["createdAt"] >= who(base, secret)["createdAt"]

    page.click("nav >> text=Submissions")
    page.fill("main input[name=q]", signature)
    page.press("main input[name=q]", "Enter")
    page.wait_for_url(f"{base}/portal/fates/{signature}/")
    assert "Seen in slot 332254855" in page.inner_text(".timeline")

    page.click("nav >> text=Webhooks")
    page.click("text=Add a webhook")
    page.fill("#id_name", "bridge")
    page.fill("#id_url", receiver.url)
    page.click("main button[type=submit]")
    page.click("button:text-is('Send a test')")
    page.wait_for_selector("td >> text=waiting")
    for turn in delivering.claim(now=timezone.now(), most=4, failing=False):  # as the worker does
        delivering.deliver(turn, clock=timezone.now)
    page.reload()
    assert "HTTP 204" in page.inner_text("td >> text=HTTP")
    (_path, headers, _body) = receiver.got[0]
    assert headers["webhook-signature"].startswith("v1,")
    assert not visitor.problems, "\n".join(visitor.problems)
