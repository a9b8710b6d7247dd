"""How long a session lasts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, parse_cookie
from django_otp.plugins.otp_totp.models import TOTPDevice

from staff.models import SignOut

_BEGAN, _BY = "signed_in_at", "signed_in_by"
PASSWORD = "password"


@dataclass(frozen=True, slots=True)
class Standing:
    """Which sessions of a user are over, and whether signing in takes a code."""

    signed_out_before: datetime | None
    has_device: bool


def standing(user: Any) -> Standing:
    device = TOTPDevice.objects.filter(user=OuterRef("pk"), confirmed=True)
    found = User.objects.filter(pk=user.pk).values_list("sign_out__before", Exists(device)).first()
    return Standing(*(found or (None, False)))


def begin(session: SessionBase, now: datetime) -> None:
    """Notes the time of the sign-in."""
    session[_BEGAN] = now.timestamp()


def note_way(session: SessionBase, by: str) -> None:
    """Notes what the user gave: PASSWORD, or else the account of a provider."""
    session[_BY] = by


def is_by_provider(session: SessionBase) -> bool:
    return bool(session.get(_BY, PASSWORD) != PASSWORD)


def is_over(session: SessionBase, standing: Standing, now: datetime) -> bool:
    """Did the session end, by its age or by a sign-out everywhere?"""
    began: float = session.get(_BEGAN, 0.0)
    before = standing.signed_out_before
    ended = before is not None and began < before.timestamp()
    return ended or now.timestamp() - began > settings.SESSION_COOKIE_AGE


def user_of(environ: Mapping[str, Any]) -> Any:
    """The user of a request's session, before Django has seen the request; anonymous without one.
    Whether the session has ended is for the page to check.
    """
    cookies = parse_cookie(environ.get("HTTP_COOKIE", ""))
    request = HttpRequest()
    request.session = SessionStore(cookies.get(settings.SESSION_COOKIE_NAME))
    return get_user(request)


def sign_out_everywhere(user: Any, now: datetime) -> None:
    """Ends every session of the user, also if the user is activated again."""
    SignOut.objects.update_or_create(user_id=user.pk, defaults={"before": now})
