"""The service at this moment: the conditions of its alarms, and whether its disk lasts."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from config.doctor.findings import Finding, error, note, ok, warning
from config.doctor.machine_checks import is_running
from embedded.addresses import database_settings
from operations.readings.present import read
from operations.readings.rules import read_rules
from operations.readings.servers import read_database, read_disk
from operations.rules.rule import CRITICAL
from operations.rules.table import RULES
from operations.sizing import SizingRefused, sizing
from shared_state import clock
from staff.formatting import size_of

_SOON_DAYS = 30


def of_alarms() -> Iterator[Finding]:
    """Each rule of the alarms whose condition holds now, whether for long or not."""
    runs = is_running()
    if not runs:
        yield note("The service is not running, so its processes were not checked.", "Start it.")
    readings, count = read(clock.now()), 0
    for rule in RULES:
        if not rule.by_doctor or (rule.of_a_run and not runs):
            continue
        for finding in rule.check(readings) or ():
            count += 1
            show = error if rule.severity == CRITICAL else warning
            yield show(f"{rule.title}: {finding.text}", rule.advice)
    if not count:
        yield ok("No alarm condition is met.")


def of_rules() -> Iterator[Finding]:
    """What the engine does not have of the archived chain. Features are an alarm's."""
    found = read_rules()
    for kind, named in (("program", "programs of native code"), ("sysvar", "sysvars")):
        if missing := found.of_kind(kind):
            those = ", ".join(each.address for each in missing)
            yield note(
                f"The chain has {named} that the engine does not support: {those}.",
                "Simulations of transactions that use one may give another result, and report"
                " that.",
            )
    if not found.missing:
        yield ok("The engine supports all known rules of the archived chain.")


def of_growth() -> Iterator[Finding]:
    """Whether the database's growth by `manage.py plan` fits the disk, where that is this one's."""
    database = read_database()
    if database.disk is None and not _is_here():
        yield note(
            "PostgreSQL is on another machine, so doctor cannot see its disk.",
            "Set DATABASE_DISK_BYTES to its size to monitor its free space.",
        )
        return
    try:
        soon = sizing({"days": _SOON_DAYS})
    except SizingRefused:
        yield note("Too little is stored yet to estimate how fast the database grows.", "")
        return
    free = (database.disk or read_disk(Path(settings.RUN_DIR))).free
    size = database.size
    needed = soon.plan.database_bytes - size
    planned = size_of(round(soon.plan.database_bytes))
    if needed > free:
        yield warning(
            f"At the measured rate, the database will have {planned} in {_SOON_DAYS} days. It has"
            f" {size_of(size)}, and {size_of(free)} are free.",
            "Run manage.py plan, then add disk, an object store, a shorter retention or filters.",
        )
    else:
        yield ok(
            f"The disk is large enough for {_SOON_DAYS} days at the measured rate ({planned})."
        )


def _is_here() -> bool:
    host = database_settings(settings.DATABASE_URL)["HOST"]
    return not host or host.startswith("/") or host in ("localhost", "127.0.0.1", "::1")
