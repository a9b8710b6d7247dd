"""The mail server: reachable, with TLS and sign-in as the settings say. No mail is sent."""

import smtplib
import socket
import ssl
from collections.abc import Iterator

from django.conf import settings

from config.doctor.findings import Finding, error, note, ok
from staff import mail_trial, outgoing_mail


def of_mail() -> Iterator[Finding]:
    if not outgoing_mail.is_sent():
        yield note(
            f"No mail is sent: each is written to a file in {settings.EMAIL_FILE_PATH}, and pages"
            " show links to pass on.",
            "Set EMAIL_URL to send mails.",
        )
        return
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        agreed = mail_trial.connect()
    except (OSError, smtplib.SMTPException) as failure:
        problem, reply = outgoing_mail.described(failure)
        said = f"{problem}: {reply}" if reply else problem
        yield error(f"The mail server {server} cannot be used: {said}.", _advice(failure))
    else:
        yield ok(f"The mail server {server} answers {agreed}.")


def _advice(failure: Exception) -> str:
    if isinstance(failure, smtplib.SMTPAuthenticationError):
        return "Correct the user or the password in EMAIL_URL."
    if isinstance(failure, smtplib.SMTPNotSupportedError):
        return "It does not support what EMAIL_URL needs. For TLS from the start, use smtps://host:465."
    if isinstance(failure, ssl.SSLCertVerificationError):
        return "Use the host of its certificate in EMAIL_URL, or renew the certificate."
    if isinstance(failure, ssl.SSLError):
        return "Correct EMAIL_URL: smtp://host:587 for STARTTLS, smtps://host:465 for TLS."
    if isinstance(failure, socket.gaierror):
        return "Correct the host of EMAIL_URL, or this machine's name servers."
    return "Start it, and check host and port of EMAIL_URL (smtps:// for 465) and firewalls."
