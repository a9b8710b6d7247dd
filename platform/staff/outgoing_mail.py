"""Whether mails leave this machine, and what a mail server's failure is in words."""

import smtplib
import socket
import ssl

from django.conf import settings

_FILES = "django.core.mail.backends.filebased.EmailBackend"
_KEPT_CHARACTERS = 500
# Of a mail that was not sent.
WRITTEN = "not mailed, but written to a file: EMAIL_URL is not set"


def is_sent() -> bool:
    """False without EMAIL_URL: each mail is then a file in the run directory."""
    return bool(settings.EMAIL_BACKEND != _FILES)


def described(error: Exception) -> tuple[str, str]:
    """What went wrong, and the server's own reply (or ""), of an error of sending a mail."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"the mail server refused the sign-in with {error.smtp_code}", _text(error)
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the mail server answered {error.smtp_code}", _text(error)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, reason = next(iter(error.recipients.values()))
        return f"the mail server refused the address with {code}", text_of(reason)
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return "the mail server closed the connection", ""
    if isinstance(error, TimeoutError):
        return "the mail server did not answer in time", ""
    if isinstance(error, socket.gaierror):
        return "the mail could not be sent: the mail server's name is not known", ""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the mail server's certificate is not valid: {error.verify_message}", ""
    if isinstance(error, ssl.SSLError):
        return "the mail server does not speak TLS at this port", ""
    why = getattr(error, "strerror", None) or error
    return f"the mail could not be sent: {why}"[:300], ""


def text_of(reply: bytes | str) -> str:
    """A server's reply as text to store and show."""
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    return text.replace("\0", "\ufffd")[:_KEPT_CHARACTERS]


def _text(error: smtplib.SMTPResponseException) -> str:
    return text_of(error.smtp_error)
