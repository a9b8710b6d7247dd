"""Every change of a model has its migration."""

from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState


def test_models_and_migrations_agree() -> None:
    loader = MigrationLoader(None)
    detector = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
    changed = sorted(detector.changes(graph=loader.graph))
    assert not changed, (
        f"models of {changed} have changes without a migration:"
        f" .venv/bin/python manage.py makemigrations {' '.join(changed)} --name what_changes"
    )
