"""Whether PostgreSQL takes writes: tried by one process every few seconds, for all of them."""

import logging
import secrets
import time
from dataclasses import dataclass

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from psycopg.errors import QueryCanceled

from columns.clusters import CITUS, nodes_that_fail
from columns.queries import execute
from shared_state.outages import NODE_AWAY, Outage, outage_of
from shared_state.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

SECONDS = 5.0
# The process that set it tries.
CLAIMED = f"{NAMESPACE}database:writes:claimed"
_FOUND = f"{NAMESPACE}database:writes"
# The result of a process that ended before its next turn is still taken for so long.
_KEPT_SECONDS = 3 * SECONDS
# Some pages of 8 KiB: what is free in a table's last page says nothing of the disk.
_ROWS = "SELECT generate_series(1, 3000) AS number"
_ON_NODES = f"CREATE TEMPORARY TABLE tidemark_trial ON COMMIT DROP AS {_ROWS}"
# The nodes of a cluster have so long for theirs.
_NODES_MS = 3_000


@dataclass(slots=True)
class _Own:
    """This process's last result (monotonic), for when Redis is away."""

    at: float = float("-inf")
    found: Outage | None = None


_own = _Own()


def outage_of_writes() -> Outage | None:
    """Why PostgreSQL takes no writes; None if it does, which was tried within SECONDS. Raises what
    the database raises where it cannot be reached.
    """
    try:
        if not client().set(CLAIMED, "", nx=True, px=round(SECONDS * 1_000)):
            return _decoded(client().get(_FOUND))
        found = _tried()
        client().set(_FOUND, _encoded(found), px=round(_KEPT_SECONDS * 1_000))
    except redis.RedisError:
        return _of_this_process()
    return found


def _of_this_process() -> Outage | None:
    now = time.monotonic()
    if now - _own.at >= SECONDS:
        _own.found, _own.at = _tried(), now
    return _own.found


def _tried() -> Outage | None:
    """Creates a table of a few pages and takes it back: nothing is waited for or left behind, and
    no lock is taken that another transaction needs. In a cluster each node does so.
    """
    name = f"tidemark_trial_{secrets.token_hex(6)}"
    try:
        with transaction.atomic():
            execute(f"CREATE TABLE {name} AS {_ROWS}")
            transaction.set_rollback(True)
        return _tried_on_nodes() if settings.ARCHIVE_CLUSTER == CITUS else None
    except (DatabaseError, InterfaceError) as error:
        found = outage_of(error)
        if found is None:
            log.warning("a trial of writing failed: %s", str(error).strip())
        elif found.name == "database_unavailable":
            raise
        return found


def _tried_on_nodes() -> Outage | None:
    with transaction.atomic():
        execute(f"SET LOCAL statement_timeout = {_NODES_MS}")
        try:
            failed = nodes_that_fail(_ON_NODES)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled):
                raise
            transaction.set_rollback(True)
            return NODE_AWAY
    for node, why in failed:
        if "No space left" in why:
            return Outage("database_full", f"the cluster's node {node} has a full disk")
        return Outage("database_unavailable", f"the cluster's node {node} does not answer")
    return None


def _encoded(found: Outage | None) -> str:
    return "" if found is None else f"{found.name}|{found.text}"


def _decoded(found: object) -> Outage | None:
    if not isinstance(found, bytes) or not found:
        return None
    name, _, text = found.decode().partition("|")
    return Outage(name, text)
