"""Which user signs in by which account of the sign-in provider."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from staff import audit, sessions
from staff.models import ProviderAccount
from staff.provider import Identity, ProviderRefused
from staff.roles import Role, give_role, highest, role_of

_ANOTHER = "Another account has this e-mail address: ask an administrator"


def bound_user(identity: Identity) -> User | None:
    """The user whom the account was bound to."""
    bound = ProviderAccount.objects.select_related("user")
    found = bound.filter(issuer=identity.issuer, subject=identity.subject).first()
    return None if found is None else found.user


@transaction.atomic
def bind(request: HttpRequest, user: User, identity: Identity) -> None:
    """From now on the account signs in as this user. Raises ProviderRefused if the user already has
    another one: a passed-on e-mail address opens nothing.
    """
    account = ProviderAccount(
        user=user, issuer=identity.issuer, subject=identity.subject, email=identity.email
    )
    try:
        with transaction.atomic():
            account.save(force_insert=True)
    except IntegrityError:
        raise ProviderRefused(
            "Another account of the provider signs in with this e-mail address: ask for yours to"
            " be unbound"
        ) from None
    audit.record(request, "bound to the provider", user, text=f"{account}", by=user)


def is_bound(user: Any) -> bool:
    return ProviderAccount.objects.filter(user=user.pk).exists()


@transaction.atomic
def unbind(user: Any) -> None:
    """The user's accounts at providers are forgotten, and every session ends."""
    ProviderAccount.objects.filter(user=user.pk).delete()
    sessions.sign_out_everywhere(user, timezone.now())


@transaction.atomic
def staff_user(request: HttpRequest, identity: Identity) -> User:
    """The user of the admin, whose role follows the provider's groups if OIDC_STAFF_GROUPS names
    some; one who is new there is added with it. Raises ProviderRefused, and ActionRefused if the
    last administrator would lose that role.
    """
    role = highest(settings.OIDC_STAFF_GROUPS.get(group, "") for group in identity.groups)
    if role is None and settings.OIDC_STAFF_GROUPS:
        raise ProviderRefused("None of your groups may use the admin")
    user = bound_user(identity)
    if user is None:
        user = _staff_with_address(identity.email) or _new_staff(request, identity, role)
        bind(request, user, identity)
    if not user.is_staff or not user.is_active:
        raise ProviderRefused("Your account may not use the admin")
    before = role_of(user)
    if role is not None and role is not before:
        give_role(user, role, by=None)
        changes = {"role": [before, role]}
        audit.record(request, "changed", user, text="by the provider", changes=changes, by=user)
    return user


def _staff_with_address(email: str) -> User | None:
    """The one user of the admin with this address. Raises ProviderRefused if it is another's."""
    same = User.objects.select_for_update().filter(Q(email__iexact=email) | Q(username=email))
    found = list(same[:2])
    if not found:
        return None
    if len(found) > 1 or not found[0].is_staff or found[0].email.lower() != email:
        raise ProviderRefused(_ANOTHER)
    return found[0]


def _new_staff(request: HttpRequest, identity: Identity, role: Role | None) -> User:
    """Without a password, and never a superuser."""
    if role is None:
        raise ProviderRefused("No user of the admin has your e-mail address")
    try:
        with transaction.atomic():
            user = User.objects.create_user(identity.email, email=identity.email, is_staff=True)
    except IntegrityError:
        raise ProviderRefused(_ANOTHER) from None
    give_role(user, role, by=None)
    audit.record(request, "added", user, text=f"by the provider, as {role}", by=user)
    return user
