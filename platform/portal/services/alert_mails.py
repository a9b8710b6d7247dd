"""Whether and where a customer's alerts are mailed. A new address is confirmed by a mailed link."""

from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.core.mail import send_mail
from django.db import transaction
from django.urls import reverse

from access.models import Customer
from chain.shown_text import visible
from portal import store
from portal.errors import LinkSpent
from portal.models import Member

_SALT = "portal.alert_address"
VALID = timedelta(days=3)
_SPENT = "This link is no longer valid: the address was changed since, or it has expired"
_TEXT = """\
{who} wants the alerts of {customer} at Tidemark to be mailed to this address:
expiring keys, exhausted quotas, failing webhooks.

Confirm it here, within three days:

{link}

If you did not expect this, ignore this mail: nothing is sent to you then.
"""


def want(customer_id: int, *, wanted: bool) -> bool:
    """Sets whether they are mailed, and returns the value before."""
    customer = store.lock_customer(customer_id)
    before = customer.alert_mails
    if before != wanted:
        customer.alert_mails = wanted
        customer.save(update_fields=["alert_mails"])
    return before


def mail_confirmation(member: Member, address: str) -> None:
    """Mails the link to the new address. Raises the errors of sending mail."""
    path = reverse("portal:alert_address_confirm", args=[_token_for(member, address)])
    link = f"{settings.PUBLIC_URL.rstrip('/')}{path}"
    text = _TEXT.format(who=member, customer=visible(str(member.customer)), link=link)
    send_mail("Confirm this address for alerts of Tidemark", text, None, [address])


def requested(token: str) -> tuple[Member, str]:
    """Who asked for the address of the link, and the address. Raises LinkSpent: for a link of too
    long ago, of one who is no longer an owner, or after another change of the address.
    """
    try:
        pk, address, before = signing.loads(token, salt=_SALT, max_age=VALID)
    except (signing.BadSignature, ValueError, TypeError):
        raise LinkSpent(_SPENT) from None
    member = store.active_owner(pk)
    if member is None or member.customer.email != before:
        raise LinkSpent(_SPENT)
    return member, address


@transaction.atomic
def confirm(token: str) -> tuple[Member, str, str]:
    """Sets the address of the link. Returns who asked, the address before and the new one. Raises
    LinkSpent.
    """
    member, address = requested(token)
    customer = store.lock_customer(member.customer_id)
    before = customer.email
    if before != member.customer.email:
        raise LinkSpent(_SPENT)
    _set(customer, address)
    return member, before, address


@transaction.atomic
def use_members(customer_id: int) -> str:
    """From now on the members' own addresses; returns the address before."""
    customer = store.lock_customer(customer_id)
    before = customer.email
    _set(customer, "")
    return before


def _set(customer: Customer, address: str) -> None:
    customer.email = address
    customer.save(update_fields=["email"])


def _token_for(member: Member, address: str) -> str:
    return signing.dumps([member.pk, address, member.customer.email], salt=_SALT)
