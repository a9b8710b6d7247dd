"""manage.py backup: everything that outlives a restart, in a folder."""

from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config.backup.backups import BY_ITSELF, make_backup
from config.backup.keys import own_backup_key
from config.backup.seals import BadBackup
from config.running.cluster import is_cluster_wanted
from config.running.command_postgres import command_postgres
from config.running.engine import UnfitDatabase, require_fit
from embedded.addresses import is_embedded
from embedded.servers import FAILURES
from embedded.tools import ToolFailed

_NODES = (
    "pg_dump sees no single moment of a cluster's nodes: back up each node with its own tool"
    " (docs/deployment.md, A cluster)"
)


class Command(BaseCommand):
    help = (
        "Copies the database, the secrets of the run directory and localnet's chain into a new"
        " folder, beside the running service or while it rests. `manage.py restore` makes an"
        " installation of it. The folder holds secrets: keep it as you keep the seed. It is signed"
        " with a key from BACKUP_KEY_FILE or SECRET_KEY."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="made by this; must not be there yet")
        parser.add_argument("--jobs", type=int, default=2, help="tables read at once; default 2")

    def handle(self, *_args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        localnet = settings.LOCALNET_DIR / "ledger.sqlite3" if settings.LOCALNET else None
        embedded = is_embedded(settings.DATABASE_URL, settings.RUN_DIR)
        try:
            with command_postgres(settings.RUN_DIR) if embedded else nullcontext():
                if require_fit():
                    raise BadBackup(BY_ITSELF)
                if is_cluster_wanted():
                    raise BadBackup(_NODES)
                manifest = make_backup(
                    folder,
                    database_url=settings.DATABASE_URL,
                    run_dir=settings.RUN_DIR,
                    localnet=localnet,
                    key=own_backup_key(),
                    jobs=options["jobs"],
                    now=timezone.now(),
                )
        except (BadBackup, ToolFailed, UnfitDatabase, *FAILURES) as failure:
            raise CommandError(str(failure)) from None
        self.stdout.write(f"{folder}: {len(manifest['files'])} files, {manifest['bytes']:,} bytes")
