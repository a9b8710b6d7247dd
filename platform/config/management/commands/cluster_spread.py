"""manage.py cluster_spread: spreads the large tables of a running installation over a cluster."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from config.running.cluster import is_cluster_wanted, not_spread, require_cluster, spread_all
from config.running.engine import UnfitDatabase


class Command(BaseCommand):
    help = (
        "Spread each large table over the nodes of ARCHIVE_CLUSTER that is not spread yet. The"
        " service may run: reads go on, and writers of a table wait while it is copied."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not is_cluster_wanted():
            raise CommandError("set ARCHIVE_CLUSTER=citus, here and for the service, first")
        try:
            require_cluster()
            if not not_spread():
                self.stdout.write("Every table is spread.")
            begun = time.monotonic()
            for table in spread_all():
                self.stdout.write(f"{table}: spread in {time.monotonic() - begun:.1f} s")
                begun = time.monotonic()
        except (UnfitDatabase, Error) as error:
            raise CommandError(str(error).strip()) from None
