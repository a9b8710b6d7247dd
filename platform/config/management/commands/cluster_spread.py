"""manage.py cluster_spread: spreads the large tables of a running installation over a cluster."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error, transaction

from columns import spreading
from config.running.cluster import is_cluster_wanted, not_spread, require_cluster
from config.running.engine import UnfitDatabase
from rewind.recording.store.spread_tables import SPREAD as ARCHIVE
from rewind.sealed.services import sealing


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
            waiting = not_spread()
            if not waiting:
                self.stdout.write("Every table is spread.")
            for each in waiting:
                begun = time.monotonic()
                with transaction.atomic():
                    if each in ARCHIVE:
                        # Triggers watch what is being sealed: a spread table cannot have them.
                        sealing.begin_again()
                    spreading.spread(each)
                self.stdout.write(f"{each.table}: spread in {time.monotonic() - begun:.1f} s")
        except (UnfitDatabase, Error) as error:
            raise CommandError(str(error).strip()) from None
