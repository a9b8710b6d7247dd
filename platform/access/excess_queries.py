"""Calls of the last day above limits that a tier might have, summed in SQL.

Usage is known by the minute: a key with `burst` tokens that fill at `rate` has at most
60 * rate + burst calls in a minute, and 3600 * rate + burst in an hour. What is above that would
have been refused for certain; shorter bursts are not seen, so every sum is the least that it can
be.
"""

from datetime import date, datetime
from typing import Any

from access.counted_calls import FREE, NOTIFICATION
from columns.queries import all_rows

# (key_id or None: callers without a key, calls above, all its calls)
Excess = tuple[int | None, int, int]

_OF_TIER = "key_id IN (SELECT id FROM access_apikey WHERE tier_id = %s)"
_KEYLESS = "key_id IS NULL"


def above_rate(
    tier_id: int | None, *, rate: float, burst: int, methods: list[str], since: datetime
) -> list[Excess]:
    """Keys of the tier (None: callers without a key) with more counted calls since then than the
    rate and burst allow; of these methods, or of all.
    """
    who, values = _who(tier_id)
    method = "method = ANY(%s)" if methods else "method NOT LIKE %s AND method NOT LIKE %s"
    named: list[Any] = [methods] if methods else [f"%{NOTIFICATION}", "%ubscribe"]
    return all_rows(
        f"""
        SELECT key_id, sum(above)::bigint, sum(calls)::bigint FROM (
            SELECT key_id, sum(calls) AS calls, greatest(
                sum(greatest(floor(calls - 60 * %s::float - %s), 0)),
                floor(sum(calls) - 3600 * %s::float - %s), 0
            ) AS above
            FROM (
                SELECT key_id, minute, sum(calls) AS calls FROM access_usageminute
                WHERE {who} AND minute >= %s AND status <> ALL(%s) AND {method} GROUP BY 1, 2
            ) AS minutes
            GROUP BY key_id, date_trunc('hour', minute)
        ) AS hours GROUP BY 1 HAVING sum(above) > 0
        """,
        [rate, burst, rate, burst, *values, since, sorted(FREE), *named],
    )


def above_daily_cap(tier_id: int | None, *, cap: int, method: str, since: date) -> list[Excess]:
    """Keys with more successful calls of the method in a UTC day since then than the cap."""
    who, values = _who(tier_id)
    return all_rows(
        f"""
        SELECT key_id, sum(greatest(calls - %s, 0))::bigint, sum(calls)::bigint
        FROM access_usageday WHERE {who} AND day >= %s AND method = %s AND status = 'ok'
        GROUP BY 1 HAVING sum(greatest(calls - %s, 0)) > 0
        """,
        [cap, *values, since, method, cap],
    )


def above_monthly_bytes(tier_id: int, *, limit: int, start: date) -> list[Excess]:
    """(key_id, 0, notifications' bytes) of the keys with more bytes than that since the start."""
    return all_rows(
        f"""
        SELECT key_id, 0, sum(bytes)::bigint FROM access_keyday
        WHERE {_OF_TIER} AND day >= %s GROUP BY 1 HAVING sum(bytes) > %s
        """,
        [tier_id, start, limit],
    )


def calls_since(tier_id: int | None, since: datetime) -> list[Excess]:
    """(key_id, 0, counted calls) of the keys of the tier that were used since then."""
    who, values = _who(tier_id)
    return all_rows(
        f"""
        SELECT key_id, 0, sum(counted)::bigint FROM access_keyhour
        WHERE {who} AND hour >= %s GROUP BY 1
        """,
        [*values, since],
    )


def _who(tier_id: int | None) -> tuple[str, list[Any]]:
    return (_KEYLESS, []) if tier_id is None else (_OF_TIER, [tier_id])
