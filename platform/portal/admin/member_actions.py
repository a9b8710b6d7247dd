"""Actions of staff on a portal user."""

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
        return "Has a password; a forgotten one is reset from the portal's sign-in page"
    return ""


def _no_factor(request: HttpRequest, member: Member) -> str:
    return "" if second_factor.has_device(member.user) else "No second factor is set up"


def _set_active(active: bool) -> Any:
    return lambda request, row: members.set_active(row, active=active, now=timezone.now())


ACTIONS = (
    AdminAction(
        "invite_again",
        "Invite again",
        "Makes and mails a new link to set a password; earlier links become void.",
        "invited again",
        lambda request, row: members.invite_again(row),
        _not_invited,
        icon="mail",
        shows=True,
    ),
    AdminAction(
        "deactivate",
        "Deactivate",
        "Ends all sessions of this user at once and refuses further sign-ins. The customer's"
        " keys keep working.",
        "deactivated",
        _set_active(False),
        lambda request, row: "" if row.user.is_active else "Already deactivated",
        icon="person_off",
    ),
    AdminAction(
        "activate",
        "Activate",
        "This user can sign in again, with the same password.",
        "activated",
        _set_active(True),
        lambda request, row: "Already active" if row.user.is_active else "",
        icon="person_check",
    ),
    AdminAction(
        "reset_second_factor",
        "Reset second factor",
        "The app and the recovery codes become void: signing in takes only the password until a"
        " new app is set up. Verify first that this user asked for it.",
        "reset the second factor",
        lambda request, row: second_factor.remove(row.user),
        _no_factor,
        icon="phonelink_erase",
    ),
    AdminAction(
        "sign_out",
        "Sign out everywhere",
        "Ends every session of this user at once. The user can sign in again.",
        "signed out everywhere",
        lambda request, row: sessions.sign_out_everywhere(row.user, timezone.now()),
        icon="logout",
    ),
)
