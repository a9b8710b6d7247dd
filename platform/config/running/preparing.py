"""The database brought up to date before any process starts."""

from django.core.management import call_command

from config.running.cluster import require_cluster
from config.running.engine import forget_sessions, keep_timeouts, migrating, require_fit


def prepare_database() -> None:
    """The database is one that the service can work on, and up to date. Raises UnfitDatabase, or
    OperationalError without a database.
    """
    pooled = require_fit()
    require_cluster()
    with migrating(pooled):
        call_command("migrate", interactive=False, verbosity=0)
    if pooled:
        forget_sessions()
        keep_timeouts()
