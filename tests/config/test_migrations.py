"""Every change of a model has its migration, and databases of released versions take them all."""

import os
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from tests import forked_commands, upgrades
from tests.databases import this_database
from tests.second_database import second_database


def test_models_and_migrations_agree() -> None:
    loader = MigrationLoader(None)
    detector = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
    changed = sorted(detector.changes(graph=loader.graph))
    assert not changed, (
        f"models of {changed} have changes without a migration:"
        f" .venv/bin/python manage.py makemigrations {' '.join(changed)} --name what_changes"
    )


@pytest.mark.parametrize("version", upgrades.versions())
@pytest.mark.django_db(transaction=True)
def test_a_database_of_a_released_version_gets_the_tables_of_a_new_one(
    version: str, tmp_path: Path
) -> None:
    with second_database() as url, second_database() as new:
        upgrades.fill(url, version)
        environment = {**os.environ, "DATABASE_URL": url, "TIDEMARK_RUN_DIR": str(tmp_path)}
        done = forked_commands.run(["migrate"], environment=environment)
        assert done.returncode == 0, done.stderr
        # As of the tests' own database (tests/conftest.py).
        with psycopg.connect(url) as upgraded:
            upgraded.execute("DROP TRIGGER audit_is_not_emptied ON staff_auditentry")
        upgrades.copy_tables(this_database(), new, tmp_path / "new.dump")
        expected = upgrades.tables(new, tmp_path / "new.sql")
        assert upgrades.tables(url, tmp_path / "upgraded.sql") == expected
        said = forked_commands.run(["doctor"], environment=environment)
        assert "All migrations are applied." in said.stdout


@pytest.mark.django_db
def test_a_database_of_a_build_before_the_first_release_is_refused_with_what_to_do() -> None:
    row = "django_migrations (app, name, applied) VALUES ('access', '0009_stream_limits', now())"
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {row}")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'access' AND name > '0010'")
        cursor.execute("DELETE FROM django_migrations WHERE name ~ '^0001_squashed'")
    refused = "access is at 0009_stream_limits, before 0011_kinds_of_calls.*Check out commit"
    with pytest.raises(CommandError, match=refused):
        call_command("migrate", verbosity=0)
