"""Managing webhooks of a customer, or of the staff (customer None)."""

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from alerts import addresses, rule_store, store
from alerts.errors import (
    NameMissing,
    TooManyWebhooks,
    UnknownKind,
    WebhookInUse,
    WebhookIsOff,
)
from alerts.kinds import kinds_for
from alerts.models import Delivery, Webhook
from alerts.sealing import seal, unseal

MOST_WEBHOOKS = 10
OVERLAP = timedelta(hours=24)


@transaction.atomic
def create(customer_id: int | None, *, name: str, url: str, kinds: Sequence[str] = ()) -> Webhook:
    """Creates an enabled webhook with a new secret. Raises NameMissing, BadAddress, UnknownKind and
    TooManyWebhooks.
    """
    if store.count_webhooks(customer_id) >= MOST_WEBHOOKS:
        whose = "The staff" if customer_id is None else "A customer"
        raise TooManyWebhooks(f"{whose} can have {MOST_WEBHOOKS} webhooks: delete one first")
    return store.create_webhook(
        customer_id=customer_id,
        name=named(name, "A webhook"),
        url=_url(url),
        kinds=_kinds(kinds, customer_id),
        sealed_secret=seal(_new_secret()),
    )


@transaction.atomic
def edit(
    webhook_id: int,
    *,
    name: str | None = None,
    url: str | None = None,
    kinds: Sequence[str] | None = None,
) -> Webhook:
    """Changes the given attributes. Raises NameMissing, BadAddress and UnknownKind."""
    webhook = store.lock_webhook(webhook_id)
    if name is not None:
        webhook.name = named(name, "A webhook")
    if url is not None:
        webhook.url = _url(url)
    if kinds is not None:
        webhook.kinds = _kinds(kinds, webhook.customer_id)
    webhook.save(update_fields=["name", "url", "kinds"])
    return webhook


@transaction.atomic
def enable(webhook_id: int) -> Webhook:
    """Enables the webhook for new events, and clears its failures."""
    webhook = store.lock_webhook(webhook_id)
    webhook.is_enabled, webhook.disabled_reason, webhook.last_problem = True, "", ""
    webhook.failing_since = webhook.busy_until = None
    webhook.save(
        update_fields=[
            "is_enabled",
            "disabled_reason",
            "last_problem",
            "failing_since",
            "busy_until",
        ]
    )
    return webhook


@transaction.atomic
def disable(webhook_id: int, *, reason: str = "switched off by hand") -> Webhook:
    """Disables the webhook. Waiting deliveries are given up; they can be redelivered once it is
    enabled.
    """
    webhook = store.lock_webhook(webhook_id)
    if webhook.is_enabled:
        webhook.is_enabled, webhook.disabled_reason = False, reason[:200]
        webhook.save(update_fields=["is_enabled", "disabled_reason"])
        store.give_up_waiting(webhook)
    return webhook


def webhook_data(webhook: Webhook) -> dict[str, Any]:
    """The data that identifies a webhook in events, without its path, which may be a secret."""
    host = addresses.host_of(webhook.url)
    return {"webhookId": webhook.pk, "name": webhook.name, "host": host}


def secret_of(webhook: Webhook) -> str:
    """The secret (`whsec_…`) that verifies requests. Raises SecretUnreadable."""
    return unseal(webhook.sealed_secret)


def secrets_of(webhook: Webhook, *, now: datetime) -> list[str]:
    """The secrets to sign with: the current one, and the previous one during its overlap."""
    found = [secret_of(webhook)]
    until = webhook.previous_until
    if webhook.sealed_previous is not None and until is not None and now < until:
        found.append(unseal(webhook.sealed_previous))
    return found


@transaction.atomic
def rotate_secret(webhook_id: int, *, now: datetime, overlap: timedelta = OVERLAP) -> str:
    """Rotates and returns the secret. During the overlap requests are signed with both."""
    webhook = store.lock_webhook(webhook_id)
    secret = _new_secret()
    webhook.sealed_previous, webhook.previous_until = webhook.sealed_secret, now + overlap
    webhook.sealed_secret = seal(secret)
    webhook.save(update_fields=["sealed_previous", "previous_until", "sealed_secret"])
    return secret


@transaction.atomic
def send_test(webhook_id: int, *, now: datetime) -> Delivery:
    """Creates a `test` event for this webhook only, regardless of its kinds; it is posted within
    seconds. Raises WebhookIsOff.
    """
    webhook = store.lock_webhook(webhook_id)
    if not webhook.is_enabled:
        raise WebhookIsOff(f"{webhook} is off: enable it first")
    event = store.create_event(
        kind="test",
        customer_id=webhook.customer_id,
        about=f"webhook {webhook.name}"[:200],
        text="This is a test. No action is needed.",
        data=webhook_data(webhook),
        at=now,
        spread_at=now,
    )
    return store.create_delivery(event, webhook, now)


@transaction.atomic
def redeliver(delivery_id: int, *, now: datetime) -> Delivery:
    """Queues a delivery again, in any state. The webhook-id is the same, so that receivers can
    detect duplicates. Raises WebhookIsOff.
    """
    delivery = store.lock_delivery(delivery_id)
    if delivery.webhook is not None and not delivery.webhook.is_enabled:
        raise WebhookIsOff(f"{delivery.webhook} is off: enable it first")
    delivery.state, delivery.tries = Delivery.State.WAITING, 0
    delivery.due_at, delivery.delivered_at = now, None
    delivery.save(update_fields=["state", "tries", "due_at", "delivered_at"])
    return delivery


@transaction.atomic
def delete(webhook_id: int) -> None:
    """Deletes the webhook and the record of its deliveries. Raises WebhookInUse."""
    webhook = store.lock_webhook(webhook_id)
    reason = why_in_use(webhook)
    if reason is not None:
        raise WebhookInUse(reason)
    store.delete_webhook(webhook)


def why_in_use(webhook: Webhook) -> str | None:
    """Why the webhook cannot be deleted now."""
    rules = rule_store.rules_posting_to(webhook.pk)
    if not rules:
        return None
    return f"Event rules post to {webhook}: {', '.join(rules)}. Change or delete them first"


def named(name: str, what: str) -> str:
    """The name of `what`, with single spaces. Raises NameMissing."""
    name = " ".join(name.split())
    if not name or len(name) > 100:
        raise NameMissing(f"{what} needs a name of 1 to 100 characters")
    return name


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def _url(url: str) -> str:
    url = url.strip()
    addresses.check_url(url, private_allowed=settings.WEBHOOKS_PRIVATE)
    return url


def _kinds(names: Sequence[str], customer_id: int | None) -> list[str]:
    known = [kind.name for kind in kinds_for(staff=customer_id is None)]
    for name in names:
        if name not in known:
            raise UnknownKind(f"Unknown event: {name!r}; available are {', '.join(known)}")
    return [name for name in known if name in names]
