"""How far the submissions of single keys have come, by key and step of time."""

from collections.abc import Collection
from datetime import datetime

from columns.queries import all_rows
from priority.reports.store.landings import Times


def states_by_key(times: Times, keys: Collection[int]) -> list[tuple[int, datetime, str, int]]:
    """(key_id, start of the step, state, submissions)."""
    found: list[tuple[int, datetime, str, int]] = all_rows(
        "SELECT key_id, date_bin(%s, start, %s), state,"
        " sum(count)::bigint FROM priority_landingkeytally WHERE key_id = ANY(%s)"
        " AND seconds = %s AND start >= %s AND start < %s GROUP BY 1, 2, 3",
        [
            times.step,
            times.start,
            list(keys),
            times.seconds,
            times.start,
            times.end,
        ],
    )
    return found


def states_and_tips(
    keys: Collection[int], *, seconds: int, since: datetime
) -> list[tuple[str, int, int]]:
    """(state, submissions, lamports of their tips) in the keys' counts from then on, which are of
    so many seconds each.
    """
    found: list[tuple[str, int, int]] = all_rows(
        "SELECT state, sum(count)::bigint, sum(tips)::bigint FROM priority_landingkeytally"
        " WHERE key_id = ANY(%s) AND seconds = %s AND start >= %s GROUP BY state",
        [list(keys), seconds, since],
    )
    return found
