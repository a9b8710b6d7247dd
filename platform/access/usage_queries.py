"""The queries over UsageMinute: summed in SQL, bounded by a time span."""

from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection

MOST_ROWS = 200

# (key_id, customer_id, without a key): each None or False where it does not matter.
Who = tuple[int | None, int | None, bool]


def _condition(who: Who, start: datetime, end: datetime) -> tuple[str, list[Any]]:
    key_id, customer_id, keyless = who
    sql, values = "minute >= %s AND minute < %s", [start, end]
    if key_id is not None:
        return f"{sql} AND key_id = %s", [*values, key_id]
    if customer_id is not None:
        keys = "SELECT id FROM access_apikey WHERE customer_id = %s"
        return f"{sql} AND key_id IN ({keys})", [*values, customer_id]
    return (f"{sql} AND key_id IS NULL" if keyless else sql), [*values]


def _rows(sql: str, values: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def calls_over_time(
    who: Who, start: datetime, end: datetime, step: timedelta
) -> list[tuple[datetime, int, int]]:
    """(begin of the step, calls that went well, the others), steps without calls left out."""
    where, values = _condition(who, start, end)
    return _rows(
        f"""
        SELECT date_bin(%s, minute, %s) AS step,
               coalesce(sum(calls) FILTER (WHERE status = 'ok'), 0)::bigint,
               coalesce(sum(calls) FILTER (WHERE status <> 'ok'), 0)::bigint
        FROM access_usageminute WHERE {where} GROUP BY 1 ORDER BY 1
        """,
        [step, start, *values],
    )


def calls_by_method(who: Who, start: datetime, end: datetime) -> list[tuple[str, str, int, int]]:
    """(method, status, calls, microseconds), most calls first, at most MOST_ROWS."""
    where, values = _condition(who, start, end)
    return _rows(
        f"""
        SELECT method, status, sum(calls)::bigint, sum(microseconds)::bigint
        FROM access_usageminute WHERE {where}
        GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT {MOST_ROWS}
        """,
        values,
    )


def calls_by_key(
    who: Who, start: datetime, end: datetime, limit: int
) -> list[tuple[int | None, int, int]]:
    """(key_id or None for callers without a key, calls that went well, the others), the busiest
    first.
    """
    where, values = _condition(who, start, end)
    return _rows(
        f"""
        SELECT key_id, coalesce(sum(calls) FILTER (WHERE status = 'ok'), 0)::bigint,
               coalesce(sum(calls) FILTER (WHERE status <> 'ok'), 0)::bigint
        FROM access_usageminute WHERE {where}
        GROUP BY 1 ORDER BY sum(calls) DESC, 1 LIMIT %s
        """,
        [*values, limit],
    )


def calls_by_status(start: datetime, end: datetime) -> list[tuple[str, int]]:
    """(status, calls) of every status there is, most calls first."""
    return _rows(
        """
        SELECT status, sum(calls)::bigint FROM access_usageminute
        WHERE minute >= %s AND minute < %s GROUP BY 1 ORDER BY 2 DESC, 1
        """,
        [start, end],
    )


def counted_by_key(key_ids: list[int], start: date, end: date) -> dict[int, int]:
    """Calls that count against a monthly limit, by key, of the days from start to before end."""
    rows = _rows(
        """
        SELECT key_id, sum(counted)::bigint FROM access_keyday
        WHERE day >= %s AND day < %s AND key_id = ANY(%s) GROUP BY 1
        """,
        [start, end, key_ids],
    )
    return dict(rows)


def days_of_key(key_id: int, start: date, end: date) -> tuple[int, int, int]:
    """(calls, those that went well, those that count against a monthly limit) of a key's days from
    start to before end.
    """
    [row] = _rows(
        """
        SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(ok), 0)::bigint,
               coalesce(sum(counted), 0)::bigint
        FROM access_keyday WHERE key_id = %s AND day >= %s AND day < %s
        """,
        [key_id, start, end],
    )
    return row[0], row[1], row[2]
