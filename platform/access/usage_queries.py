"""Queries on usage, summed in SQL over a time span, each on the smallest table that suffices.

UsageMinute has all details and many rows; reports on all callers read UsageHour, reports on days
UsageDay, and the busiest keys KeyHour and KeyDay.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from typing import Any

from django.db import connection

from access.counted_calls import FAILED, NOTIFICATION, REFUSED, CallCounts
from access.spans import Span
from columns.queries import all_rows

_HOUR = timedelta(hours=1)
# access.counted_calls in SQL, over sums by kind: (counted, refused, failed, pushed).
_SUMS = "sum(counted)::bigint, sum(refused)::bigint, sum(failed)::bigint"
_SUMS += ", sum(calls - counted - refused - failed)::bigint"
# The columns of these sums, made of rows with a method and a status; `failed` and `refused` are
# parameters.
_BY_KIND = f"""
    SELECT *,
        CASE WHEN method LIKE '%%{NOTIFICATION}' OR status = ANY(%s) OR status = ANY(%s)
            THEN 0 ELSE calls END AS counted,
        CASE WHEN method NOT LIKE '%%{NOTIFICATION}' AND status = ANY(%s)
            THEN calls ELSE 0 END AS refused,
        CASE WHEN method NOT LIKE '%%{NOTIFICATION}' AND status = ANY(%s)
            THEN calls ELSE 0 END AS failed
"""
_KIND_VALUES: list[Any] = [sorted(FAILED), sorted(REFUSED), sorted(REFUSED), sorted(FAILED)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter: the calls of a key, of a customer's keys, without a key, or all; of one method or
    all, with one outcome or all.
    """

    key_id: int | None = None
    customer_id: int | None = None
    keyless: bool = False
    method: str | None = None
    status: str | None = None

    @property
    def everybody(self) -> bool:
        return self.key_id is None and self.customer_id is None and not self.keyless

    @property
    def is_narrow(self) -> bool:
        return self.method is not None or self.status is not None


@dataclass(frozen=True, slots=True)
class _Source:
    table: str
    column: str
    is_of_days: bool = False

    def moment(self, at: datetime) -> datetime | date:
        return at.date() if self.is_of_days else at


_MINUTES = _Source("access_usageminute", "minute")
_HOURS = _Source("access_usagehour", "hour")
_DAYS = _Source("access_usageday", "day", is_of_days=True)
_KEY_HOURS = _Source("access_keyhour", "hour")
_KEY_DAYS = _Source("access_keyday", "day", is_of_days=True)


def _source(asked: Asked, span: Span) -> _Source:
    if asked.everybody:
        return _MINUTES if span.step < _HOUR else _HOURS
    return _DAYS if span.step >= timedelta(days=1) else _MINUTES


def _condition(asked: Asked, source: _Source, span: Span, now: datetime) -> tuple[str, list[Any]]:
    start, end = span.bounds(now)
    parts = [f"{source.column} >= %s", f"{source.column} < %s"]
    values: list[Any] = [source.moment(start), source.moment(end)]
    if asked.key_id is not None:
        parts.append("key_id = %s")
        values.append(asked.key_id)
    elif asked.customer_id is not None:
        parts.append("key_id IN (SELECT id FROM access_apikey WHERE customer_id = %s)")
        values.append(asked.customer_id)
    elif asked.keyless:
        parts.append("key_id IS NULL")
    for name, value in (("method", asked.method), ("status", asked.status)):
        if value is not None:
            parts.append(f"{name} = %s")
            values.append(value)
    return " AND ".join(parts), values


def calls_by_step(
    asked: Asked, span: Span, now: datetime
) -> list[tuple[datetime, str, str, int, int]]:
    """(begin of the step, method, status, calls, microseconds), without rows of no calls."""
    source = _source(asked, span)
    where, values = _condition(asked, source, span, now)
    if source.is_of_days:
        step, before = source.column, []
    else:
        step, before = f"date_bin(%s, {source.column}, %s)", [span.step, span.bounds(now)[0]]
    found = all_rows(
        f"""
        SELECT {step}, method, status, sum(calls)::bigint, sum(microseconds)::bigint
        FROM {source.table} WHERE {where} GROUP BY 1, 2, 3
        """,
        [*before, *values],
    )
    return [(_begin(row[0]), *row[1:]) for row in found]


def _begin(moment: date) -> datetime:
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time(), UTC)


def counted_since() -> datetime | None:
    """The minute of the first call of all, or its hour if the minutes are forgotten; None before
    it.
    """
    rows = all_rows(
        """
        SELECT coalesce((
            SELECT min(minute) FROM access_usageminute
            WHERE minute >= begun.hour AND minute < begun.hour + interval '1 hour'
        ), begun.hour) FROM (SELECT min(hour) AS hour FROM access_usagehour) AS begun
        """,
        [],
    )
    first: datetime | None = rows[0][0]
    return first


def bytes_of_keys(key_ids: Collection[int], first: date, end: date) -> int:
    """Bytes of notifications to the keys in the days from the first to before the end."""
    rows = all_rows(
        "SELECT coalesce(sum(bytes), 0)::bigint FROM access_keyday"
        " WHERE key_id = ANY(%s) AND day >= %s AND day < %s",
        [list(key_ids), first, end],
    )
    return int(rows[0][0])


def calls_by_key(
    asked: Asked, span: Span, now: datetime, limit: int
) -> list[tuple[int | None, CallCounts]]:
    """(key_id or None for callers without a key, its calls), most counted calls first."""
    by_kind, kinds = "SELECT *", []
    if asked.is_narrow or span.step < _HOUR:
        source = _DAYS if span.is_of_days else _MINUTES
        by_kind, kinds = _BY_KIND, _KIND_VALUES
    else:
        source = _KEY_DAYS if span.is_of_days else _KEY_HOURS
    where, values = _condition(asked, source, span, now)
    rows = all_rows(
        f"""
        SELECT key_id, {_SUMS} FROM ({by_kind} FROM {source.table} WHERE {where}) AS rows
        GROUP BY 1 ORDER BY 2 DESC, sum(calls) DESC, key_id NULLS FIRST LIMIT %s
        """,
        [*kinds, *values, limit],
    )
    return [(key_id, CallCounts(*counts)) for key_id, *counts in rows]


# Rows of an export that are held at once.
_ROWS_AT_ONCE = 5_000


def single_rows(asked: Asked, span: Span, now: datetime) -> Iterator[tuple[Any, ...]]:
    """(key_id, minute or day, method, status, calls, microseconds), oldest first, streamed: by day
    if the span has whole days, else by minute.
    """
    source = _DAYS if span.is_of_days else _MINUTES
    where, values = _condition(asked, source, span, now)
    with connection.chunked_cursor() as cursor:
        cursor.execute(
            f"""
            SELECT key_id, {source.column}, method, status, calls, microseconds
            FROM {source.table} WHERE {where} ORDER BY {source.column}
            """,
            values,
        )
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield from rows


def calls_by_status(start: datetime, end: datetime) -> list[tuple[str, int]]:
    """(status, calls) without notifications, most calls first."""
    return all_rows(
        f"""
        SELECT status, sum(calls)::bigint FROM access_usageminute
        WHERE minute >= %s AND minute < %s AND method NOT LIKE '%%{NOTIFICATION}'
        GROUP BY 1 ORDER BY 2 DESC, 1
        """,
        [start, end],
    )


def counted_by_key(key_ids: list[int], start: date, end: date) -> dict[int, int]:
    """Calls that count against a monthly limit, by key, of the days from start to before end."""
    rows = all_rows(
        """
        SELECT key_id, sum(counted)::bigint FROM access_keyday
        WHERE day >= %s AND day < %s AND key_id = ANY(%s) GROUP BY 1
        """,
        [start, end, key_ids],
    )
    return dict(rows)


def counted_of_family(key_id: int, start: date, end: date) -> int:
    """The same for one key, with those that it was rotated from and into."""
    return sum(counted_days_of_family(key_id, start, end).values())


# The key (a parameter), and those that it was rotated from.
_BEFORE = """before(id, created_at, rotated_from_id) AS (
    SELECT id, created_at, rotated_from_id FROM access_apikey WHERE id = %s
    UNION ALL
    SELECT k.id, k.created_at, k.rotated_from_id FROM access_apikey k JOIN before b
        ON k.id = b.rotated_from_id
)"""


def counted_days_of_family(key_id: int, start: date, end: date) -> dict[date, int]:
    """The same by day, without days of no such calls."""
    rows = all_rows(
        f"""
        WITH RECURSIVE {_BEFORE}, after(id) AS (
            SELECT id FROM access_apikey WHERE rotated_from_id = %s
            UNION ALL
            SELECT k.id FROM access_apikey k JOIN after a ON k.rotated_from_id = a.id
        )
        SELECT day, sum(counted)::bigint FROM access_keyday
        WHERE day >= %s AND day < %s AND counted > 0
            AND key_id IN (SELECT id FROM before UNION ALL SELECT id FROM after)
        GROUP BY 1
        """,
        [key_id, key_id, start, end],
    )
    return dict(rows)


def first_issued_at(key_id: int) -> datetime | None:
    """When the first of the keys was issued that the key was rotated from, or itself."""
    rows = all_rows(
        f"WITH RECURSIVE {_BEFORE} SELECT min(created_at) FROM before",
        [key_id],
    )
    return rows[0][0] if rows else None


def days_of_keys(
    key_ids: Collection[int], start: date, end: date
) -> list[tuple[int, date, CallCounts]]:
    """(key_id, day, calls) of the keys' days from start to before end."""
    rows = all_rows(
        f"""
        SELECT key_id, day, {_SUMS} FROM access_keyday
        WHERE key_id = ANY(%s) AND day >= %s AND day < %s GROUP BY 1, 2
        """,
        [list(key_ids), start, end],
    )
    return [(key_id, day, CallCounts(*counts)) for key_id, day, *counts in rows]


def days_of_key(key_id: int, start: date, end: date) -> CallCounts:
    """The calls of a key's days from start to before end."""
    days = [counts for _key, _day, counts in days_of_keys([key_id], start, end)]
    return reduce(CallCounts.plus, days, CallCounts())


def counted_by_customer(customer_ids: list[int], start: date, end: date) -> dict[int, int]:
    """Counted calls of all keys of each customer, of the days from start to before end."""
    rows = all_rows(
        """
        SELECT k.customer_id, sum(d.counted)::bigint
        FROM access_apikey k JOIN access_keyday d ON d.key_id = k.id
        WHERE k.customer_id = ANY(%s) AND d.day >= %s AND d.day < %s GROUP BY 1
        """,
        [customer_ids, start, end],
    )
    return dict(rows)
