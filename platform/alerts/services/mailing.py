"""Mails of what is due, each address at its own pace: what comes within a minute is one mail."""

import smtplib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.mail import EmailMessage
from django.db import transaction

from alerts import store
from alerts.mails import compose
from alerts.models import Delivery
from alerts.posting import KEPT_CHARACTERS, Answer
from alerts.services import tries

# The first event is told at once, what follows it within this in the next mail.
PAUSE = timedelta(seconds=60)
MOST_EVENTS = 50
# As webhooks' turns: a server that does not answer takes ten seconds a step.
_TURN = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to write to an address: nobody else does before `until`."""

    address: str
    until: datetime


def claim(*, now: datetime, most: int) -> list[Turn]:
    """Turns at addresses for which something is due, that got no mail within PAUSE, and to which
    nobody writes.
    """
    until = now + _TURN
    found = store.claim_mailboxes(now=now, until=until, mailed_before=now - PAUSE, most=most)
    return [Turn(address, until) for address in found]


def serve(turn: Turn, *, clock: Callable[[], datetime]) -> int:
    """Sends one mail of all that is due; how many events it told."""
    deliveries = store.due_mails(turn.address, clock(), MOST_EVENTS)
    answer = _sent(turn.address, deliveries) if deliveries else None
    now = clock()
    with transaction.atomic():
        was_sent = answer is not None and answer.is_good
        store.end_mail_turn(turn.address, turn.until, now if was_sent else None)
        if answer is not None:
            for delivery in deliveries:
                tries.note(delivery, answer, now=now)
    return len(deliveries) if answer is not None and answer.is_good else 0


def _sent(address: str, deliveries: Sequence[Delivery]) -> Answer:
    """What became of the mail, in the terms of a request: 250 is SMTP's word for taken."""
    began = time.monotonic()
    subject, text = compose([delivery.event for delivery in deliveries])
    try:
        EmailMessage(subject, text, to=[address]).send()
    except smtplib.SMTPResponseException as error:
        said = _text(error.smtp_error)
        return Answer(None, f"the mail server answered {error.smtp_code}", said, _since(began))
    except smtplib.SMTPRecipientsRefused as error:
        code, reason = next(iter(error.recipients.values()))
        problem = f"the mail server refused the address with {code}"
        return Answer(None, problem, _text(reason), _since(began))
    except TimeoutError:
        return Answer(None, "the mail server did not answer in time", "", _since(began))
    except (OSError, smtplib.SMTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return Answer(None, f"the mail could not be sent: {why}"[:300], "", _since(began))
    return Answer(250, "", "", _since(began))


def _text(said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return text.replace("\0", "\ufffd")[:KEPT_CHARACTERS]


def _since(began: float) -> int:
    return round(1_000 * (time.monotonic() - began))
