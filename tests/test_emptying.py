"""What a test has committed is gone after it, as if Django had flushed the database."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import connection

from tests.emptying import empty_tables

pytestmark = pytest.mark.django_db(transaction=True)


def rows() -> dict[str, list[Any]]:
    """Every table's rows, without the ids, which a flush does not reset."""
    found: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT to_jsonb(t) - 'id' FROM {name} t")
            found[name] = [row for (row,) in cursor.fetchall()]
    return found


def counts() -> dict[str, int]:
    return {name: len(each) for name, each in rows().items()}


def commit_something() -> None:
    user = User.objects.create_user("ada", password="a password")
    user.groups.add(Group.objects.get(name="viewer"))
    user.user_permissions.add(Permission.objects.first())


@pytest.mark.parametrize("changed", ["nothing", "a group", "a permission of a group"])
def test_what_is_left_is_what_a_flush_leaves(changed: str) -> None:
    call_command("flush", verbosity=0, interactive=False)
    wanted = counts()
    empty_tables()
    commit_something()
    if changed == "a group":
        Group.objects.create(name="another")
    elif changed == "a permission of a group":
        Group.objects.get(name="viewer").permissions.clear()
    assert counts() != wanted
    empty_tables()
    assert counts() == wanted
    assert set(Group.objects.values_list("name", flat=True)) == {
        "viewer",
        "operator",
        "administrator",
    }


def test_tables_that_a_migration_fills_are_named() -> None:
    empty_tables()
    assert {name for name, count in counts().items() if count} == {
        "django_migrations",
        "django_content_type",
        "auth_permission",
        "auth_group",
        "auth_group_permissions",
    }
