"""Trying the mail server: what it says to a session, and to one mail."""

import smtplib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import parseaddr
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

from staff.outgoing_mail import text_of

T = TypeVar("T")

_ACCEPTED = (250, 251)


def connect() -> str:
    """What was agreed in a session without a mail, as words. Raises OSError or SMTPException; of
    these TimeoutError after EMAIL_TIMEOUT seconds for all of it.
    """

    def run() -> str:
        with _session() as smtp:
            return _agreed(smtp)

    return _within(settings.EMAIL_TIMEOUT, run)


def send(subject: str, text: str, to: Sequence[str]) -> list[str]:
    """Sends one mail; what the server answered, a sentence for each address and for the mail.
    Raises likewise, and SMTPResponseException if it takes the mail for no address.
    """
    return _within(
        settings.EMAIL_TIMEOUT, lambda: _sent(EmailMessage(subject, text, to=list(to)), to)
    )


def _sent(mail: EmailMessage, to: Sequence[str]) -> list[str]:
    content: Any = mail.message()
    with _session() as smtp:
        _, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
        _require(smtp.mail(sender))
        replies = {address: smtp.rcpt(address) for address in to}
        refused = [each for each in to if replies[each][0] not in _ACCEPTED]
        if len(refused) == len(to):
            _require(replies[to[0]])
        code, reply = _require(smtp.data(content.as_bytes(linesep="\r\n")))
    taken = ", ".join(each for each in to if each not in refused)
    said = [f"The mail server accepted the mail to {taken}: {code} {text_of(reply)}"]
    for each in refused:
        code, reply = replies[each]
        said.append(f"It refused the address {each}: {code} {text_of(reply)}")
    return said


def _require(answer: tuple[int, bytes]) -> tuple[int, bytes]:
    code, reply = answer
    if code not in _ACCEPTED:
        raise smtplib.SMTPResponseException(code, reply)
    return answer


@contextmanager
def _session() -> Iterator[smtplib.SMTP]:
    """Connected, with TLS and signed in as the settings say."""
    backend: Any = EmailBackend()
    try:
        backend.open()
        backend.connection.ehlo_or_helo_if_needed()
        yield backend.connection
    finally:
        backend.close()


def _agreed(smtp: smtplib.SMTP) -> str:
    smtp.noop()
    version = getattr(smtp.sock, "version", None)
    parts = ["without TLS" if version is None else f"by {version()}"]
    if settings.EMAIL_HOST_USER:
        parts.append(f"and takes the sign-in of {settings.EMAIL_HOST_USER}")
    return " ".join(parts)


def _within(seconds: float, run: Callable[[], T]) -> T:
    """The result of `run`, in a thread of its own: a server that sends a byte now and then never
    reaches the timeout of its socket.
    """
    outcome: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            outcome.put((run(), None))
        except Exception as error:
            outcome.put((None, error))

    Thread(target=work, daemon=True).start()
    try:
        result, error = outcome.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]
