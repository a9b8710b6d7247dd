"""Whether the large tables are spread over a Citus cluster, whose statements are of another form:
each reads or writes one spread table, or any number of those that the coordinator keeps itself.
"""

from functools import cache

from django.conf import settings
from django.db import connection

from columns.advisory_locks import AdvisoryLock, exclusive, shared
from columns.queries import all_rows, execute, first_row

CITUS = "citus"

# Tests ask a single PostgreSQL in the form of a cluster.
is_always_apart = False


def is_clustered() -> bool:
    """Whether statements are of the cluster's form. It is right on a single PostgreSQL, too."""
    return is_always_apart or bool(settings.ARCHIVE_CLUSTER == CITUS)


# Nodes commit one after the other, the coordinator first. A transaction that writes to several
# holds this advisory lock until all have; reads share it, and see all of a transaction or nothing.
READ_FENCE = f"{shared(AdvisoryLock.CLUSTER_COMMITS)} IS NULL"
COMMIT_FENCE = exclusive(AdvisoryLock.CLUSTER_COMMITS)


def commit_alone() -> None:
    """In a cluster reads see all of what this transaction writes or nothing."""
    if is_clustered():
        connection.commits_alone = True  # type: ignore[attr-defined]


def let_reads_end() -> None:
    """Reads that began are over, and others wait until this transaction ends. Before a lock of a
    table that reads wait for: they would hold up its commit.
    """
    if is_clustered():
        execute(COMMIT_FENCE)


def total_size_of(table: str) -> str:
    """The expression of a table's bytes with indexes and long values."""
    single = f"pg_total_relation_size('{table}'::regclass)"
    if settings.ARCHIVE_CLUSTER != CITUS or not _has_citus():
        return single
    # The coordinator itself has nothing of a spread table.
    spread = f"SELECT FROM pg_dist_partition WHERE logicalrelid = '{table}'::regclass"
    citus = f"citus_total_relation_size('{table}'::regclass)"
    return f"CASE WHEN EXISTS ({spread}) THEN {citus} ELSE {single} END"


def nodes_that_fail(statement: str) -> list[tuple[str, str]]:
    """The workers of the cluster (`host:port`) on which the statement fails, and why."""
    return all_rows(
        "SELECT nodename || ':' || nodeport, result FROM run_command_on_workers(%s)"
        " WHERE NOT success",
        [statement],
    )


@cache
def _has_citus() -> bool:
    """Without the extension the service does not start, but the admin says so."""
    return first_row("SELECT 1 FROM pg_extension WHERE extname = 'citus'") is not None
