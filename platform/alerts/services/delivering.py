"""Posting what is due, each webhook at its own pace: one request to it at a time."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from standardwebhooks import Webhook as Signer

from alerts import store
from alerts.errors import SecretUnreadable
from alerts.models import Delivery, Event, Webhook
from alerts.posting import TIMEOUT_SECONDS, Answer, post
from alerts.services import tries, webhooks

# A turn is renewed before each request, which takes ten seconds and the look-up of a name; of a
# worker that was killed it ends by itself, and what it had not noted is posted again.
TURN = timedelta(seconds=60)
# A turn ends after this, so that a webhook with much to get does not hold a place for long.
_LONGEST_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to post to a webhook: nobody else does before `until`."""

    webhook_id: int
    until: datetime


def claim(*, now: datetime, most: int, failing: bool) -> list[Turn]:
    """Turns at webhooks for which something is due and at which nobody is. Those that fail are
    claimed apart: however many are slow or dead, the others never wait for them.
    """
    until = now + TURN
    found = store.claim_webhooks(now=now, until=until, most=most, failing=failing)
    return [Turn(pk, until) for pk in found]


def serve(turn: Turn, *, clock: Callable[[], datetime]) -> int:
    """Posts what is due at the turn's webhook, oldest event first, until nothing is, one fails, or
    the turn has been long enough. How many were delivered.
    """
    began = time.monotonic()
    delivered = 0
    while time.monotonic() - began < _LONGEST_SECONDS:
        now = clock()
        renewed = _renewed(turn, now)
        if renewed is None:
            return delivered
        turn = renewed
        delivery = store.next_delivery(turn.webhook_id, now)
        if delivery is None or delivery.webhook is None:
            break
        answer = _posted(delivery, delivery.webhook, now)
        tries.note(delivery, answer, now=clock())
        if not answer.is_good:
            break
        delivered += 1
    store.end_turn(turn.webhook_id, turn.until)
    return delivered


def message_id(event: Event) -> str:
    """The event's name to receivers, the same at every try; not counted, so that a number that was
    used before a backup was restored does not come twice.
    """
    text = f"{event.pk} {event.kind} {event.at.timestamp():.6f}"
    return f"msg_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def body_of(event: Event) -> str:
    """What is posted: the form of the Standard Webhooks specification."""
    content: dict[str, Any] = {
        "type": event.kind,
        "timestamp": event.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "data": {**event.data, "about": event.about, "text": event.text},
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def headers_of(event: Event, body: str, secrets: list[str], *, now: datetime) -> dict[str, str]:
    """The headers that sign the body, with each of the secrets."""
    name = message_id(event)
    signatures = [Signer(secret).sign(name, now, body) for secret in secrets]
    return {
        "content-type": "application/json",
        "user-agent": "Tidemark-Webhooks",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def _posted(delivery: Delivery, webhook: Webhook, now: datetime) -> Answer:
    body = body_of(delivery.event)
    try:
        secrets = webhooks.secrets_of(webhook, now=now)
    except SecretUnreadable as problem:
        return Answer(None, str(problem), "", 0)
    return post(
        webhook.url,
        body.encode(),
        headers_of(delivery.event, body, secrets, now=now),
        private_allowed=settings.WEBHOOKS_PRIVATE,
        timeout=TIMEOUT_SECONDS,
    )


def _renewed(turn: Turn, now: datetime) -> Turn | None:
    until = now + TURN
    is_mine = store.renew_turn(turn.webhook_id, turn.until, until)
    return Turn(turn.webhook_id, until) if is_mine else None
