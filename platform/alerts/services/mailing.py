"""Delivers events by mail: at most one mail a minute to each address."""

import smtplib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.mail import EmailMessage
from django.db import transaction

from alerts import store
from alerts.mails import compose
from alerts.models import Delivery, Event
from alerts.posting import Answer
from alerts.services import attempts
from staff import outgoing_mail

# The first event is mailed at once, those within this time after it in the next mail.
PAUSE = timedelta(seconds=60)
MOST_EVENTS = 50
# As for webhooks: a server that does not respond takes ten seconds a step.
_TURN = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Turn:
    """The exclusive right to mail to an address until `until`."""

    address: str
    until: datetime


def claim(*, now: datetime, most: int) -> list[Turn]:
    """Claims addresses with due deliveries that got no mail within PAUSE."""
    until = now + _TURN
    found = store.claim_mailboxes(now=now, until=until, mailed_before=now - PAUSE, most=most)
    return [Turn(address, until) for address in found]


def deliver(turn: Turn, *, clock: Callable[[], datetime]) -> int:
    """Sends one mail with all due events. Returns how many it contained."""
    deliveries = store.due_mails(turn.address, clock(), MOST_EVENTS)
    answer = _sent(turn, deliveries) if deliveries else None
    now = clock()
    with transaction.atomic():
        was_sent = answer is not None and answer.is_good
        store.end_mail_turn(turn.address, turn.until, now if was_sent else None)
        if answer is not None:
            for delivery in deliveries:
                attempts.record(delivery, answer, now=now)
    return len(deliveries) if answer is not None and answer.is_good else 0


def _sent(turn: Turn, deliveries: Sequence[Delivery]) -> Answer:
    return mail_events(turn.address, [delivery.event for delivery in deliveries])


def mail_events(address: str, events: Sequence[Event]) -> Answer:
    """The outcome of sending the mail; status 250 is SMTP's code for accepted."""
    began = time.monotonic()
    subject, text = compose(events)
    try:
        EmailMessage(subject, text, to=[address]).send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return Answer(None, *outgoing_mail.described(error), _since(began))
    reply = "" if outgoing_mail.is_sent() else outgoing_mail.WRITTEN
    return Answer(250, "", reply, _since(began))


def _since(began: float) -> int:
    return round(1_000 * (time.monotonic() - began))
