"""The second factor: codes of an authenticator app, and recovery codes."""

import hashlib
import secrets
from base64 import b32encode
from datetime import datetime, timedelta
from typing import Any

import django_otp
import segno
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice

from staff import audit, sessions
from staff.models import App

RECOVERY_CODES = 10
# Letters and digits that are not easily confused.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
# Session key and time limit between the first factor and the code.
_PENDING, _PATIENCE = "password_given", timedelta(minutes=5)
_BACKEND = "django.contrib.auth.backends.ModelBackend"
# An unconfirmed secret is replaced after this time.
_UNCONFIRMED = timedelta(hours=1)


# --- signing in, in two steps ---


def has_device(user: Any) -> bool:
    """Does signing in take a code?"""
    return device_of(user) is not None


def sign_in(
    request: HttpRequest, user: Any, *, by: str, lead_to: str, code_page: str
) -> HttpResponseRedirect:
    """Signs the user in and goes to `lead_to`, or with a second factor to the page that asks for
    its code. `by` is what the user gave: the password, or an account of the provider.
    """
    if has_device(user):
        _begin(request, user, by=by, lead_to=lead_to)
        return HttpResponseRedirect(code_page)
    user.signed_in_by = by
    login(request, user, backend=_BACKEND)
    return HttpResponseRedirect(lead_to)


def _begin(request: HttpRequest, user: Any, *, by: str, lead_to: str) -> None:
    """Notes that the first factor was right, and signs out until `finish`."""
    if request.user.is_authenticated:
        logout(request)
    request.session.cycle_key()
    request.session[_PENDING] = {
        "user": user.pk,
        "password": user.get_session_auth_hash(),
        "at": timezone.now().timestamp(),
        "by": by,
        "lead_to": lead_to,
    }


def pending(request: HttpRequest) -> tuple[User, str] | None:
    """The user who gave the first factor and not yet the code, and the page to go to. Ends with a
    changed password, a deactivation, or after some minutes.
    """
    noted = request.session.get(_PENDING)
    if noted is None:
        return None
    user = User.objects.filter(pk=noted["user"], is_active=True).first()
    late = timezone.now().timestamp() - noted["at"] > _PATIENCE.total_seconds()
    if user is None or late or user.get_session_auth_hash() != noted["password"]:
        del request.session[_PENDING]
        return None
    return user, noted["lead_to"]


def pending_id(request: HttpRequest) -> int | None:
    """The id of the user who gave the first factor and not yet the code, without a query."""
    noted = request.session.get(_PENDING)
    return None if noted is None else int(noted["user"])


def finish(request: HttpRequest, user: Any, device: Device) -> None:
    """Signs the user in, or marks the session of a signed-in user as verified."""
    noted = request.session.pop(_PENDING, None) or {}
    if request.user.is_authenticated and request.user.pk == user.pk:
        request.session.cycle_key()
        django_otp.login(request, device)
        return
    user.otp_device = device  # stored in the session by login
    user.signed_in_by = noted.get("by", sessions.PASSWORD)
    login(request, user, backend=_BACKEND)


def check_code(user: Any, code: str) -> Device | None:
    """The device that accepts the code, once; None for a wrong or used code, and for one too soon
    after a wrong one.
    """
    text = "".join(code.split()).replace("-", "").lower()
    device: Device | None
    if len(text) == 6 and text.isascii() and text.isdecimal():
        device = device_of(user)
    else:
        device = _recovery_of(user)
        text = _digest(user, text)
    if device is None:
        return None
    return django_otp.verify_token(user, device.persistent_id, text)


def proves(user: Any, password: str, code: str) -> bool:
    """Whether it is all that the user signs in with here: who signs in by the provider may have no
    password.
    """
    right = not user.has_usable_password() or user.check_password(password)
    return right and check_code(user, code) is not None


def locked_until(user: Any) -> datetime | None:
    """Until when no code is accepted, after wrong ones: 1 s, 2 s, 4 s, …"""
    moments = []
    for device in (device_of(user), _recovery_of(user)):
        if device is not None:
            allowed, why = device.verify_is_allowed()
            if not allowed:
                moments.append(why["locked_until"])
    return max(moments, default=None)


def why_not(user: Any) -> str:
    """Why a code was not accepted."""
    until = locked_until(user)
    if until is None:
        return "Wrong or used code: wait for the next one"
    seconds = max(1, round((until - timezone.now()).total_seconds()))
    return f"Wrong or used code. Wait {seconds} s, then enter a new one"


# --- setting it up ---


def device_of(user: Any) -> App | None:
    """The user's app, once confirmed with a code."""
    found: App | None = App.objects.filter(user_id=user.pk, confirmed=True).first()
    return found


def new_device(user: Any) -> App:
    """The app that is being set up: the same for an hour, so that the page can be reloaded."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # two tabs share one device
        waiting = App.objects.filter(user_id=user.pk, confirmed=False)
        waiting.filter(created_at__lt=timezone.now() - _UNCONFIRMED).delete()
        found: App | None = waiting.first()
        if found is not None and not found.is_readable:
            found.delete()
            found = None
        return found or App.new(user)


def confirm(request: HttpRequest, code: str, *, subject: Any) -> list[str] | None:
    """Turns it on if the code is the new app's, marks the session as verified, and returns the
    recovery codes. None: wrong code, or it is on already. The audit log's entry is on `subject`.
    """
    user: Any = request.user
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        device = App.objects.filter(user_id=user.pk, confirmed=False).first()
        if device is None or has_device(user) or not device.verify_token("".join(code.split())):
            return None
        device.confirmed = True
        device.save(update_fields=["confirmed"])
        codes = renew_recovery_codes(user)
        django_otp.login(request, device)
        audit.record(request, "set up a second factor", subject)
        return codes


@transaction.atomic
def remove(user: Any, now: datetime) -> None:
    """Turns it off and ends every session: one that began before there was a second factor would
    need no code any more.
    """
    App.objects.filter(user_id=user.pk).delete()
    StaticDevice.objects.filter(user_id=user.pk).delete()
    sessions.sign_out_everywhere(user, now)


@transaction.atomic
def turn_off(request: HttpRequest, *, subject: Any) -> None:
    """It is removed; the session of this request continues."""
    now = timezone.now()
    remove(request.user, now)
    sessions.begin(request.session, now)
    audit.record(request, "removed the second factor", subject)


@transaction.atomic
def renew_recovery_codes(user: Any) -> list[str]:
    """Replaces all recovery codes; the tables keep only digests."""
    StaticDevice.objects.filter(user_id=user.pk).delete()
    device = StaticDevice.objects.create(user_id=user.pk, name="recovery codes")
    codes = ["".join(secrets.choice(_LETTERS) for _ in range(10)) for _ in range(RECOVERY_CODES)]
    for code in codes:
        device.token_set.create(token=_digest(user, code))
    return [f"{code[:5]}-{code[5:]}" for code in codes]


@transaction.atomic
def renew_own_codes(request: HttpRequest, *, subject: Any) -> list[str]:
    """Replaces the recovery codes. A session that began with one of the old codes continues."""
    codes = renew_recovery_codes(request.user)
    device = device_of(request.user)
    if device is not None:
        finish(request, request.user, device)
    audit.record(request, "renewed the recovery codes", subject)
    return codes


def recovery_codes_left(user: Any) -> int:
    device = _recovery_of(user)
    return 0 if device is None else int(device.token_set.count())


def secret_text(device: App) -> str:
    """The secret to type in, in groups of four."""
    text = b32encode(device.bin_key).decode().rstrip("=")
    return " ".join(text[i : i + 4] for i in range(0, len(text), 4))


def picture(device: App) -> SafeString:
    """The secret as a QR code, an SVG."""
    # Safe: the QR code holds secret and user name as bits.
    return SafeString(
        segno.make(device.config_url, error="m").svg_inline(scale=5, border=4, light="#fff")
    )


def _recovery_of(user: Any) -> StaticDevice | None:
    return StaticDevice.objects.filter(user_id=user.pk).first()


def _digest(user: Any, code: str) -> str:
    return hashlib.sha256(f"{user.pk}:{code}".encode()).hexdigest()[:16]
