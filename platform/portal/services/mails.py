"""The mails of the portal: links to set a password."""

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.urls import reverse

from chain.shown_text import visible
from portal import store
from portal.models import Member
from portal.services import links, members
from portal.services.links import Purpose

_INVITATION = """\
You are invited to the portal of Tidemark, for the keys and the usage of {customer}.

Set a password here, within seven days:

{link}

If you did not expect this, ignore this mail.
"""
_FORGOTTEN = """\
A new password was requested for your account at the portal of Tidemark.

Set it here, within three hours:

{link}

If you did not request it, ignore this mail: the password stays unchanged.
"""


def mail_invitation(member: Member) -> None:
    """Raises the errors of sending mail."""
    text = _INVITATION.format(
        customer=visible(str(member.customer)), link=link_of(member.user, Purpose.INVITATION)
    )
    send_mail("Your invitation to Tidemark", text, None, [member.user.email])


def mail_new_password(email: str) -> None:
    """A link for the member with that address; nothing for other addresses."""
    member = store.member_named(members.username_of(email))
    if member is None or not member.user.is_active or member.user.is_staff:
        return
    if members.is_invited(member.user):
        mail_invitation(member)
        return
    text = _FORGOTTEN.format(link=link_of(member.user, Purpose.FORGOTTEN))
    send_mail("A new password for Tidemark", text, None, [member.user.email])


def link_of(user: User, purpose: Purpose) -> str:
    """Where the user sets a password, once."""
    page = "portal:invitation" if purpose is Purpose.INVITATION else "portal:new_password"
    path = reverse(page, args=[links.token_for(user, purpose)])
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}"
