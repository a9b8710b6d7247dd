"""Locks of running imports: PostgreSQL's advisory ones, held by a connection."""

from columns.raw_queries import fetch_one

# The first half of the lock's name, so that nobody else's numbers meet ours.
_IMPORTS = 7_301


def take(number: int) -> bool:
    """False when another connection holds it."""
    row = fetch_one(f"SELECT pg_try_advisory_lock({_IMPORTS}, $1::bigint::int)::int", number)
    return row == (1,)


def drop(number: int) -> None:
    fetch_one(f"SELECT pg_advisory_unlock({_IMPORTS}, $1::bigint::int)::int", number)
