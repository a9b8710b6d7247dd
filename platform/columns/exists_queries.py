"""EXISTS queries: several in one prepared statement, for checks that run every second.

The ORM takes a millisecond to build each, and they are asked for ever (workers/due_checks.py).
"""

from datetime import datetime

from columns.raw_queries import fetch_one
from columns.statements import Parameter

# A parameter of `microseconds` as PostgreSQL's time.
MOMENT = "to_timestamp({} / 1000000.0)"


def microseconds(moment: datetime) -> int:
    """As a parameter: since 1970."""
    return int(moment.timestamp() * 1_000_000)


def exists(*queries: str, parameters: tuple[Parameter, ...] = ()) -> bool:
    """Whether any of the queries, which share the parameters $1, $2, …, finds a row."""
    found = fetch_one(
        f"SELECT {' OR '.join(f'EXISTS ({query})' for query in queries)}", *parameters
    )
    assert found is not None
    return bool(found[0])
