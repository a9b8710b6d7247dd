"""manage.py restore: an installation from a backup."""

import os
from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.utils import OperationalError

from columns.queries import execute, first_row
from config.backup.backups import (
    BY_ITSELF,
    check_backup,
    made_at,
    restore_database,
    restore_localnet,
    restore_secrets,
)
from config.backup.keys import own_backup_key, read_backup_key
from config.backup.seals import BadBackup
from config.environment.kept_secrets import kept_secret_key
from config.running.command_postgres import command_postgres
from config.running.engine import UnfitDatabase, migrating, require_fit, server_version
from embedded.addresses import is_embedded
from embedded.servers import FAILURES, RunDirTaken
from embedded.tools import ToolFailed
from rewind.errors import ArchiveStoreUnavailable
from rewind.sealed.services import archive_store
from rewind.sealed.store.moving import with_objects
from staff import audit
from staff.formatting import counted
from upstream.object_store import StoreFault


class Command(BaseCommand):
    help = (
        "Makes an installation from a folder of `manage.py backup`, in an empty database, while"
        " the service rests. Tip addresses"
        " that were issued after the backup are not issued again."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        proof = parser.add_mutually_exclusive_group()
        proof.add_argument(
            "--key-file",
            type=Path,
            help="the secret that the backup was signed with, where it was made elsewhere: a copy"
            " of that installation's BACKUP_KEY_FILE or secret_key",
        )
        proof.add_argument(
            "--unsigned",
            action="store_true",
            help="trust a folder without a signature, as of old backups: it decides which accounts"
            " and API keys there are, and which SQL is run",
        )
        parser.add_argument("--jobs", type=int, default=2, help="tables filled at once; default 2")

    def handle(self, *_args: Any, **options: Any) -> None:
        folder: Path = options["folder"].resolve()
        embedded = is_embedded(settings.DATABASE_URL, settings.RUN_DIR)
        try:
            key = _key(folder, options)
            manifest = check_backup(folder, key=key)
            with command_postgres(settings.RUN_DIR, must_rest=True) if embedded else nullcontext():
                if require_fit():
                    raise BadBackup(BY_ITSELF)
                if _has_tables():
                    raise BadBackup("the database is not empty: name a new one, or drop this one")
                kept = restore_secrets(folder, settings.RUN_DIR, manifest=manifest, key=key)
                if "secret_key" in kept and not os.environ.get("SECRET_KEY"):
                    # Migrations encrypt under the key that the service will read.
                    settings.SECRET_KEY = kept_secret_key(settings.RUN_DIR)
                if settings.LOCALNET:
                    chain = settings.LOCALNET_DIR / "ledger.sqlite3"
                    restore_localnet(folder, chain, manifest=manifest)
                restore_database(
                    folder,
                    database_url=settings.DATABASE_URL,
                    jobs=options["jobs"],
                    version=server_version(),
                )
                with migrating(pooled=False):
                    execute("ANALYZE")
                    call_command("migrate", interactive=False, verbosity=0)
                call_command("renew_tip_batches", verbosity=0)
                cold = len(with_objects())
                missing = _missing() if cold else ""
                audit.record(None, "restored", text=f"The backup of {made_at(manifest)}.")
                connection.close()
        except (
            BadBackup,
            ToolFailed,
            RunDirTaken,
            UnfitDatabase,
            OperationalError,
            *FAILURES,
        ) as failure:
            raise CommandError(str(failure).strip()) from None
        self.stdout.write(f"restored the backup of {made_at(manifest)}; {', '.join(kept)} too")
        if cold:
            self.stdout.write(
                f"{counted(cold, 'segment')} of account writes {'has' if cold == 1 else 'have'}"
                f" objects in cold storage, which are not in a backup: {_objects(missing)}"
            )


def _missing() -> list[str] | str | None:
    """The objects that are not in ARCHIVE_STORE; why it cannot be read; None where none is set."""
    if not settings.ARCHIVE_STORE:
        return None
    try:
        return list(archive_store.missing())
    except StoreFault as fault:
        return fault.reason
    except ArchiveStoreUnavailable as fault:
        return fault.message


def _objects(missing: list[str] | str | None) -> str:
    if missing is None:
        return (
            "set ARCHIVE_STORE to a copy of that store, or to the store itself with credentials"
            " that only read; then run manage.py archive_store verify"
        )
    if isinstance(missing, str):
        return f"ARCHIVE_STORE cannot be read ({missing}); see manage.py archive_store check"
    if missing:
        return (
            f"{counted(len(missing), 'object')} missing in ARCHIVE_STORE, such as {missing[0]};"
            " copy what is missing from a copy of the store"
        )
    return "all are in ARCHIVE_STORE; manage.py archive_store verify reads them through"


def _key(folder: Path, options: dict[str, Any]) -> bytes | None:
    if options["unsigned"]:
        return None
    named: Path | None = options["key_file"]
    if named is None:
        return own_backup_key()
    if named.resolve().is_relative_to(folder):
        raise BadBackup(f"{named} lies in the backup itself: such a key proves nothing")
    return read_backup_key(named)


def _has_tables() -> bool:
    return bool(first_row("SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public')")[0])
