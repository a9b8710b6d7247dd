"""The button of the admin that sends a mail to the staff, with what the mail server answered."""

import smtplib
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse

from staff import audit, mail_trial, outgoing_mail
from staff.own_pages import OwnPage

_TEXT = """\
This is a test from the admin of Tidemark at {url}/admin/, sent by {who}.

Alarms are mailed to this address: there is nothing to do.
"""


def recipients(request: HttpRequest) -> list[str]:
    """STAFF_MAIL; without one, the user's own address, if any."""
    own = getattr(request.user, "email", "")
    return sorted(set(settings.STAFF_MAIL)) or ([own] if own else [])


def why_not(request: HttpRequest) -> str:
    """Why no test mail can be sent, or empty."""
    if not outgoing_mail.is_sent():
        return "EMAIL_URL is not set: mails are written to files"
    return "" if recipients(request) else "STAFF_MAIL is empty, and you have no address"


def _send_test(admin: Any, request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    back = HttpResponseRedirect(reverse("admin:operations_rules"))
    if reason := why_not(request):
        messages.error(request, f"No test mail was sent. {reason}")
        return back
    to = recipients(request)
    text = _TEXT.format(url=settings.PUBLIC_URL, who=request.user.get_username())
    try:
        said = mail_trial.send("Test of Tidemark's mails", text, to)
        verb, level = "sent a test mail", messages.SUCCESS
    except (OSError, smtplib.SMTPException) as error:
        problem, reply = outgoing_mail.described(error)
        answer = f"{problem}: {reply}" if reply else problem
        said = [f"{answer[:1].upper()}{answer[1:]}"]
        verb, level = "failed to send a test mail", messages.ERROR
    with transaction.atomic():
        audit.record(request, verb, ", ".join(to), text=". ".join(said))
    for sentence in said:
        messages.add_message(request, level, sentence)
    return back


TEST_MAIL = OwnPage(
    "rules/mail/", "operations_test_mail", _send_test, permission="operations.change_alarm"
)
