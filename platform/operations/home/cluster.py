"""What the nodes of a cluster hold; no card where there is none."""

from typing import Any

from django.conf import settings
from django.db import Error, transaction
from django.http import HttpRequest

from columns import cluster_status
from columns.cluster_status import ClusterStatus
from operations.home.cards import Shown
from operations.readings.present import Readings
from staff.formatting import badge, counted, size_of

# A node that holds so much more than the mean wants SELECT citus_rebalance_start().
_UNEVEN = 1.5
# Less is not worth moving.
_SMALL = 1_000_000_000


def is_there() -> bool:
    return bool(settings.ARCHIVE_CLUSTER)


def cluster(request: HttpRequest, now: Readings) -> Shown:
    try:
        with transaction.atomic():
            found = cluster_status.read()
    except Error as error:
        trouble = ("not all nodes respond", "bad", str(error).strip()[:200])
        hint = "A node of the cluster does not respond."
        return Shown("not known", hint=hint, trouble=trouble)
    rows: list[tuple[Any, Any]] = [
        (f"{node.name}:{node.port}", _node(node.is_active, node.shards, node.size))
        for node in found.nodes
    ]
    rows.append(("Coordinator, its own tables", size_of(found.coordinator)))
    return Shown(
        f"{size_of(found.size)} on {counted(len(found.nodes), 'node')}",
        "all active",
        f"The fullest node holds {found.skew:.2f} of the mean.",
        rows,
        trouble=_trouble(found),
    )


def _node(is_active: bool, shards: int, size: int) -> Any:
    text = f"{size_of(size)} in {counted(shards, 'shard')}"
    return text if is_active else badge(f"not active, {text}", "bad", "")


def _trouble(found: ClusterStatus) -> tuple[str, str, str] | None:
    if not all(node.is_active for node in found.nodes):
        return "a node is not active", "bad", ""
    if found.skew > _UNEVEN and found.size > _SMALL:
        hint = "SELECT citus_rebalance_start() on the coordinator evens it out."
        return "unevenly filled", "warning", hint
    return None
