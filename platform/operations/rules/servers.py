"""The rules about the disk, Valkey, PostgreSQL, deliveries, and the sign-in provider."""

import shlex
from collections.abc import Iterator

from django.conf import settings

from operations.readings.present import Readings
from operations.readings.servers import LATE, DiskReading
from operations.rules.commands import DOCTOR, MANAGE, Command, of_process
from operations.rules.rule import ALL, CALLING, CRITICAL, ROOM, WARNING, Finding, Place, Rule
from shared_state.outages import FULL_BYTES
from staff.formatting import counted, duration, size_of

REDIS_SHARE = 0.8
SLOW_MILLISECONDS = 100.0
DISK_FREE, DISK_SHARE = 5_000_000_000, 0.1
_DELIVERIES, _WEBHOOKS = "alerts_delivery_changelist", "alerts_webhook_changelist"


def _disk_low(now: Readings) -> Iterator[Finding]:
    if _is_low(now.disk):
        free, total = size_of(now.disk.free), size_of(now.disk.total)
        yield Finding("", f"{free} of {total} are free for the run directory.")
    disk = now.database.disk
    if disk is not None and _is_low(disk):
        text = f"{size_of(disk.free)} of {size_of(disk.total)} are free for PostgreSQL."
        yield Finding("database", text)


def _is_low(disk: DiskReading) -> bool:
    return disk.free < disk.total * DISK_SHARE and disk.free < DISK_FREE


def _redis_memory(now: Readings) -> list[Finding] | None:
    if now.redis is None:
        return None
    used, most = now.redis.used, now.redis.most
    if not most or used < REDIS_SHARE * most:
        return []
    text = f"Valkey uses {size_of(used)} of at most {size_of(most)}; once full, it refuses writes."
    return [Finding("", text)]


def _redis_down(now: Readings) -> Iterator[Finding]:
    if now.redis is None:
        yield Finding("", "Valkey does not answer: limits, queues and landing do not work.")
    elif not now.redis.takes_writes:
        why = "the disk is full" if now.disk.free < FULL_BYTES else "its disk is full or broken"
        yield Finding("", f"Valkey cannot write, {why}: limits, queues and landing do not work.")


def _database_down(now: Readings) -> Iterator[Finding]:
    if now.database.problem:
        yield Finding("", database_sentence(now.database.problem))


def database_sentence(problem: str) -> str:
    """What an outage of the database means."""
    return f"{problem}: nothing new is stored, and fates stay open."


def _database_slow(now: Readings) -> Iterator[Finding]:
    if now.database.milliseconds > SLOW_MILLISECONDS:
        text = f"PostgreSQL takes {now.database.milliseconds:.0f} ms for an empty query."
        yield Finding("", text)


def _webhook_failing(now: Readings) -> Iterator[Finding]:
    for name in now.alerts.failing:
        yield Finding(name, f"Deliveries to the webhook {name} fail.")


def _deliveries_late(now: Readings) -> Iterator[Finding]:
    if late := now.alerts.late:
        count = counted(late, "delivery", "deliveries")
        yield Finding("", f"{count} overdue by minutes: mails and webhooks about events are late.")


def _sign_in_failing(now: Readings) -> list[Finding] | None:
    if now.sign_in is None:
        return None
    if not now.sign_in.problem:
        return []
    return [Finding("", f"No one can sign in by {now.sign_in.issuer}. {now.sign_in.problem}.")]


def _space(subject: str, _now: Readings) -> list[Command]:
    if subject == "database":
        return [Command(f"{MANAGE} plan", "Shows the largest tables, and how fast they grow.")]
    run_dir = shlex.quote(str(settings.RUN_DIR))
    return [Command(f"du -xhd2 {run_dir} | sort -h | tail", "Shows the largest folders.")]


RULES = (
    Rule(
        name="disk_low",
        severity=CRITICAL,
        holds=30,
        calm=30,
        title="The disk is nearly full",
        meaning="When the disk is full, PostgreSQL and Valkey stop writing: nothing new is stored"
        " or accepted.",
        incident="Storage is nearly full. If it fills up, new data is not stored or accepted.",
        begins=f"Less than {DISK_SHARE:.0%} and less than {size_of(DISK_FREE)} are free for"
        " the run directory, or for PostgreSQL by DATABASE_DISK_BYTES",
        advice="Free some space, or keep fewer slots (LEDGER_RETENTION_SLOTS,"
        " ARCHIVE_RETENTION_SLOTS).",
        check=_disk_low,
        at=Place(ROOM, ("space",)),
        command=_space,
        by_doctor=False,
    ),
    Rule(
        name="redis_memory_high",
        severity=WARNING,
        holds=30,
        calm=60,
        title="Valkey is nearly full",
        meaning="When its memory is full, Valkey refuses writes: limits, queues and landing stop.",
        incident="",
        begins=f"Valkey uses {REDIS_SHARE:.0%} of its maxmemory or more",
        advice="Check the queues for waiting work. Without a lander they grow.",
        check=_redis_memory,
        at=Place(ROOM, ("space",)),
        command=DOCTOR,
        by_doctor=False,
    ),
    Rule(
        name="redis_down",
        severity=CRITICAL,
        holds=10,
        calm=10,
        title="Valkey is down",
        meaning="Limits, queues and landing do not work.",
        incident="Calls may be refused, and transactions are not accepted.",
        begins="Valkey does not answer, or cannot write",
        advice="If the disk is full, free some space. The supervisor restarts its own Valkey; with"
        " REDIS_URL, check that server.",
        check=_redis_down,
        at=Place(ALL, ("servers",)),
        command=DOCTOR,
        by_doctor=False,
    ),
    Rule(
        name="database_down",
        severity=CRITICAL,
        holds=10,
        calm=10,
        title="PostgreSQL is down",
        meaning="Nothing new is stored: slots and fates wait. Submissions are accepted into Valkey,"
        " and sent. This alarm is mailed and posted at once, and stored later.",
        incident="Stored data may not be readable, and fates stay open.",
        begins="PostgreSQL does not answer, or cannot write",
        advice="If its disk is full, free some space. If it is read-only, allow writes again."
        " Everything then continues automatically. The supervisor restarts its own PostgreSQL; with"
        " DATABASE_URL, check that server.",
        check=_database_down,
        at=Place(ALL, ("servers",)),
        command=DOCTOR,
    ),
    Rule(
        name="database_slow",
        severity=WARNING,
        holds=30,
        calm=60,
        title="PostgreSQL is slow",
        meaning="Calls that read stored data are slow.",
        incident="Calls that read stored data are slow.",
        begins=f"An empty query takes more than {SLOW_MILLISECONDS:.0f} ms",
        advice="Check the load and disk of the machine, and pg_stat_activity for long queries.",
        check=_database_slow,
        at=Place(ROOM, ("servers",)),
        command=DOCTOR,
    ),
    Rule(
        name="webhook_failing",
        severity=WARNING,
        holds=60,
        calm=0,
        title="A webhook fails",
        meaning="Its events wait: a delivery is retried for 33 hours.",
        incident="",
        begins="The newest delivery to a webhook of staff or of a customer failed",
        advice="Its deliveries show the responses. Deliver one again once the receiver is fixed.",
        check=_webhook_failing,
        at=Place(CALLING, ("queues",), _WEBHOOKS),
    ),
    Rule(
        name="deliveries_late",
        severity=WARNING,
        holds=60,
        calm=30,
        title="Deliveries are late",
        meaning="Mails and webhooks, including alarms, arrive late.",
        incident="Notifications by mail and webhook arrive late.",
        begins=f"A delivery is overdue by more than {duration(LATE)}",
        advice="The worker process delivers them: check that it runs.",
        check=_deliveries_late,
        at=Place(CALLING, ("queues",), _DELIVERIES),
        command=lambda *_: of_process("worker"),
        of_a_run=True,
    ),
    Rule(
        name="sign_in_failing",
        severity=WARNING,
        holds=120,  # two checks, a minute apart
        calm=0,
        title="The sign-in provider cannot be used",
        meaning="Staff and customers' people can sign in only with a password, if they have one."
        " Open sessions and calls go on.",
        incident="",
        begins="The provider of OIDC_ISSUER does not answer, or its discovery document or keys"
        " cannot be used",
        advice="Open OIDC_ISSUER/.well-known/openid-configuration from the worker's machine. Its"
        " `issuer` must be OIDC_ISSUER. For a certificate of an authority of your own, set"
        " REQUESTS_CA_BUNDLE to the file of that authority.",
        check=_sign_in_failing,
        at=Place(ROOM, ("servers",)),
        runbook="Sign in by OpenID Connect",
        command=DOCTOR,
        by_doctor=False,
    ),
)
