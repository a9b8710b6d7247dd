"""What came of a try: written down, and what follows from it."""

from datetime import datetime, timedelta

from django.db import transaction

from alerts import store
from alerts.models import Delivery
from alerts.posting import Answer
from alerts.schedule import next_try
from alerts.services import webhooks
from alerts.services.events import tell

# A webhook that did nothing but fail for so long is off.
PATIENCE = timedelta(days=3)
_GONE = 410


@transaction.atomic
def note(delivery: Delivery, answer: Answer, *, now: datetime) -> bool:
    """Writes a try down: delivered, to be tried again, or given up. False, and nothing is written,
    when somebody else noted this try (a worker that was thought dead), or sent it anew.
    """
    store.lock_webhook_of(delivery)
    if answer.is_good:
        noted = store.note_attempt(delivery, state=Delivery.State.DELIVERED, delivered_at=now)
    else:
        again = next_try(delivery.tries + 1, now=now, retry_after=answer.retry_after)
        if again is None or answer.status == _GONE:
            noted = store.note_attempt(delivery, state=Delivery.State.FAILED)
        else:
            noted = store.note_attempt(delivery, due_at=again)
    if not noted:
        return False
    store.create_attempt(
        delivery.pk,
        at=now,
        status=answer.status,
        problem=answer.problem,
        answer=answer.text,
        milliseconds=answer.milliseconds,
    )
    if delivery.webhook_id is not None:
        _judge(delivery.webhook_id, answer, now)
    return True


def _judge(webhook_id: int, answer: Answer, now: datetime) -> None:
    """A success forgives; 410 Gone, and failures for days, switch the webhook off."""
    if answer.is_good:
        store.note_success(webhook_id, now)
        return
    webhook = store.note_failure(webhook_id, answer.problem, now)
    if webhook is None or webhook.failing_since is None:
        return
    if answer.status == _GONE:
        reason = "its receiver answered 410 Gone"
    elif now - webhook.failing_since >= PATIENCE:
        reason = f"it did nothing but fail for {PATIENCE.days} days; last: {answer.problem}"
    else:
        return
    webhooks.disable(webhook.pk, reason=reason)
    tell(
        "webhook.disabled",
        about=f"webhook {webhook.name}",
        text=f"The webhook “{webhook.name}” is off, since {reason}. Events are not posted to it"
        " any more. Mend its receiver or its address, then enable it.",
        data={**webhooks.webhook_data(webhook), "reason": reason[:200]},
        now=now,
        customer_id=webhook.customer_id,
    )
