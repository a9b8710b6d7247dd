"""Members who sign in by the sign-in provider."""

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from portal import store
from staff import provider_accounts
from staff.provider import Identity, ProviderRefused


@transaction.atomic
def member_user(request: HttpRequest, identity: Identity) -> User:
    """The member whom the account was bound to, else the one who was invited by its verified e-mail
    address, whom it is bound to from then on. Raises ProviderRefused.
    """
    user = provider_accounts.bound_user(identity)
    member = store.member_named(identity.email) if user is None else store.member_of(user.pk)
    if member is None or member.user.is_staff or not member.user.is_active:
        raise ProviderRefused(f"{identity.email} belongs to no team here: ask for an invitation")
    if user is None:
        provider_accounts.bind(request, member.user, identity)
    return member.user
