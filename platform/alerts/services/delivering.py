"""Delivers events to webhooks: one request at a time for each webhook."""

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from standardwebhooks import Webhook as Signer

from alerts import store
from alerts.errors import SecretUnreadable
from alerts.models import Delivery, Event, Webhook
from alerts.posting import Answer, Poster
from alerts.services import attempts, webhooks
from alerts.services.attempts import Outcome
from shared_state.outages import AWAY

# A turn is renewed before each batch, whose requests end within _BATCH_SECONDS and the ten seconds
# of the last one: a DNS lookup that takes longer leaves no time for a request. The turn of a killed
# worker expires, and deliveries without a recorded attempt are posted again. Until then nothing is
# posted to the webhook. It is not shorter: no one renews it while a request waits for its response.
TURN = timedelta(seconds=20)
# Deliveries that are posted over one connection and recorded together, and for how long at most.
_BATCH = 50
_BATCH_SECONDS = 2.0
# A receiver that takes longer to fail is left alone for the rest of the turn.
_SLOW_MILLISECONDS = 1_000
# A turn ends after this, so that a webhook with many deliveries does not occupy a thread for long.
_LONGEST_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Turn:
    """The exclusive right to post to a webhook until `until`."""

    webhook_id: int
    until: datetime


@dataclass(frozen=True, slots=True)
class _Held:
    """What a worker has to write about its turn: the times until which it may last, the newest one
    last, and posted deliveries.
    """

    webhook_id: int
    untils: list[datetime]
    delivered: list[Outcome] = field(default_factory=list)


# Turns in which the database went away. This process has ended them, and no one else knows.
_cut_short: deque[_Held] = deque()


def claim(*, now: datetime, most: int, failing: bool) -> list[Turn]:
    """Claims webhooks with due deliveries. Failing webhooks are claimed separately, so that working
    ones never wait for them.
    """
    _end_cut_short()
    until = now + TURN
    found = store.claim_webhooks(now=now, until=until, most=most, failing=failing)
    return [Turn(pk, until) for pk in found]


def deliver(turn: Turn, *, clock: Callable[[], datetime]) -> int:
    """Posts due deliveries to the turn's webhook, oldest event first, until none is left, the
    receiver is slow to fail or fails twice in a row, or the turn is over. Returns how many were
    delivered. If the database goes away, the next `claim` records what was posted.
    """
    held = _Held(turn.webhook_id, [turn.until])
    try:
        return _deliver(turn, held, clock)
    except AWAY:
        _cut_short.append(held)
        raise


def _deliver(turn: Turn, held: _Held, clock: Callable[[], datetime]) -> int:
    began = time.monotonic()
    delivered = 0
    while time.monotonic() - began < _LONGEST_SECONDS:
        now = clock()
        held.untils[:] = [turn.until, now + TURN]
        if not store.renew_turn(turn.webhook_id, *held.untils):
            return delivered
        turn = Turn(turn.webhook_id, now + TURN)
        due = store.due_posts(turn.webhook_id, now, _BATCH)
        if not due:
            break
        good, failure = _post_batch(due, store.webhook(turn.webhook_id), now=now, clock=clock)
        held.delivered[:] = good
        attempts.record_delivered(good)
        held.delivered.clear()
        delivered += len(good)
        if failure is not None:
            attempts.record(failure.delivery, failure.answer, now=failure.at)
            if not good or failure.answer.milliseconds > _SLOW_MILLISECONDS:
                break
    store.end_turn(turn.webhook_id, turn.until)
    return delivered


def _post_batch(
    due: Sequence[Delivery], webhook: Webhook, *, now: datetime, clock: Callable[[], datetime]
) -> tuple[list[Outcome], Outcome | None]:
    """Posts the deliveries in order over one connection, until _BATCH_SECONDS are over or one
    fails. Returns the delivered ones, and the failed one.
    """
    began = time.monotonic()
    good: list[Outcome] = []
    with _poster(webhook) as poster:
        for delivery in due:
            answer = _post(delivery.event, webhook, poster, now)
            now = clock()
            outcome = Outcome(delivery, answer, now)
            if not answer.is_good:
                return good, outcome
            good.append(outcome)
            if time.monotonic() - began > _BATCH_SECONDS:
                break
    return good, None


def message_id(event: Event) -> str:
    """The event's `webhook-id`, the same at every attempt. A hash and not a counter: a restored
    backup must not reuse ids.
    """
    text = f"{event.pk or event.once} {event.kind} {event.at.timestamp():.6f}"
    return f"msg_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def body_of(event: Event) -> str:
    """The request body, as in the Standard Webhooks specification."""
    content: dict[str, Any] = {
        "type": event.kind,
        "timestamp": event.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "data": {**event.data, "about": event.about, "text": event.text},
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def headers_of(event: Event, body: str, secrets: list[str], *, now: datetime) -> dict[str, str]:
    """The headers of the request, with a signature by each of the secrets."""
    name = message_id(event)
    signatures = [Signer(secret).sign(name, now, body) for secret in secrets]
    return {
        "content-type": "application/json",
        "user-agent": "Tidemark-Webhooks",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def post_event(event: Event, webhook: Webhook, *, now: datetime) -> Answer:
    """One request, and its outcome."""
    with _poster(webhook) as poster:
        return _post(event, webhook, poster, now)


def _poster(webhook: Webhook) -> Poster:
    return Poster(webhook.url, private_allowed=settings.WEBHOOKS_PRIVATE)


def _post(event: Event, webhook: Webhook, poster: Poster, now: datetime) -> Answer:
    body = body_of(event)
    try:
        secrets = webhooks.secrets_of(webhook, now=now)
    except SecretUnreadable as problem:
        return Answer(None, str(problem), "", 0)
    return poster.post(body.encode(), headers_of(event, body, secrets, now=now))


def _end_cut_short() -> None:
    """Records what was posted in turns in which the database went away, and ends them."""
    while _cut_short:
        held = _cut_short.popleft()
        try:
            attempts.record_delivered(held.delivered)
            for until in held.untils:
                store.end_turn(held.webhook_id, until)
        except AWAY:
            _cut_short.append(held)
            raise
