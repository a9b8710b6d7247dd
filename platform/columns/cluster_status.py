"""What the nodes of a Citus cluster hold."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from django.db import NotSupportedError

from columns.queries import all_rows, first_row


class Node(NamedTuple):
    """A node that takes rows, and the shards on it with their bytes, indexes included."""

    name: str
    port: int
    is_active: bool
    shards: int
    size: int


class SpreadTable(NamedTuple):
    """A spread table with all of its partitions: how many shards it has, their bytes, and those of
    the part of the key's values that has most.
    """

    name: str
    column: str
    shards: int
    size: int
    largest: int

    @property
    def skew(self) -> float:
        """The largest part against their mean; 1 where all are alike."""
        return self.largest * self.shards / self.size if self.size else 1.0


class ClusterStatus(NamedTuple):
    """A cluster at a moment. `coordinator` are the bytes of the coordinator's own database."""

    version: str
    nodes: Sequence[Node]
    tables: Sequence[SpreadTable]
    coordinator: int

    @property
    def size(self) -> int:
        """Bytes of all shards."""
        return sum(node.size for node in self.nodes)

    @property
    def skew(self) -> float:
        """The fullest node against their mean; 1 where all hold the same."""
        largest = max((node.size for node in self.nodes), default=0)
        return largest * len(self.nodes) / self.size if self.size else 1.0


_SHARDS = """
SELECT relname, column_to_column_name(d.logicalrelid, d.partkey), n.nodename, n.nodeport,
    s.shardminvalue::bigint, coalesce(sizes.size, 0)
FROM pg_dist_partition AS d
JOIN pg_class AS c ON c.oid = d.logicalrelid
JOIN pg_dist_shard AS s ON s.logicalrelid = d.logicalrelid
JOIN pg_dist_placement AS p ON p.shardid = s.shardid
JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
LEFT JOIN (SELECT shard_id, max(size) AS size FROM citus_shard_sizes() GROUP BY shard_id) AS sizes
    ON sizes.shard_id = s.shardid
WHERE d.partmethod = 'h'
"""


def read(root_of: Callable[[str], str] = str) -> ClusterStatus:
    """Asks every node. `root_of` names the table of a partition. Raises django.db.Error where a
    node does not respond, or the database is no cluster.
    """
    extension = first_row("SELECT extversion FROM pg_extension WHERE extname = 'citus'")
    if extension is None:
        raise NotSupportedError("the database has no extension citus")
    (own,) = first_row("SELECT pg_database_size(current_database())")
    nodes = all_rows(
        "SELECT nodename, nodeport, isactive FROM pg_dist_node"
        " WHERE shouldhaveshards AND noderole = 'primary' ORDER BY nodename, nodeport"
    )
    shards = all_rows(_SHARDS)
    held: dict[tuple[str, int], list[int]] = defaultdict(list)
    parts: dict[tuple[str, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    counted: dict[str, int] = defaultdict(int)
    for table, column, name, port, lowest, size in shards:
        held[name, port].append(size)
        parts[root_of(table), column][lowest] += size
        counted[root_of(table)] += 1
    return ClusterStatus(
        extension[0],
        [
            Node(name, port, active, len(held[name, port]), sum(held[name, port]))
            for name, port, active in nodes
        ],
        [
            SpreadTable(
                table, column, len(sizes), sum(sizes.values()), max(sizes.values(), default=0)
            )
            for (table, column), sizes in sorted(parts.items())
        ],
        own,
    )
