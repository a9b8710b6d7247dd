"""The permissions of each staff role, set again after every migration."""

from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models.signals import post_migrate

from staff.roles import Role

# Who runs the service changes what belongs to these areas: gaps, upstreams, tips, alarms.
_OPERATIONAL = {
    "priority",
    "rewind",
    "historical",
    "tipping",
    "ingest",
    "operations",
    "alerts",
}
_ALSO_OPERATIONAL = {"access.change_apikey"}  # to suspend one at night
_ALSO_VIEWED = {"auth.view_user"}
# What Django makes for each model; any other permission was named in a model's Meta.permissions.
_PLAIN = ("add", "change", "delete", "view")
# A permission so named is for administrators alone.
_RESERVED = "administer_"


def keep_roles() -> None:
    """Sets the permissions of the roles' groups after each migration."""
    # Django sends post_migrate to each app with models in turn: with the last one every permission
    # exists.
    last = [config for config in apps.get_app_configs() if config.models_module is not None][-1]
    post_migrate.connect(_set_permissions, sender=last, dispatch_uid="roles of the staff")


def _set_permissions(**_sent: Any) -> None:
    found = Permission.objects.values_list("pk", "content_type__app_label", "codename")
    wanted = {
        role: {pk for pk, app, codename in found if _may(role, app, codename)} for role in Role
    }
    held = Group.permissions.through.objects
    with transaction.atomic():
        for role, permissions in wanted.items():
            group, _ = Group.objects.get_or_create(name=role)
            has = set(held.filter(group=group).values_list("permission_id", flat=True))
            if has - permissions:
                held.filter(group=group, permission_id__in=has - permissions).delete()
            held.bulk_create(
                [held.model(group=group, permission_id=pk) for pk in permissions - has],
                ignore_conflicts=True,
            )


def _may(role: Role, app: str, codename: str) -> bool:
    if role is Role.ADMINISTRATOR:
        return True
    config = apps.app_configs.get(app)
    ours = config is not None and not config.name.startswith("django")
    name, verb = f"{app}.{codename}", codename.partition("_")[0]
    if verb == "view" and (ours or name in _ALSO_VIEWED):
        return True
    if role is Role.VIEWER or not ours or codename.startswith(_RESERVED):
        return False
    if verb in _PLAIN:
        return (verb == "change" and app in _OPERATIONAL) or name in _ALSO_OPERATIONAL
    return True
