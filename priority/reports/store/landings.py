"""Reading the counts of what landed: of all keys, or, from the rows themselves, of some."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import F, Sum

from access.models import ApiKey, KeyDay, UsageDay, UsageHour
from columns.queries import all_rows
from priority.reports.models import LandingKeyCount
from priority.reports.store.counts import FACTS, ROWS_OF_KEYS

# So many of the newest submissions of some keys are read with their attempts.
MOST_OF_KEYS = 5_000
_METHODS = ("sendTransaction", "sendBundle")
_LOST = ("failed", "expired", "refused")
_TIMED = "measure IN ('state', 'took', 'tip')"


@dataclass(frozen=True, slots=True)
class Times:
    """From `start` to `end`, in steps of `step`; counted in rows of `seconds`."""

    start: datetime
    end: datetime
    step: timedelta
    seconds: int


@dataclass(frozen=True, slots=True)
class Fact:
    """What priority.reports.store.counts counts; `start` is None for a measure that is not kept by
    step.
    """

    start: datetime | None
    measure: str
    upstream: str
    word: str
    number: int
    count: int
    amount: int


@dataclass(frozen=True, slots=True)
class Lost:
    """How many submissions of a key failed, expired or were refused, and why."""

    key_id: int | None
    state: str
    reason: str
    count: int


def facts(times: Times, *, tier: str, upstream: str) -> list[Fact]:
    """Of all keys; with an upstream, of it and of all together."""
    return _facts(
        f"SELECT CASE WHEN {_TIMED} THEN date_bin(%s, start, %s) END AS step,"
        " measure, upstream, word, number, sum(count)::bigint, sum(amount)::bigint"
        " FROM priority_landingtally WHERE seconds = %s AND start >= %s AND start < %s"
        " AND (%s = '' OR tier = %s) AND (%s = '' OR upstream IN ('', %s)) GROUP BY 1, 2, 3, 4, 5",
        [
            times.step,
            times.start,
            times.seconds,
            times.start,
            times.end,
            tier,
            tier,
            upstream,
            upstream,
        ],
    )


def timed_numbers(times: Times, *, tier: str, upstream: str) -> list[Fact]:
    """Slots to land and times to the first byte by step, of an upstream, or "" for all together."""
    return _facts(
        "SELECT date_bin(%s, start, %s), measure, '', '', number,"
        " sum(count)::bigint, 0 FROM priority_landingtally WHERE seconds = %s AND start >= %s"
        " AND start < %s AND measure IN ('slots', 'byte') AND upstream = %s"
        " AND (%s = '' OR tier = %s) GROUP BY 1, measure, number",
        [
            times.step,
            times.start,
            times.seconds,
            times.start,
            times.end,
            upstream,
            tier,
            tier,
        ],
    )


def facts_of_keys(times: Times, keys: Collection[int], *, tier: str) -> list[Fact]:
    """Of the newest MOST_OF_KEYS submissions of these keys, as their rows are now."""
    each = max(1, MOST_OF_KEYS // max(1, len(keys)))
    return _facts(
        f"WITH rows AS MATERIALIZED ({ROWS_OF_KEYS}), {FACTS}"
        " SELECT NULL, measure, upstream, word, number, sum(count)::bigint, sum(amount)::bigint"
        " FROM facts GROUP BY 2, 3, 4, 5",
        [list(keys), *[times.start, tier, tier, each] * 2],
    )


def states_of_keys(times: Times, keys: Collection[int], *, tier: str) -> list[Fact]:
    """How far all of their submissions have come, by step."""
    return _facts(
        "SELECT date_bin(%s, start, %s), 'state', '', state, 0,"
        " sum(count)::bigint, 0 FROM priority_landingkeytally WHERE key_id = ANY(%s)"
        " AND seconds = %s AND start >= %s AND start < %s AND (%s = '' OR tier = %s)"
        " GROUP BY 1, state",
        [
            times.step,
            times.start,
            list(keys),
            times.seconds,
            times.start,
            times.end,
            tier,
            tier,
        ],
    )


def keys_with_losses(
    times: Times, *, keys: Collection[int] | None, tier: str, limit: int
) -> list[int | None]:
    """The keys with the most submissions that failed, expired or were refused."""
    rows = _key_rows(times, keys, tier).filter(state__in=_LOST).values("key_id")
    return list(
        rows.annotate(lost=Sum("count"))
        .order_by("-lost", "key_id")
        .values_list("key_id", flat=True)[:limit]
    )


def losses(times: Times, keys: Collection[int | None], *, tier: str) -> list[Lost]:
    """Why those of these keys did not land, most of them first."""
    rows = _of(_key_rows(times, None, tier), keys).filter(state__in=_LOST)
    found = rows.values_list("key_id", "state", "reason").annotate(n=Sum("count"))
    return [Lost(*row) for row in found.order_by("-n", "state", "reason")[:500]]


def totals_of(times: Times, keys: Collection[int | None], *, tier: str) -> dict[int | None, int]:
    """How many submissions these keys had."""
    rows = _of(_key_rows(times, None, tier), keys).values_list("key_id")
    return dict(rows.annotate(n=Sum("count")).order_by())


def keys_refused_most(since: date, *, limit: int) -> list[int | None]:
    """Keys with the most failed calls, of any method, since that day."""
    days = KeyDay.objects.filter(day__gte=since).order_by().values("key_id")
    bad = days.annotate(bad=Sum(F("calls") - F("ok"))).filter(bad__gt=0).order_by("-bad")
    return list(bad.values_list("key_id", flat=True)[:limit])


def refusals(since: date, keys: Collection[int | None]) -> list[tuple[int | None, str, int]]:
    """(key, status, calls) of submissions of these keys that were refused before acceptance."""
    rows = _of(UsageDay.objects.filter(day__gte=since), keys)
    bad = rows.filter(method__in=_METHODS).exclude(status="ok").order_by()
    found = bad.values_list("key_id", "status").annotate(n=Sum("calls"))
    return list(found.order_by("-n", "status")[:500])


def refusals_of_all(times: Times) -> list[tuple[str, int]]:
    """(status, calls) of all submissions that were refused before acceptance, most first."""
    hours = UsageHour.objects.filter(hour__gte=times.start, hour__lt=times.end)
    bad = hours.filter(method__in=_METHODS).exclude(status="ok").order_by()
    return list(bad.values_list("status").annotate(n=Sum("calls")).order_by("-n", "status")[:20])


def keys_named(keys: Collection[int | None]) -> dict[int, ApiKey]:
    """Those of them that are still there, with their customers."""
    wanted = [key for key in keys if key is not None]
    return ApiKey.objects.select_related("customer").defer("digest").in_bulk(wanted)


def _key_rows(times: Times, keys: Collection[int] | None, tier: str) -> Any:
    rows = LandingKeyCount.objects.filter(
        seconds=times.seconds, start__gte=times.start, start__lt=times.end
    )
    rows = rows if keys is None else rows.filter(key_id__in=list(keys))
    return (rows.filter(tier=tier) if tier else rows).order_by()


def _of(rows: Any, keys: Collection[int | None]) -> Any:
    named = rows.filter(key_id__in=[key for key in keys if key is not None])
    return named | rows.filter(key_id__isnull=True) if None in keys else named


def _facts(sql: str, parameters: Sequence[Any]) -> list[Fact]:
    return [Fact(*row) for row in all_rows(sql, parameters)]
