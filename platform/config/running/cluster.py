"""The Citus cluster of ARCHIVE_CLUSTER: what it must be, and which tables are spread over it."""

from typing import Any

from django.conf import settings
from django.db import connection

from columns import spreading
from columns.clusters import CITUS
from columns.spreading import Spread
from config.environment.databases import CLUSTER_OPTIONS
from config.running.engine import UnfitDatabase
from historical.recording.store.spread_tables import SPREAD as LEDGER
from rewind.recording.store.spread_tables import SPREAD as ARCHIVE

SPREAD = (*ARCHIVE, *LEDGER)


def is_cluster_wanted() -> bool:
    return bool(settings.ARCHIVE_CLUSTER == CITUS)


def root_of(table: str) -> str:
    """The table that a partition belongs to."""
    return "rewind_accountchange" if table.startswith("rewind_changes_") else table


def require_cluster() -> None:
    """Raises UnfitDatabase where ARCHIVE_CLUSTER names a cluster and the database is none, and
    where the database is spread and ARCHIVE_CLUSTER names none.
    """
    if not is_cluster_wanted():
        if spreading.has_extension() and spreading.spread_tables():
            raise UnfitDatabase("the database is spread over a cluster: set ARCHIVE_CLUSTER=citus")
        return
    if not spreading.has_extension():
        raise UnfitDatabase(
            "ARCHIVE_CLUSTER=citus, and the database of DATABASE_URL has no extension citus: "
            + (
                "a superuser runs CREATE EXTENSION citus in it, on every node"
                if spreading.is_available()
                else "install Citus and name it in shared_preload_libraries, on every node"
            )
        )
    if not spreading.workers():
        raise UnfitDatabase(
            "ARCHIVE_CLUSTER=citus, and the cluster has no worker: a superuser runs"
            " SELECT citus_add_node('host', 5432) on the coordinator"
        )
    wrong = spreading.other_than(CLUSTER_OPTIONS[CITUS])
    if wrong:
        texts = [
            f"ALTER ROLE CURRENT_USER SET {name} = {CLUSTER_OPTIONS[CITUS][name]}" for name in wrong
        ]
        raise UnfitDatabase(
            "a pooler does not pass on what a session of the cluster needs: " + "; ".join(texts)
        )


def not_spread() -> list[Spread]:
    """The tables that are to be spread, and are not yet."""
    done = spreading.spread_tables()
    return [each for each in SPREAD if each.table not in done]


def spread_empty(**_: Any) -> None:
    """After a migration: tables without rows are spread. Those of a running installation wait for
    `manage.py cluster_spread`, which takes long.
    """
    if not is_cluster_wanted() or not _is_migrated():
        return
    require_cluster()
    for each in not_spread():
        if not spreading.has_rows(each.table):
            spreading.spread(each)


def _is_migrated() -> bool:
    names = set(connection.introspection.table_names())
    return names.issuperset(each.table for each in SPREAD)
