"""manage.py prepare_database: what `make run` does to the database, for other supervisors."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from config.running.engine import UnfitDatabase
from config.running.preparing import prepare_database

_PAUSE_SECONDS = 2.0


class Command(BaseCommand):
    help = (
        "Wait until the database answers, check that the service can work on it, and migrate it:"
        " before processes are started by systemd or in containers."
    )
    requires_system_checks: list[str] = []  # they need what is migrated here

    def handle(self, *args: Any, **options: Any) -> None:
        said = ""
        while True:
            try:
                prepare_database()
            except OperationalError as failure:
                text = str(failure).strip().splitlines()[0]
                if text != said:
                    self.stderr.write(f"waits for the database: {text}")
                said = text
                connection.close()
                time.sleep(_PAUSE_SECONDS)
            except UnfitDatabase as unfit:
                raise CommandError(str(unfit)) from None
            else:
                return
