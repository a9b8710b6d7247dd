"""What staff can do to a portal user's sign-in."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from portal.models import Member
from portal.services import members
from staff import second_factor, sessions
from staff.actions import AdminAction


def _not_invited(request: HttpRequest, member: Member) -> str:
    if not member.user.is_active:
        return "Deactivated: activate first"
    if not members.is_invited(member.user):
        return "Has a password: who forgot it asks for a link at the portal's sign-in page"
    return ""


def _no_factor(request: HttpRequest, member: Member) -> str:
    return "" if second_factor.has_device(member.user) else "No second factor is set up"


def _set_active(active: bool) -> Any:
    return lambda request, row: members.set_active(row, active=active, now=timezone.now())


ACTIONS = (
    AdminAction(
        "invite_again",
        "Invite again",
        "Makes and mails another link to choose a password; earlier links are void.",
        "invited again",
        lambda request, row: members.invite_again(row),
        _not_invited,
        icon="mail",
        shows=True,
    ),
    AdminAction(
        "deactivate",
        "Deactivate",
        "Signs this person out everywhere, at once, and refuses further sign-ins. The customer's"
        " keys go on working.",
        "deactivated",
        _set_active(False),
        lambda request, row: "" if row.user.is_active else "Deactivated already",
        icon="person_off",
    ),
    AdminAction(
        "activate",
        "Activate",
        "This person can sign in again, with the password of before.",
        "activated",
        _set_active(True),
        lambda request, row: "Active already" if row.user.is_active else "",
        icon="person_check",
    ),
    AdminAction(
        "reset_second_factor",
        "Reset second factor",
        "The app and the recovery codes are void: the password alone signs in until a new app is"
        " set up. Be sure that it is this person who asks.",
        "reset the second factor",
        lambda request, row: second_factor.remove(row.user),
        _no_factor,
        icon="phonelink_erase",
    ),
    AdminAction(
        "sign_out",
        "Sign out everywhere",
        "Ends every session of this person, at once. Signing in again is open.",
        "signed out everywhere",
        lambda request, row: sessions.sign_out_everywhere(row.user, timezone.now()),
        icon="logout",
    ),
)
