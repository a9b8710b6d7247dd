"""Databases that a build before 0.9.0 made, whose migrations are squashed into one for each app."""

from collections.abc import Collection
from functools import cache

from django.db.migrations.loader import MigrationLoader

# It has every migration that was squashed, and no later one.
LAST_BUILD = "1b30ff99"
ADVICE = (
    f"Check out commit {LAST_BUILD}, run manage.py migrate there (make run does it by itself),"
    " then upgrade."
)


@cache
def last_squashed() -> dict[str, str]:
    """By app, the last migration before 0.9.0. With it a database has the tables of the squashed
    one, which then counts as applied.
    """
    disk = MigrationLoader(None).disk_migrations
    return dict(replaced for each in disk.values() for replaced in each.replaces)


def is_squashed(app: str, name: str) -> bool:
    """Whether a migration that is not in the code was one of those builds'."""
    return name <= last_squashed().get(app, "")


def too_old(applied: Collection[tuple[str, str]]) -> str:
    """Why a database with these migrations cannot be upgraded; empty: it can."""
    for app, last in sorted(last_squashed().items()):
        names = [name for of, name in applied if of == app]
        if names and last not in names:
            return (
                f"The database is of a build that is too old to upgrade from: {app} is at"
                f" {max(names)}, before {last}."
            )
    return ""
