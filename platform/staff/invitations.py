"""Links with which a staff user sets a first or a new password."""

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.mail import send_mail
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from staff import sessions


class _Links(PasswordResetTokenGenerator):
    """Valid until first use, the next sign-in, a sign-out everywhere, or its expiry."""

    key_salt = "staff.invitations"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        value: str = super()._make_hash_value(user, timestamp)
        return f"{value}{user.is_active}{sessions.standing(user).signed_out_before}"


links = _Links()


def is_invited(user: User) -> bool:
    """The user has neither set a password nor signed in by the provider."""
    return not user.has_usable_password() and user.last_login is None


def link_for(user: User) -> str:
    """The address at which its holder can set the user's password, once."""
    path = reverse(
        "staff_new_password",
        args=[urlsafe_base64_encode(force_bytes(user.pk)), links.make_token(user)],
    )
    return f"{settings.PUBLIC_URL}{path}"


def days() -> int:
    """For how many days a link is valid."""
    return int(settings.PASSWORD_RESET_TIMEOUT // 86_400)


def mail(user: User, link: str, *, by: str, is_new: bool) -> None:
    """Mails the link to the user."""
    what = "has invited you to" if is_new else "sends you a link for a new password of"
    send_mail(
        "Your invitation to Tidemark" if is_new else "A new password for Tidemark",
        f"{by} {what} the Tidemark admin at {settings.PUBLIC_URL}/admin/.\n\n"
        f"Your user name: {user.get_username()}\n"
        f"Choose your password here, once, within {days()} days:\n\n{link}\n\n"
        "Anyone with this link can set your password: do not pass it on.\n",
        None,
        [user.email],
    )
