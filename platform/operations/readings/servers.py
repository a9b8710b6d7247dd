"""PostgreSQL, Valkey, the disk, the lengths of queues, and the sign-in provider."""

import shutil
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import redis
from django.conf import settings

from alerts.models import Webhook
from alerts.store import count_waiting
from columns.queries import execute, first_row
from embedded.addresses import is_embedded
from shared_state import task_faults
from shared_state.database_writes import outage_of_writes
from shared_state.redis_client import client

# Celery's queues, as its workers are started with them.
QUEUES = ("default", "ingest", "simulations")
LATE = timedelta(minutes=2)


class DiskReading(msgspec.Struct, frozen=True):
    """A file system."""

    free: int
    total: int


class DatabaseReading(msgspec.Struct, frozen=True):
    """`problem`: why it takes no writes; empty if it does. `disk`: its own one, where that is not
    the run directory's and its size is set.
    """

    version: str
    size: int
    milliseconds: float
    problem: str = ""
    disk: DiskReading | None = None


class RedisReading(msgspec.Struct, frozen=True):
    """`most` is the memory that it may use, 0: no limit. Queues by name.
    `takes_writes` is False when its last write to the disk failed.
    """

    version: str
    used: int
    most: int
    milliseconds: float
    queues: dict[str, int]
    takes_writes: bool = True


class AlertsReading(msgspec.Struct, frozen=True):
    """Waiting deliveries, those due minutes ago, and names of failing webhooks with those of their
    customers.
    """

    waiting: int
    late: int
    failing: list[str]


class SignInReading(msgspec.Struct, frozen=True):
    """The sign-in provider: its issuer, and why no one can sign in by it; empty for none."""

    issuer: str = ""
    problem: str = ""


def read_database() -> DatabaseReading:
    # The first query opens the connection, which is not to be measured.
    version, size = first_row(
        "SELECT current_setting('server_version'), pg_database_size(current_database())"
    )
    started = time.perf_counter()
    execute("SELECT 1")
    milliseconds = (time.perf_counter() - started) * 1e3
    outage = outage_of_writes()
    problem = "" if outage is None else outage.text
    return DatabaseReading(version.split()[0], size, milliseconds, problem, _disk_of_database())


# All databases of the tablespace, which any role may ask of its own one, and as much WAL as is
# kept: its folder is shown to monitoring roles alone.
_USED = """
SELECT pg_tablespace_size(dattablespace) + pg_size_bytes(current_setting('max_wal_size'))
FROM pg_database WHERE datname = current_database()
"""


def _disk_of_database() -> DiskReading | None:
    total = settings.DATABASE_DISK_BYTES
    if not total or is_embedded(settings.DATABASE_URL, settings.RUN_DIR):
        return None
    (used,) = first_row(_USED)
    return DiskReading(free=max(0, total - int(used)), total=total)


def read_redis() -> RedisReading | None:
    """None while it is down."""
    try:
        started = time.perf_counter()
        found: Any = client().info()
        milliseconds = (time.perf_counter() - started) * 1e3
        with client().pipeline(transaction=False) as pipe:
            for queue in QUEUES:
                pipe.llen(queue)
            lengths = pipe.execute()
    except redis.RedisError:
        return None
    return RedisReading(
        version=str(found.get("valkey_version") or found.get("redis_version")),
        used=int(found["used_memory"]),
        most=int(found.get("maxmemory") or 0),
        milliseconds=milliseconds,
        queues=dict(zip(QUEUES, map(int, lengths), strict=True)),
        takes_writes=found.get("aof_last_write_status", "ok") == "ok",
    )


def read_disk(folder: Path) -> DiskReading:
    """The file system of the folder."""
    existing = folder if folder.exists() else folder.parent
    found = shutil.disk_usage(existing)
    return DiskReading(free=found.free, total=found.total)


def read_alerts(now: datetime) -> AlertsReading:
    waiting, late = count_waiting(now=now, due_before=now - LATE)
    failing = Webhook.objects.filter(failing_since__isnull=False).order_by("name", "pk")
    named = failing.values_list("name", "customer__name")[:20]
    names = [name if customer is None else f"{name} of {customer}" for name, customer in named]
    return AlertsReading(waiting, late, names)


def read_sign_in() -> SignInReading | None:
    """As the worker found it within the last minute. None while Redis is down."""
    if not settings.OIDC_ISSUER:
        return SignInReading()
    try:
        fault = task_faults.read().get("check_sign_in_provider")
    except redis.RedisError:
        return None
    # Behind the name of its class.
    problem = "" if fault is None else fault.reason.partition(": ")[2]
    return SignInReading(settings.OIDC_ISSUER, problem)
