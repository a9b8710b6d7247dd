"""How far the submissions of single keys have come, by key and step of time."""

from collections.abc import Collection
from datetime import datetime

from django.db import connection

from priority.reports.store.landings import Times


def states_by_key(times: Times, keys: Collection[int]) -> list[tuple[int, datetime, str, int]]:
    """(key_id, start of the step, state, submissions)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key_id, date_bin(%s * interval '1 second', start, %s), state,"
            " sum(count)::bigint FROM priority_landingkeytally WHERE key_id = ANY(%s)"
            " AND seconds = %s AND start >= %s AND start < %s GROUP BY 1, 2, 3",
            [
                times.step_seconds,
                times.start,
                list(keys),
                times.seconds,
                times.start,
                times.end,
            ],
        )
        found: list[tuple[int, datetime, str, int]] = cursor.fetchall()
        return found


def states_and_tips(
    keys: Collection[int], *, seconds: int, since: datetime
) -> list[tuple[str, int, int]]:
    """(state, submissions, lamports of their tips) in the keys' counts from then on, which are of
    so many seconds each.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT state, sum(count)::bigint, sum(tips)::bigint FROM priority_landingkeytally"
            " WHERE key_id = ANY(%s) AND seconds = %s AND start >= %s GROUP BY state",
            [list(keys), seconds, since],
        )
        found: list[tuple[str, int, int]] = cursor.fetchall()
        return found
