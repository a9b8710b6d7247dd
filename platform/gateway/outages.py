"""Refusals during an outage of PostgreSQL or Redis, or while the data is locked."""

from typing import Any, ClassVar

from jsonrpc.errors import RpcError
from shared_state import outages

_RETRY_SECONDS = 2
# A full disk or memory stays full until an operator frees it.
_FULL_SECONDS = 30


class ServiceOutage(RpcError):
    """PostgreSQL or Redis is unusable now. HTTP 503 in responses that are not JSON-RPC."""

    code = -32005
    reason = "service_outage"
    status: ClassVar[int] = 503
    abstract: ClassVar[bool] = True
    retry_seconds: ClassVar[int] = _RETRY_SECONDS

    def __init__(self, **data: Any) -> None:
        super().__init__(data={"retryAfterSeconds": self.retry_seconds, **data})

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_seconds)}


class DatabaseUnavailable(ServiceOutage):
    """The database does not respond: stored data cannot be read now."""

    reason = "database_unavailable"
    text = "The database does not respond at the moment. Try again"


class DatabaseFull(ServiceOutage):
    """The database's disk is full: nothing can be stored until the operator frees some space."""

    reason = "database_full"
    text = "The database cannot write because its disk is full. Try again later"
    retry_seconds = _FULL_SECONDS


class DiskFull(ServiceOutage):
    """The service's disk is full: nothing can be accepted or stored until the operator frees some
    space.
    """

    reason = "disk_full"
    text = "The service cannot write because its disk is full. Try again later"
    retry_seconds = _FULL_SECONDS


class DatabaseReadOnly(ServiceOutage):
    """The database rejects writes: it is a standby, or read-only."""

    reason = "database_read_only"
    text = "The database is read-only. Try again later"
    retry_seconds = _FULL_SECONDS


class DatabaseBusy(ServiceOutage):
    """Another request is changing the same data, and did not finish in time (`LOCK_TIMEOUT_MS`)."""

    reason = "database_busy"
    text = "Another request is changing the same data. Try again"


class RedisUnavailable(ServiceOutage):
    """Redis, which has the queues, does not respond."""

    reason = "redis_unavailable"
    text = "Redis does not respond at the moment. Try again"


class RedisFull(ServiceOutage):
    """Redis rejects writes: its disk or memory is full, until the operator frees some space."""

    reason = "redis_full"
    text = "Redis cannot write because its disk or memory is full. Try again later"
    retry_seconds = _FULL_SECONDS


_KINDS: dict[str, type[ServiceOutage]] = {
    kind.reason: kind
    for kind in (
        DatabaseUnavailable,
        DatabaseFull,
        DatabaseReadOnly,
        DatabaseBusy,
        DiskFull,
        RedisUnavailable,
        RedisFull,
    )
}


def outage_of(error: BaseException, **data: Any) -> ServiceOutage | None:
    """The refusal for an outage or a lock that was not free in time, with these members of `data`
    beside its own; None for an error of another kind.
    """
    found = outages.refusal_of(error)
    return None if found is None else _KINDS[found.name](**data)
