"""Actions of staff on a portal user."""

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from portal.models import Member
from portal.services import members
from staff.actions import AdminAction
from staff.inviting import sign_in_actions


def _not_invited(request: HttpRequest, member: Member) -> str:
    if not member.user.is_active:
        return "Deactivated: activate first"
    if not members.is_invited(member.user):
        return "Has a password: make a link to a new one"
    return ""


def _has_no_password(request: HttpRequest, member: Member) -> str:
    if not member.user.is_active:
        return "Deactivated: activate first"
    return "Has no password yet: invite again" if members.is_invited(member.user) else ""


def _set_active(active: bool) -> Any:
    return lambda request, row: members.set_active(row, active=active, now=timezone.now())


ACTIONS = (
    AdminAction(
        "invite_again",
        "Invite again",
        "The next page shows a new link to set a password; earlier links become void.",
        "invited again",
        lambda request, row: members.invite_again(row),
        _not_invited,
        icon="mail",
        shows=True,
    ),
    AdminAction(
        "new_link",
        "Link to a password",
        "The next page shows a link with which this user sets a new password, once. The present one"
        " stays good until then; a second factor stays as it is.",
        "made a password link",
        lambda request, row: None,
        _has_no_password,
        icon="link",
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
    *sign_in_actions(lambda member: member.user),
)
