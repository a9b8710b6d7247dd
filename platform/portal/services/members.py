"""Inviting, changing and removing members of customers."""

from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.db import IntegrityError, transaction

from access.models import Customer
from portal import store
from portal.errors import AddressTaken, MayNot, TooMany
from portal.models import Member
from staff import invitations, sessions

MOST_MEMBERS = 20
_TAKEN = "This address cannot be invited: it has an account already"


def username_of(email: str) -> str:
    """The user name of an address."""
    return email.strip().lower()


@transaction.atomic
def invite(customer: Customer, *, email: str, role: str) -> Member:
    """A new member who has no password yet. Raises AddressTaken and TooMany."""
    if len(store.lock_members(customer.pk)) >= MOST_MEMBERS:
        raise TooMany(f"{customer} has {MOST_MEMBERS} portal users, the most there may be")
    name = username_of(email)
    if store.is_taken(name):
        raise AddressTaken(_TAKEN)
    try:
        with transaction.atomic():
            user = store.create_user(name)
    except IntegrityError:
        raise AddressTaken(_TAKEN) from None
    return store.create_member(user, customer, role)


@transaction.atomic
def invite_again(member: Member) -> None:
    """Voids earlier links. Raises MayNot if the user can sign in already."""
    user = store.lock_user(member.user_id)
    if not is_invited(user):
        raise MayNot(f"{member} can sign in already; a password is set from the sign-in page")
    user.set_unusable_password()  # a new random one, which voids links
    user.save(update_fields=["password"])
    member.user = user


def is_invited(user: User) -> bool:
    """The user has not signed in, and has no password yet."""
    return invitations.is_invited(user)


@transaction.atomic
def choose_password(user: User, password: str) -> None:
    """Sets it and ends every session. Raises Django's ValidationError for a weak one."""
    validate_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])


@transaction.atomic
def set_active(member: Member, *, active: bool, now: datetime) -> None:
    """Deactivating ends all sessions, for good."""
    store.set_user_active(member.user_id, active)
    if not active:
        sessions.sign_out_everywhere(member.user, now)


def set_role(member: Member, role: str) -> None:
    """The role that staff gives."""
    member.role = role
    member.save(update_fields=["role"])


@transaction.atomic
def change_role(actor: Member, member_id: int, *, role: str) -> tuple[Member, str]:
    """The colleague with the new role, and the old one. Raises Member.DoesNotExist and MayNot."""
    member = _colleague(actor, member_id)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    return member, before


@transaction.atomic
def remove(actor: Member, member_id: int) -> Member:
    """Removes and returns the colleague; the address can be invited again. Raises likewise."""
    member = _colleague(actor, member_id)
    forget(member)
    return member


@transaction.atomic
def forget(member: Member) -> None:
    """Deletes the membership, and the user unless it is staff."""
    if member.user.is_staff:
        member.delete()
    else:
        member.user.delete()


def _colleague(actor: Member, member_id: int) -> Member:
    """The colleague, with all members locked: two owners cannot remove each other at once."""
    found = {each.pk: each for each in store.lock_members(actor.customer_id)}
    if actor.pk not in found or not found[actor.pk].is_owner:
        raise MayNot("You are no longer an owner")
    if member_id == actor.pk:
        raise MayNot("Only another owner can change or remove you")
    if member_id not in found:
        raise Member.DoesNotExist
    return found[member_id]
