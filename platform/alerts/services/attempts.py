"""Records the outcome of delivery attempts, and disables webhooks that keep failing."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction

from alerts import store
from alerts.models import Attempt, Delivery
from alerts.posting import Answer
from alerts.schedule import next_attempt_at
from alerts.services import webhooks
from alerts.services.events import publish

# A webhook without any success for this long is disabled.
PATIENCE = timedelta(days=3)
_GONE = 410


class Outcome(NamedTuple):
    """What an attempt of a delivery came to, and when."""

    delivery: Delivery
    answer: Answer
    at: datetime


@transaction.atomic
def record(delivery: Delivery, answer: Answer, *, now: datetime) -> bool:
    """Records an attempt: delivered, to be retried, or given up. Writes nothing and returns False
    if another worker recorded this attempt, or the delivery was requested again.
    """
    store.lock_webhook_of(delivery)
    if answer.is_good:
        recorded = store.record_outcome(delivery, state=Delivery.State.DELIVERED, delivered_at=now)
    else:
        again = next_attempt_at(delivery.tries + 1, now=now, retry_after=answer.retry_after)
        if again is None or answer.status == _GONE:
            recorded = store.record_outcome(delivery, state=Delivery.State.FAILED)
        else:
            recorded = store.record_outcome(delivery, due_at=again)
    if not recorded:
        return False
    store.create_attempts([_attempt(delivery, answer, now)])
    if delivery.webhook_id is not None:
        _update_webhook(delivery.webhook_id, answer, now)
    return True


@transaction.atomic
def record_delivered(outcomes: Sequence[Outcome]) -> None:
    """Records good answers of one webhook, in four statements for any number. Those that another
    worker recorded stay as they are.
    """
    if not outcomes:
        return
    store.lock_webhook_of(outcomes[0].delivery)
    recorded = store.record_delivered([(each.delivery, each.at) for each in outcomes])
    mine = [each for each in outcomes if each.delivery.pk in recorded]
    store.create_attempts([_attempt(*each) for each in mine])
    webhook_id = outcomes[0].delivery.webhook_id
    if mine and webhook_id is not None:
        store.record_success(webhook_id, mine[-1].at)


def _attempt(delivery: Delivery, answer: Answer, at: datetime) -> Attempt:
    return Attempt(
        delivery=delivery,
        at=at,
        status=answer.status,
        problem=answer.problem,
        answer=answer.text,
        milliseconds=answer.milliseconds,
    )


def _update_webhook(webhook_id: int, answer: Answer, now: datetime) -> None:
    """A success clears earlier failures; 410 Gone, or failures for days, disable the webhook."""
    if answer.is_good:
        store.record_success(webhook_id, now)
        return
    webhook = store.record_failure(webhook_id, answer.problem, now)
    if webhook is None or webhook.failing_since is None:
        return
    if answer.status == _GONE:
        reason = "its receiver answered 410 Gone"
    elif now - webhook.failing_since >= PATIENCE:
        reason = f"all deliveries failed for {PATIENCE.days} days; last: {answer.problem}"
    else:
        return
    webhooks.disable(webhook.pk, reason=reason)
    publish(
        "webhook.disabled",
        about=f"webhook {webhook.name}",
        text=f"The webhook “{webhook.name}” is off, since {reason}. Events are no longer posted to"
        " it. Fix its receiver or its URL, then enable it.",
        data={**webhooks.webhook_data(webhook), "reason": reason[:200]},
        now=now,
        customer_id=webhook.customer_id,
    )
