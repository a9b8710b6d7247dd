"""Health checks of what calls need, and their results."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from django.conf import settings
from django.db import OperationalError, connection

from columns.queries import execute
from embedded.run_state import read_run_state
from jsonrpc.wire import As
from shared_state.database_writes import outage_of_writes
from shared_state.outages import Outage, outage_of
from shared_state.redis_client import NAMESPACE, client

log = logging.getLogger(__name__)

_WRITTEN = f"{NAMESPACE}ready"

# Returns details to show; raises if calls cannot be answered.
Check = Callable[[], dict[str, Any]]


# The same for what calls do not need; the argument is whether the database answers.
Notice = Callable[[bool], dict[str, Any]]


class NotReady(Exception):
    """Raised by a check; the text may be shown to any caller."""


_checks: dict[str, Check] = {}
_notices: dict[str, Notice] = {}


def add_check(name: str, check: Check) -> None:
    """Adds an area's check in its AppConfig.ready, such as `ledger` with the latest block's age."""
    _checks[name] = check


def add_notice(name: str, notice: Notice) -> None:
    """Adds a check for operators that calls do not need: if it returns `{"ok": False, "why": …}`
    the service is `degraded`.
    """
    _notices[name] = notice


def _database() -> dict[str, Any]:
    run = read_run_state(Path(settings.RUN_DIR))
    if run is not None and "postgres" in run.servers and run.servers["postgres"].state == "hung":
        # The supervisor's finding: each new connection would wait until it times out.
        raise OperationalError("the embedded PostgreSQL hangs")
    execute("SELECT 1")
    return {}


def _redis() -> dict[str, Any]:
    # A write: with a full disk or memory Redis still answers reads.
    client().set(_WRITTEN, "", px=1_000)
    return {}


def _writes(is_database_there: bool) -> dict[str, Any]:
    """A notice: calls that read are answered all the same."""
    if not is_database_there:
        return _NOT_KNOWN
    found = outage_of_writes()
    return {} if found is None else _of_outage(found)


add_check("database", _database)
add_check("redis", _redis)
add_notice("writes", _writes)

_NOT_KNOWN = {"ok": False, "why": "not known without the database"}
_WITHOUT_DATABASE = {"database", "redis"}
_REMEDIES = {
    "database_unavailable": "The supervisor restarts its own PostgreSQL; with DATABASE_URL check"
    " that server, and that max_connections allows all sessions.",
    "database_full": "Free disk space: the service then continues by itself.",
    "disk_full": "Free disk space: the service then continues by itself.",
    "database_read_only": "Let PostgreSQL write again (a standby, default_transaction_read_only, a"
    " read-only disk): the service then continues by itself.",
    "redis_unavailable": "The supervisor restarts its own Valkey; with REDIS_URL check that"
    " server.",
    "redis_full": "Free disk space, or memory of Redis: the service then continues by itself.",
}


@dataclass(frozen=True, slots=True)
class Alive:
    """This process answers.

    status: always the same word
    version: of the service
    """

    status: Literal["ok"]
    version: str


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check. Some have more members, such as the newest slot.

    ok: whether it passed
    milliseconds: how long it took
    why: what is wrong, if it did not pass
    cause: the outage, if that is why: the reason with which calls are refused; or what is wrong
        with the stream of the chain: `stream_silent`, `stream_not_connected`, `follower_ended`
    remedy: what an operator can do about it
    """

    has_more_members: ClassVar[bool] = True

    ok: bool
    milliseconds: float
    why: str | msgspec.UnsetType = msgspec.UNSET
    cause: str | msgspec.UnsetType = msgspec.UNSET
    remedy: str | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the service can answer calls.

    status: `ok` when every check passes, `degraded` when calls are answered and something needs an
    operator (both HTTP 200), else `unavailable` (HTTP 503)
    checks: the result of each check, by its name
    """

    status: Literal["ok", "degraded", "unavailable"]
    checks: Annotated[dict[str, dict[str, Any]], As(dict[str, CheckAnswer])]


def readiness() -> Readiness:
    """Runs every check."""
    checks: dict[str, Any] = {}
    for name, check in _checks.items():
        if name not in _WITHOUT_DATABASE and not checks["database"]["ok"]:
            checks[name] = {**_NOT_KNOWN, "milliseconds": 0.0}
            continue
        checks[name] = _found(name, check)
    is_ready = all(found["ok"] for found in checks.values())
    for name, notice in _notices.items():
        checks[name] = _found(name, partial(notice, checks["database"]["ok"]))
    if not is_ready:
        return Readiness("unavailable", checks)
    return Readiness("ok" if all(each["ok"] for each in checks.values()) else "degraded", checks)


def without_details(found: Readiness) -> Readiness:
    """Only whether each check passed: the rest names hosts, disks and versions."""
    shown = ("ok", "milliseconds", "cause")
    checks = {
        check: {name: value for name, value in each.items() if name in shown}
        for check, each in found.checks.items()
    }
    return Readiness(found.status, checks)


def failed_checks(found: Readiness) -> list[str]:
    """The names of the failed checks that calls need."""
    return [name for name, each in found.checks.items() if not each["ok"] and name in _checks]


def _found(name: str, check: Check) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        found = {"ok": True, **check()}
    except NotReady as problem:
        found = {"ok": False, "why": str(problem)}
    except Exception as problem:
        # Never the driver's own text: it contains addresses and user names.
        log.warning("check %s failed: %s", name, problem)
        outage = outage_of(problem)
        found = {"ok": False, "why": type(problem).__name__}
        if outage is not None:
            found = _of_outage(outage)
        if name == "database":
            connection.close()  # or every later request of this thread would find it broken
    return {**found, "milliseconds": round((time.perf_counter() - started) * 1e3, 2)}


def _of_outage(found: Outage) -> dict[str, Any]:
    remedy = _REMEDIES[found.name]
    return {"ok": False, "why": found.text, "cause": found.name, "remedy": remedy}
