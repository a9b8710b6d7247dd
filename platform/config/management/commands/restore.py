"""manage.py restore: an installation from a backup."""

from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.utils import OperationalError

from config.backups import (
    BadBackup,
    check_backup,
    restore_database,
    restore_localnet,
    restore_secrets,
)
from config.lone_servers import lone_postgres
from embedded.addresses import embedded_addresses
from embedded.servers import FAILURES, RunDirTaken
from embedded.tools import ToolFailed
from staff import audit


class Command(BaseCommand):
    help = (
        "Makes an installation from a folder of `manage.py backup`, in an empty database, while"
        " the service rests. Tip addresses"
        " that were issued after the backup are not issued again."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--jobs", type=int, default=2, help="tables filled at once; default 2")

    def handle(self, *_args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        embedded = embedded_addresses(settings.RUN_DIR).database_url == settings.DATABASE_URL
        try:
            manifest = check_backup(folder)
            with lone_postgres(settings.RUN_DIR, must_rest=True) if embedded else nullcontext():
                if _has_tables():
                    raise BadBackup("the database is not empty: name a new one, or drop this one")
                kept = restore_secrets(folder, settings.RUN_DIR)
                if settings.LOCALNET:
                    restore_localnet(folder, settings.LOCALNET_DIR / "ledger.sqlite3")
                restore_database(folder, database_url=settings.DATABASE_URL, jobs=options["jobs"])
                with connection.cursor() as cursor:
                    cursor.execute("SET statement_timeout = 0")
                    cursor.execute("SET lock_timeout = 0")
                    cursor.execute("ANALYZE")
                call_command("migrate", interactive=False, verbosity=0)
                call_command("renew_tip_batches", verbosity=0)
                audit.record(None, "restored", text=f"The backup of {manifest['made_at']}.")
                connection.close()
        except (BadBackup, ToolFailed, RunDirTaken, OperationalError, *FAILURES) as failure:
            raise CommandError(str(failure).strip()) from None
        self.stdout.write(f"restored the backup of {manifest['made_at']}; {', '.join(kept)} too")


def _has_tables() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public')")
        return bool(cursor.fetchone()[0])
