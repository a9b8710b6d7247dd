"""Roles: what each may do follows from the models, without anybody listing them."""

from collections.abc import Callable
from typing import Any

PERMISSIONS = [
    ("rewind.view_gap", {"viewer", "operator", "administrator"}),
    ("staff.view_auditentry", {"viewer", "operator", "administrator"}),
    ("auth.view_user", {"viewer", "operator", "administrator"}),
    ("access.view_apikey", {"viewer", "operator", "administrator"}),
    ("priority.change_upstream", {"operator", "administrator"}),
    ("historical.change_gap", {"operator", "administrator"}),
    ("rewind.change_divergence", {"operator", "administrator"}),
    ("tipping.change_ttlclass", {"operator", "administrator"}),
    ("alerts.change_webhook", {"operator", "administrator"}),
    ("access.change_apikey", {"operator", "administrator"}),
    ("access.add_apikey", {"administrator"}),
    ("access.change_tier", {"administrator"}),
    ("access.change_customer", {"administrator"}),
    ("priority.delete_upstream", {"administrator"}),
    ("auth.change_user", {"administrator"}),
    ("staff.change_auditentry", {"administrator"}),
    ("otp_totp.view_totpdevice", {"administrator"}),
    ("sessions.view_session", {"administrator"}),
]


def test_what_each_role_may_do(person: Callable[..., Any]) -> None:
    people = {role: person(role) for role in ("viewer", "operator", "administrator")}
    newcomer = person(None)
    for permission, roles in PERMISSIONS:
        held = {role for role, user in people.items() if user.has_perm(permission)}
        assert held == roles, permission
        assert not newcomer.has_perm(permission)


def test_roles_are_set_anew_after_a_migration(person: Callable[..., Any]) -> None:
    from django.contrib.auth.models import Group, Permission
    from django.core.management.sql import emit_post_migrate_signal

    viewer, operator = (Group.objects.get(name=name) for name in ("viewer", "operator"))
    foreign = Permission.objects.get(codename="add_apikey")
    viewer.permissions.set([foreign])
    kind = Permission.objects.get(
        codename="view_gap", content_type__app_label="rewind"
    ).content_type
    named = Permission.objects.create(codename="calm_gap", content_type=kind, name="Can calm a gap")
    kept = Permission.objects.create(
        codename="administer_gap", content_type=kind, name="Can do all to a gap"
    )
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    assert not viewer.permissions.filter(pk=foreign.pk).exists()
    assert not viewer.permissions.filter(pk=named.pk).exists()
    assert operator.permissions.filter(pk=named.pk).exists()
    assert not operator.permissions.filter(pk=kept.pk).exists()
    assert person("viewer").has_perm("rewind.view_gap")
