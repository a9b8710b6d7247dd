"""What staff can do to a colleague's sign-in."""

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from staff import second_factor, sessions
from staff.actions import AdminAction


def _no_reset(request: HttpRequest, user: User) -> str:
    if user.pk == request.user.pk:
        return "Your own is turned off on your page “Two-factor sign-in”, with a code"
    return "" if second_factor.has_device(user) else "No second factor is set up"


ACTIONS = (
    AdminAction(
        "new_link",
        "Link to a password",
        "Makes a link with which this person chooses a password, once. The present password stays"
        " good until then; a second factor stays as it is.",
        "",  # the page of the link writes the entry
        lambda request, row: None,
        lambda request, row: "" if row.is_active else "Deactivated: a password would open nothing",
        icon="link",
        shows=True,
    ),
    AdminAction(
        "reset_second_factor",
        "Reset second factor",
        "The app and the recovery codes are void: the password alone signs in until a new app is"
        " set up. Be sure that it is this person who asks.",
        "reset the second factor",
        lambda request, row: second_factor.remove(row),
        _no_reset,
        said=lambda row, _: f"{row}: the second factor is reset",
        icon="phonelink_erase",
    ),
    AdminAction(
        "sign_out",
        "Sign out everywhere",
        "Ends every session of this person, in every browser, at once. Signing in again is open.",
        "signed out everywhere",
        lambda request, row: sessions.sign_out_everywhere(row, timezone.now()),
        icon="logout",
    ),
)
