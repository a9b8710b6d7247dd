"""Writes usage: the minutes and all their sums, in one transaction."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from access.counted_calls import Kind, kind_of
from access.models import ApiKey, KeyDay, KeyHour, UsageDay, UsageHour, UsageMinute
from columns.queries import execute

UsageRow = (
    tuple[int | None, str, str, datetime, int, int]
    | tuple[int | None, str, str, datetime, int, int, int]
)

_Sums = dict[tuple[Any, ...], list[int]]


@transaction.atomic
def add_usage(rows: Sequence[UsageRow]) -> None:
    """Adds (key_id, method, status, minute, calls, microseconds) rows, with the bytes of
    notifications behind them where there are any; those of deleted keys are dropped.
    """
    rows = _of_keys_that_are(rows)
    if not rows:
        return
    minutes: _Sums = defaultdict(lambda: [0, 0, 0])
    days: _Sums = defaultdict(lambda: [0, 0, 0])
    hours: _Sums = defaultdict(lambda: [0, 0])
    key_hours: _Sums = defaultdict(lambda: [0, 0, 0, 0, 0])
    key_days: _Sums = defaultdict(lambda: [0, 0, 0, 0, 0, 0])
    for key_id, method, status, minute, calls, microseconds, *more in rows:
        sent = sum(more)
        hour, day = minute.replace(minute=0), minute.date()
        ok = calls if status == "ok" else 0
        _add(minutes[key_id, method, status, minute], calls, microseconds, sent)
        _add(days[key_id, method, status, day], calls, microseconds, sent)
        _add(hours[hour, method, status], calls, microseconds)
        kind = kind_of(method, status)
        kinds = (calls if kind is each else 0 for each in _KINDS)
        parts = (calls, ok, *kinds)
        _add(key_hours[hour, key_id], *parts)
        _add(key_days[day, key_id], *parts, sent)
    _upsert(UsageMinute, ("key_id", "method", "status", "minute"), _SPENT_AND_SENT, minutes)
    _upsert(UsageDay, ("key_id", "method", "status", "day"), _SPENT_AND_SENT, days)
    _upsert(UsageHour, ("hour", "method", "status"), _SPENT, hours)
    _upsert(KeyHour, ("hour", "key_id"), _BY_KIND, key_hours)
    _upsert(KeyDay, ("day", "key_id"), (*_BY_KIND, "bytes"), key_days)


# Rows of one statement, so that none of them takes long.
_ROWS_AT_ONCE = 10_000
_SPENT = ("calls", "microseconds")
_SPENT_AND_SENT = (*_SPENT, "bytes")
# The kinds with a column of their own; the others are pushed.
_KINDS = (Kind.COUNTED, Kind.REFUSED, Kind.FAILED)
_BY_KIND = ("calls", "ok", *_KINDS)
_TYPES = {
    "key_id": "bigint",
    "method": "text",
    "status": "text",
    "minute": "timestamptz",
    "hour": "timestamptz",
    "day": "date",
}


def _of_keys_that_are(rows: Sequence[UsageRow]) -> list[UsageRow]:
    """The rows whose keys exist; locks these keys until the transaction ends."""
    named = {row[0] for row in rows if row[0] is not None}
    kept = set(
        ApiKey.objects.select_for_update(of=("self",), no_key=True)
        .filter(pk__in=named)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    return [row for row in rows if row[0] is None or row[0] in kept]


def _add(sums: list[int], *parts: int) -> None:
    for position, part in enumerate(parts):
        sums[position] += part


def _upsert(model: Any, names: Sequence[str], summed: Sequence[str], sums: _Sums) -> None:
    """Adds the sums to the rows identified by the columns `names`, or inserts them."""
    table = model._meta.db_table
    columns = [*names, *summed]
    arrays = ", ".join(f"%s::{_TYPES.get(name, 'bigint')}[]" for name in columns)
    additions = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in summed)
    listed, place = ", ".join(columns), ", ".join(names)
    # All writers use one order, so that two batches cannot deadlock.
    rows = [(*row, *sums[row]) for row in sorted(sums, key=_order)]
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        values: list[Any] = [
            list(column) for column in zip(*rows[start : start + _ROWS_AT_ONCE], strict=True)
        ]
        execute(
            f"""
            INSERT INTO {table} ({listed})
            SELECT {listed} FROM unnest({arrays}) AS new ({listed})
            ON CONFLICT ({place}) DO UPDATE SET {additions}
            """,
            values,
        )


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(-1 if part is None else part for part in row)
