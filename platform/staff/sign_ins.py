"""Sign-ins and sign-outs in the audit log, and the start of sessions."""

from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from staff import audit, sessions


@receiver(user_logged_in, dispatch_uid="staff")
def _signed_in(request: HttpRequest, user: Any, **_: Any) -> None:
    sessions.begin(request.session, timezone.now())
    if request.META:  # not a command or a test
        by = getattr(user, "signed_in_by", sessions.PASSWORD)
        sessions.note_way(request.session, by)
        device = getattr(user, "otp_device", None)
        second = "" if device is None else f" With a second factor: {device.name}."
        text = f"By {by}.{second}"
        audit.record(request, "signed in", user, text=text, by=user)


@receiver(user_logged_out, dispatch_uid="staff")
def _signed_out(request: HttpRequest, user: Any, **_: Any) -> None:
    if user is not None and request.META:
        audit.record(request, "signed out", user, by=user)


@receiver(user_login_failed, dispatch_uid="staff")
def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    if request is not None and request.META:
        record_failure(request, str(credentials.get("username", "")))


def record_failure(request: HttpRequest, name: str, why: str = "") -> None:
    """Logs a sign-in that was refused, on the user if the name is known."""
    known = User.objects.filter(username=name).first() if "\0" not in name else None
    where = request.path_info
    audit.record(
        request, "failed to sign in", known or name[:150], text=f"At {where}. {why}".strip()
    )
