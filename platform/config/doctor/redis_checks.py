"""Redis: reachable, and such that nothing that was accepted is lost."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import redis
from django.conf import settings
from redis.exceptions import NoPermissionError

from config.doctor.findings import FREE_SPACE, Finding, error, note, ok, warning
from embedded.addresses import valkey_socket
from shared_state.redis_client import NAMESPACE, client
from staff.formatting import counted, size_of

_FULL = 0.8
_RIGHTS = "Give the user of REDIS_URL the rights that docs/deployment.md lists under Redis."
_KEYS = ("tidemark:", "cache:", "_kombu.", "unacked", "default", "ingest", "simulations")


def of_connecting() -> Iterator[Finding]:
    """An error where Redis cannot be used at all."""
    try:
        client().ping()
    except redis.AuthenticationError as failure:
        yield error(
            f"Redis refuses the password: {failure}", "Correct user and password in REDIS_URL."
        )
    except redis.BusyLoadingError:
        yield error("Redis is loading its data.", "Wait until it is done, then run doctor again.")
    except redis.RedisError as failure:
        if str(failure).startswith("MISCONF"):
            yield error(f"Redis cannot write: {failure}", FREE_SPACE)
            return
        advice = "Start it, and check host, port and TLS of REDIS_URL and firewalls."
        if _is_embedded():
            advice = "It is the embedded one, which runs only with `make run`: start that."
        yield error(f"Redis does not answer: {failure}", advice)
    else:
        try:
            found: Any = client().info()
        except NoPermissionError:
            yield error("The Redis user does not have the right to INFO.", _RIGHTS)
            return
        name = "Valkey" if found.get("valkey_version") else "Redis"
        yield ok(f"{name} {found.get('valkey_version') or found['redis_version']} answers.")


def of_redis() -> Iterator[Finding]:
    yield from _rights()
    found: Any = client().info()
    if found.get("role") == "slave":
        yield error("REDIS_URL leads to a read-only replica.", "Set it to the primary.")
    if found.get("redis_mode") == "cluster" or found.get("cluster_enabled"):
        yield error(
            "REDIS_URL leads to a Redis cluster: scripts use keys of several slots.",
            "Use a single server, with a replica for failover.",
        )
    yield from _persistence(found)
    yield from _memory(found)
    most = int(found.get("maxclients") or 0)
    clients = int(found.get("connected_clients") or 0)
    if most and clients > _FULL * most:
        yield warning(f"{clients} of {most} connections to Redis are open.", "Raise maxclients.")
    if count := int(found.get("rejected_connections") or 0):
        yield warning(f"Redis has refused {counted(count, 'connection')}.", "Raise maxclients.")


def _rights() -> Iterator[Finding]:
    """One command of each kind, on one key of each kind; the names belong to no one."""
    database = client().connection_pool.connection_kwargs.get("db") or 0
    tasks: Any = client().pubsub()  # type: ignore[no-untyped-call]
    pipeline: Any = client().pipeline(transaction=True)
    pipeline.time()
    with closing(tasks):
        for subject, attempt in (
            *((f"keys {key}*", partial(client().exists, f"{key}:doctor")) for key in _KEYS),
            ("keys *.pidbox*", partial(client().exists, "doctor.pidbox")),
            ("scripts", partial(client().eval, "return redis.call('TIME')[1]", 0)),
            ("transactions", pipeline.execute),
            ("channels tidemark:*", partial(client().publish, f"{NAMESPACE}doctor", "")),
            ("tasks' channel", partial(tasks.psubscribe, f"/{database}.celery.pidbox")),
            ("tasks' channel", partial(tasks.get_message, timeout=1)),
        ):
            try:
                attempt()
            except NoPermissionError:
                yield error(f"The Redis user does not have the right to the {subject}.", _RIGHTS)


def _persistence(found: Any) -> Iterator[Finding]:
    if not found.get("aof_enabled"):
        yield error(
            "Redis does not write an append-only file: a restart loses accepted submissions, and"
            " slots that wait to be stored.",
            "Set appendonly yes.",
        )
    if found.get("aof_last_write_status", "ok") != "ok":
        yield error("Redis' last write to its disk failed.", "Free some space on its disk.")
    if found.get("loading"):
        yield warning("Redis is loading its data.", "Wait until it is done.")
    sync = _config("appendfsync")
    # Of the embedded one the supervisor brings writes to the disk, once a second.
    if found.get("aof_enabled") and sync in ("everysec", "no") and not _is_embedded():
        lost = "a second" if sync == "everysec" else "half a minute"
        yield note(
            f"appendfsync is {sync}: a crash of the whole machine loses up to {lost} of accepted"
            " submissions.",
            "To prevent that, set appendfsync always. It makes each submission slower.",
        )


def _memory(found: Any) -> Iterator[Finding]:
    policy = found.get("maxmemory_policy") or _config("maxmemory-policy")
    used, most = int(found["used_memory"]), int(found.get("maxmemory") or 0)
    if policy is None:
        yield note("Redis does not report its eviction policy.", "Make sure that it is noeviction.")
    elif policy != "noeviction":
        yield error(
            f"maxmemory-policy is {policy}: when its memory is full, Redis silently drops"
            " submissions, queues and limits.",
            "Set maxmemory-policy noeviction.",
        )
    if count := int(found.get("evicted_keys") or 0):
        yield error(
            f"Redis dropped {counted(count, 'key')} because its memory was full.",
            "Set maxmemory-policy noeviction, and raise maxmemory.",
        )
    if not most:
        yield warning(
            "Redis does not have a maxmemory: it may use all memory of the machine, and be killed.",
            "Set maxmemory to the memory that the machine can spare.",
        )
    elif most < settings.FOLLOW_BACKLOG_BYTES:
        yield warning(
            f"maxmemory is {size_of(most)}, less than FOLLOW_BACKLOG_MB"
            f" ({size_of(settings.FOLLOW_BACKLOG_BYTES)}).",
            "Raise maxmemory, or lower FOLLOW_BACKLOG_MB.",
        )
    yield ok(f"Redis uses {size_of(used)}" + (f" of {size_of(most)}." if most else "."))


def _is_embedded() -> bool:
    parts = urlsplit(settings.REDIS_URL)
    return parts.scheme == "unix" and parts.path == str(valkey_socket(settings.RUN_DIR))


def _config(name: str) -> str | None:
    """None where the server does not let us ask."""
    try:
        found: Any = client().config_get(name)
    except redis.RedisError:
        return None
    value = found.get(name)
    return None if value is None else str(value)
