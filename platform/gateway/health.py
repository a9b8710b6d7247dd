"""What the service needs to answer calls: the checks, and what they find."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from django.db import connection

from access.redis_client import client
from jsonrpc.wire import As

log = logging.getLogger(__name__)

# What the check found, to be shown; it raises when the service cannot serve.
Check = Callable[[], dict[str, Any]]


class NotReady(Exception):
    """What a check raises with a text that may be shown to whoever asks."""


_checks: dict[str, Check] = {}


def add_check(name: str, check: Check) -> None:
    """An area's own check, added in its AppConfig.ready: say `ledger`, with the latest block and
    its age.
    """
    _checks[name] = check


def _database() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {}


def _redis() -> dict[str, Any]:
    client().ping()
    return {}


add_check("database", _database)
add_check("redis", _redis)


@dataclass(frozen=True, slots=True)
class Alive:
    """This process answers.

    status: always the same word
    """

    status: Literal["ok"]


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one check found. Some say more, such as the newest slot.

    ok: whether it passed
    milliseconds: how long it took
    why: what is wrong, where it did not pass
    """

    has_more_members: ClassVar[bool] = True

    ok: bool
    milliseconds: float
    why: str | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the service can answer, and what it lacks for that.

    status: `ok` (HTTP 200) when every check passes, else `unavailable` (HTTP 503)
    checks: what each check found, by its name
    """

    status: Literal["ok", "unavailable"]
    checks: Annotated[dict[str, dict[str, Any]], As(dict[str, CheckAnswer])]


def readiness() -> Readiness:
    """What every check finds now."""
    checks: dict[str, Any] = {}
    ready = True
    for name, check in _checks.items():
        started = time.perf_counter()
        try:
            found = {"ok": True, **check()}
        except NotReady as problem:
            found = {"ok": False, "why": str(problem)}
        except Exception as problem:
            # The class alone: the text of a driver's error has addresses and user names in it.
            log.warning("check %s failed: %s", name, problem)
            found = {"ok": False, "why": type(problem).__name__}
            if name == "database":
                connection.close()  # or every later request of this thread would find it broken
        ready = ready and bool(found["ok"])
        checks[name] = {**found, "milliseconds": round((time.perf_counter() - started) * 1e3, 2)}
    return Readiness("ok" if ready else "unavailable", checks)
