"""The mails of the portal: a link to choose a password, and nothing that anybody else may know."""

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.urls import reverse

from portal import store
from portal.models import Member
from portal.services import links, members
from portal.services.links import Purpose

_INVITATION = """\
You are invited to the portal of Tidemark, for the keys and the usage of {customer}.

Choose a password here, within seven days:

{link}

If you did not expect this, leave it: without the link nothing happens.
"""
_FORGOTTEN = """\
Somebody, probably you, asked for a new password for the portal of Tidemark.

Choose it here, within three hours:

{link}

If it was not you, leave it: the password stays as it is.
"""


def invitation_link(user: User) -> str:
    """Where the invited person chooses a password."""
    return _link(user, Purpose.INVITATION)


def mail_invitation(member: Member) -> None:
    """Raises what the mail server makes of it."""
    text = _INVITATION.format(customer=member.customer, link=invitation_link(member.user))
    send_mail("Your invitation to Tidemark", text, None, [member.user.email])


def mail_new_password(email: str) -> None:
    """A link for the member of that address; for any other address nothing."""
    member = store.member_named(members.username_of(email))
    if member is None or not member.user.is_active or member.user.is_staff:
        return
    if members.is_invited(member.user):
        mail_invitation(member)
        return
    text = _FORGOTTEN.format(link=_link(member.user, Purpose.FORGOTTEN))
    send_mail("A new password for Tidemark", text, None, [member.user.email])


def _link(user: User, purpose: Purpose) -> str:
    page = "portal:invitation" if purpose is Purpose.INVITATION else "portal:new_password"
    path = reverse(page, args=[links.token_for(user, purpose)])
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}"
