"""PostgreSQL: reachable, with fitting version and settings, migrated, with connections left."""

from collections.abc import Iterator

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from columns.queries import all_rows, first_row
from config.doctor.findings import FREE_SPACE, Finding, error, note, ok, warning
from config.running import earlier_builds
from config.running.cluster import is_cluster_wanted, not_spread, require_cluster
from config.running.engine import UnfitDatabase, require_fit, server_version
from embedded.addresses import is_embedded
from operations.sessions import of_web_process
from staff.formatting import counted, size_of

_NEWEST_TESTED = 18
_LOCKS = 256
_FULL = 0.8
# Of 2^31: PostgreSQL stops taking writes at about 2.1 billion.
_OLD_TRANSACTIONS = 1_000_000_000
_IDLE_MINUTES = 10
_DEFAULT_BUFFERS = 16_384
# Name, the value that loses data or service, what it costs.
_NEVER = (
    ("fsync", "off", "a crash of the machine destroys the database"),
    ("full_page_writes", "off", "a crash of the machine may damage pages"),
    ("autovacuum", "off", "tables grow without bound, and in the end nothing can be written"),
)
_STATE = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::int
           - current_setting('superuser_reserved_connections')::int,
       (SELECT max(age(datfrozenxid)) FROM pg_database),
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
           AND state = 'idle in transaction' AND state_change < now() - make_interval(mins => %s)),
       pg_is_in_recovery(),
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
"""
_WANTED = (
    "fsync",
    "full_page_writes",
    "autovacuum",
    "data_checksums",
    "jit",
    "max_locks_per_transaction",
    "shared_buffers",
    "max_prepared_transactions",
)


def of_connecting() -> Iterator[Finding]:
    """An error where the database cannot be used at all."""
    try:
        pooled = require_fit()
        require_cluster()
    except UnfitDatabase as unfit:
        yield error(f"The database is unsuitable: {unfit}.", "Correct this, then run doctor again.")
    except (OperationalError, InterfaceError) as failure:
        yield _unreachable(str(failure).strip())
    else:
        version = server_version()
        through = ", through a pooler" if pooled else ""
        yield ok(f"PostgreSQL {version} answers{through}.")
        if version > _NEWEST_TESTED:
            yield warning(
                f"PostgreSQL {version} is newer than the newest tested version, {_NEWEST_TESTED}.",
                "Upgrade Tidemark, or use PostgreSQL 15 to 18.",
            )


def _unreachable(said: str) -> Finding:
    """Why no session was had, and what to do."""
    text = said.lower()
    if "password authentication failed" in text or "no password supplied" in text:
        what, advice = "refuses the password", "Correct the password, or the user, in DATABASE_URL."
    elif "does not exist" in text and "role" in text:
        what = "does not have this role"
        advice = "Create it: CREATE ROLE tidemark LOGIN PASSWORD '…', or correct DATABASE_URL."
    elif "does not exist" in text and "database" in text:
        what = "does not have this database"
        advice = "Create it: CREATE DATABASE tidemark OWNER tidemark ENCODING 'UTF8'."
    elif "too many clients" in text or "remaining connection slots" in text:
        what = "does not have a free connection"
        advice = "Raise max_connections, or lower WEB_WORKERS, WEB_THREADS and DEAR_CALLS."
    elif "no space left" in text:
        what, advice = "has a full disk", FREE_SPACE
    elif "pg_hba" in text:
        what, advice = (
            "does not allow this machine",
            "Add a line for it to pg_hba.conf, and reload.",
        )
    else:
        what = "does not answer"
        advice = "Start it, and check host and port of DATABASE_URL and firewalls."
        if is_embedded(settings.DATABASE_URL, settings.RUN_DIR):
            advice = "It is the embedded one, which runs only with `make run`: start that."
    return error(f"PostgreSQL {what}: {' '.join(said.split()) or 'no reason given'}", advice)


def of_migrations() -> Iterator[Finding]:
    old = earlier_builds.too_old(MigrationRecorder(connection).applied_migrations())
    if old:
        yield error(old, earlier_builds.ADVICE)
        return
    executor = MigrationExecutor(connection)
    loader = executor.loader
    plan = executor.migration_plan(loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(f"{each.app_label}.{each.name}" for each, _ in plan[:5])
        more = f" and {len(plan) - 5} more" if len(plan) > 5 else ""
        count = "1 migration is" if len(plan) == 1 else f"{len(plan)} migrations are"
        yield error(
            f"{count} not applied: {names}{more}.",
            "Stop the processes, run manage.py migrate, and start them again. `make run` does"
            " this.",
        )
    known = {*loader.disk_migrations}
    for each in loader.disk_migrations.values():
        known.update(each.replaces)
    apps = {app for app, _ in known}
    newer = sorted(
        key
        for key in loader.applied_migrations
        if key[0] in apps and key not in known and not earlier_builds.is_squashed(*key)
    )
    if newer:
        yield error(
            f"The database has {counted(len(newer), 'migration')} that this code does not know,"
            f" such as {'.'.join(newer[0])}: a newer version migrated it.",
            "Run that version, or restore the backup from before the upgrade.",
        )
    if not plan and not newer:
        yield ok("All migrations are applied.")


def of_database() -> Iterator[Finding]:
    sessions, most, oldest, idle, is_standby, is_super = first_row(_STATE, [_IDLE_MINUTES])
    wanted = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
    found = dict(all_rows(wanted, [list(_WANTED)]))
    (size,) = first_row("SELECT pg_database_size(current_database())")
    if is_standby:
        yield error("PostgreSQL is a read-only standby.", "Set DATABASE_URL to the primary.")
    own = not is_embedded(settings.DATABASE_URL, settings.RUN_DIR)
    for name, bad, cost in _NEVER:
        if found.get(name) == bad:
            yield error(f"PostgreSQL has {name} = {bad}: {cost}.", f"Set {name} = on and restart.")
    if found.get("data_checksums") == "off":
        yield warning(
            "PostgreSQL has no page checksums: a bit that flips on its disk is read as if it were"
            " right, until the scrub finds it.",
            "Stop PostgreSQL, run pg_checksums --enable on its data directory, and start it.",
        )
    if own and found.get("jit") == "on":
        yield note("PostgreSQL has jit = on, which slows short queries down.", "Set jit = off.")
    if int(found["max_locks_per_transaction"]) < _LOCKS:
        yield warning(
            f"max_locks_per_transaction is {found['max_locks_per_transaction']}: a read of many"
            " partitions may fail with `out of shared memory`.",
            f"Set max_locks_per_transaction = {_LOCKS} and restart PostgreSQL.",
        )
    if own and int(found["shared_buffers"]) <= _DEFAULT_BUFFERS:
        yield note(
            "shared_buffers is PostgreSQL's default of 128 MB.",
            "Set it to a quarter of the machine's memory.",
        )
    yield from _connections(sessions, most)
    if oldest > _OLD_TRANSACTIONS:
        yield error(
            f"The oldest rows are {oldest:,} transactions old. PostgreSQL stops at 2.1 billion.",
            "Run VACUUM FREEZE, and look for long transactions and old replication slots.",
        )
    if idle:
        yield warning(
            f"{counted(idle, 'session')} idle in a transaction for over {_IDLE_MINUTES} minutes:"
            " VACUUM cannot remove old rows.",
            "Find them in pg_stat_activity, and end them.",
        )
    if own and is_super:
        yield warning(
            "The role of DATABASE_URL is a superuser.",
            "Use a role that only owns the database: ALTER ROLE … NOSUPERUSER.",
        )
    if is_cluster_wanted() and (waiting := not_spread()):
        names = ", ".join(each.table for each in waiting)
        yield warning(
            f"Not yet distributed over the cluster: {names}.", "Run manage.py cluster_spread."
        )
    yield ok(f"The database takes {size_of(size)}; {sessions} of {most} connections are open.")


def _connections(sessions: int, most: int) -> Iterator[Finding]:
    wanted = settings.WEB_WORKERS * of_web_process() + 8
    text = f"PostgreSQL allows {most} connections"
    if wanted > most:
        yield error(
            f"{text}, but the web processes alone may open {wanted} with these settings.",
            "Raise max_connections, put PgBouncer in front, or lower WEB_WORKERS and WEB_THREADS.",
        )
    elif sessions > _FULL * most:
        yield warning(
            f"{text}, and {sessions} are open.", "Raise max_connections, or use PgBouncer."
        )
