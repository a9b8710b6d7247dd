"""Whether the large tables are spread over a Citus cluster, whose statements are of another form:
each reads or writes one spread table, or any number of those that the coordinator keeps itself.
"""

from django.conf import settings

CITUS = "citus"

# Tests ask a single PostgreSQL in the form of a cluster.
is_always_apart = False


def is_clustered() -> bool:
    """Whether statements are of the cluster's form. It is right on a single PostgreSQL, too."""
    return is_always_apart or bool(settings.ARCHIVE_CLUSTER == CITUS)


def size_of(table: str) -> str:
    """The expression of a table's bytes without its indexes."""
    return _size("relation_size", table)


def total_size_of(table: str) -> str:
    """The same with indexes and long values."""
    return _size("total_relation_size", table)


def _size(name: str, table: str) -> str:
    single = f"pg_{name}('{table}'::regclass)"
    if settings.ARCHIVE_CLUSTER != CITUS:
        return single
    # The coordinator itself has nothing of a spread table.
    spread = f"SELECT FROM pg_dist_partition WHERE logicalrelid = '{table}'::regclass"
    return f"CASE WHEN EXISTS ({spread}) THEN citus_{name}('{table}'::regclass) ELSE {single} END"
