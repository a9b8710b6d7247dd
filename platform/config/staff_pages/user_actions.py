"""What staff can do to a colleague's sign-in."""

from django.contrib.auth.models import User
from django.http import HttpRequest

from staff.actions import AdminAction
from staff.inviting import sign_in_actions


def _no_reset(request: HttpRequest, user: User) -> str:
    own = "Your own is turned off on your page “Two-factor sign-in”, with a code"
    return own if user.pk == request.user.pk else ""


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
    *sign_in_actions(lambda user: user, _no_reset),
)
