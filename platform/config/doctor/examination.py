"""All checks in their order. Checks that need a server are skipped while it is down."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db import Error, connection
from redis import RedisError

from config.doctor import (
    chain_checks,
    database_checks,
    machine_checks,
    mail_checks,
    redis_checks,
    secret_checks,
    service_checks,
    settings_checks,
    sign_in_checks,
)
from config.doctor.findings import Check, Finding, Level, error, note, without_secrets


@dataclass(frozen=True, slots=True)
class Area:
    """One part of an installation and what was found there."""

    name: str
    findings: list[Finding]


def examine() -> Iterator[Area]:
    """Area by area. Changes nothing."""
    yield _area("Settings", settings_checks.of_settings)
    yield _area("Proxy", settings_checks.of_proxy)
    yield _area("Secrets", secret_checks.of_secrets, secret_checks.of_keypairs)
    yield _area("Mail", mail_checks.of_mail)
    yield _area("Sign-in", sign_in_checks.of_provider)
    database = _area("PostgreSQL", database_checks.of_connecting)
    has_database = not _has_error(database)
    is_migrated = False
    if has_database:
        migrations = _area("PostgreSQL", database_checks.of_migrations)
        is_migrated = not _has_error(migrations)
        more = _area("PostgreSQL", database_checks.of_database)
        database.findings.extend([*migrations.findings, *more.findings])
    yield database
    found = _area("Redis", redis_checks.of_connecting)
    has_redis = not _has_error(found)
    if has_redis:
        found.findings.extend(_area("Redis", redis_checks.of_redis).findings)
    yield found
    yield from _of_the_chain(is_migrated)
    clocks: list[Check] = [machine_checks.of_clock]
    clocks += [machine_checks.of_clock_and_database] if has_database else []
    clocks += [machine_checks.of_clock_and_redis] if has_redis else []
    yield _area("Clocks", *clocks)
    growth = [service_checks.of_growth] if is_migrated else []
    yield _area("Disk", machine_checks.of_disk, *growth)
    yield _area("Limits", machine_checks.of_limits, machine_checks.of_ports)
    if is_migrated and has_redis:
        yield _area("Service", service_checks.of_alarms, service_checks.of_rules)
    else:
        left_out = note(
            "The conditions of alarms were skipped.",
            "They need a migrated database, and Redis. Fix these first.",
        )
        yield Area("Service", [left_out])


def _of_the_chain(is_migrated: bool) -> Iterator[Area]:
    if not is_migrated:
        # Which chain is stored, and the upstreams, are in the database.
        text = "Checks of nodes, streams and upstreams were skipped."
        yield Area("Chain", [note(text, "They need a migrated database. Fix that first.")])
        return
    yield _area("Chain", chain_checks.of_nodes)
    yield _area("Upstreams", chain_checks.of_upstreams)


def _has_error(area: Area) -> bool:
    return any(each.level is Level.ERROR for each in area.findings)


def _area(name: str, *checks: Check) -> Area:
    return Area(name, [finding for check in checks for finding in _findings(check)])


def _findings(check: Check) -> Iterable[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check())
    except (Error, RedisError, OSError) as failure:
        # A server that went away meanwhile, a missing right of its role, a folder that is absent.
        connection.close()
        found.append(_broken_off(failure))
    return [
        Finding(each.level, without_secrets(each.text), without_secrets(each.advice))
        for each in found
    ]


def _broken_off(failure: Exception) -> Finding:
    said = str(failure).strip().splitlines()
    text = f"This check failed: {said[0] if said else type(failure).__name__}"
    return error(
        text, "Fix the other errors first. Then check the server, and the rights of its role."
    )
