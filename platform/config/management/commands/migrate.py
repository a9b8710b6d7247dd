"""manage.py migrate: Django's, which refuses a database that is too old with what to do."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from config.running.earlier_builds import ADVICE, too_old


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        found = too_old(MigrationRecorder(connection).applied_migrations())
        if found:
            raise CommandError(f"{found} {ADVICE}")
        super().handle(*args, **options)
