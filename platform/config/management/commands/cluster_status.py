"""manage.py cluster_status: what the nodes of the cluster hold."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from columns import cluster_status
from config.running.cluster import is_cluster_wanted, not_spread, require_cluster, root_of
from config.running.engine import UnfitDatabase
from staff.formatting import size_of


class Command(BaseCommand):
    help = "Show the nodes of ARCHIVE_CLUSTER with their shards, bytes and skew."

    def handle(self, *args: Any, **options: Any) -> None:
        if not is_cluster_wanted():
            raise CommandError("ARCHIVE_CLUSTER is not set: all tables are on one PostgreSQL")
        try:
            require_cluster()
            found = cluster_status.read(root_of)
        except (UnfitDatabase, Error) as error:
            raise CommandError(str(error).strip()) from None
        self.stdout.write(f"Citus {found.version}, skew of nodes {found.skew:.2f}")
        self.stdout.write(f"{'node':40} {'shards':>7} {'bytes':>10}")
        own = size_of(found.coordinator)
        self.stdout.write(f"{'coordinator, its own tables':40} {'':7} {own:>10}")
        for node in found.nodes:
            name = f"{node.name}:{node.port}" + ("" if node.is_active else " (not active)")
            self.stdout.write(f"{name:40} {node.shards:7} {size_of(node.size):>10}")
        self.stdout.write("")
        self.stdout.write(f"{'table':26} {'spread by':10} {'parts':>5} {'bytes':>10} {'skew':>5}")
        for table in found.tables:
            self.stdout.write(
                f"{table.name:26} {table.column:10} {table.shards:5}"
                f" {size_of(table.size):>10} {table.skew:5.2f}"
            )
        if waiting := not_spread():
            names = ", ".join(each.table for each in waiting)
            self.stdout.write(f"\nNot spread yet: {names}. Run manage.py cluster_spread.")
