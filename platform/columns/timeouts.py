"""The time that statements may take."""

from columns.queries import execute


def lift_timeouts() -> None:
    """For this transaction: a write takes as long as it takes."""
    execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
