"""Roles of staff users: one each, kept as one of Django's groups."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q, QuerySet

from staff.errors import ActionRefused


class Role(StrEnum):
    """The roles, each with the rights of those before it. The names are those of the groups."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


MEANINGS = {
    Role.VIEWER: "sees every page, changes nothing",
    Role.OPERATOR: "sees every page and runs the service: gaps, upstreams, tips, alarms, suspending"
    " keys",
    Role.ADMINISTRATOR: "everything: customers, keys, tiers, limits, and staff users",
}


def role_of(user: Any) -> Role | None:
    """The user's role, if any. Superusers are administrators."""
    if user.is_superuser:
        return Role.ADMINISTRATOR
    return highest(group.name for group in user.groups.all())


def highest(names: Iterable[str]) -> Role | None:
    """The highest role among names of groups."""
    held = set(names)
    return next((role for role in reversed(Role) if role in held), None)


def administrators() -> QuerySet[User]:
    """Active administrators."""
    either = Q(is_superuser=True) | Q(groups__name=Role.ADMINISTRATOR)
    return User.objects.filter(either, is_active=True, is_staff=True).distinct()


@transaction.atomic
def give_role(user: User, role: Role, *, by: Any) -> None:
    """Makes it the user's only role, and removes all other permissions. Raises ActionRefused."""
    if role_of(user) is not role:
        if by is not None and by.pk == user.pk:
            raise ActionRefused("You cannot change your own role: ask another administrator")
        if role is not Role.ADMINISTRATOR:
            keep_one_administrator(without=user)
    user.is_staff = True
    user.is_superuser = user.is_superuser and role is Role.ADMINISTRATOR
    user.save(update_fields=["is_staff", "is_superuser"])
    user.groups.set([Group.objects.get_or_create(name=role)[0]])
    user.user_permissions.clear()


def keep_one_administrator(*, without: User) -> None:
    """Raises ActionRefused for the last active administrator. Call it in the transaction of the
    change: of two administrators who demote each other at once, the second is refused.
    """
    Group.objects.select_for_update().get_or_create(name=Role.ADMINISTRATOR)
    able = set(administrators().values_list("pk", flat=True))
    if able == {without.pk}:
        raise ActionRefused(
            f"“{without}” is the last administrator: give another user that role first"
        )
