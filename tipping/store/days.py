"""Sums of the ledger of tips by day, for people."""

from dataclasses import dataclass, field
from datetime import date

from django.db import connection

# Summed for a page: all of a long ledger would take seconds.
NEWEST_ENTRIES = 100_000

_SUMS = """
SELECT (e.recorded_at AT TIME ZONE 'UTC')::date AS day, e.is_static, b.ttl_seconds,
       count(*) FILTER (WHERE e.kind = 'tip'),
       coalesce(sum(e.lamports) FILTER (WHERE e.kind = 'tip'), 0),
       coalesce(-sum(e.lamports) FILTER (WHERE e.kind = 'sweep' AND e.lamports < 0), 0)
FROM (SELECT * FROM tipping_tipentry ORDER BY id DESC LIMIT %s) AS e
LEFT JOIN tipping_tipaddress AS a ON a.pubkey = e.pubkey
LEFT JOIN tipping_tipbatch AS b ON b.id = a.batch_id
GROUP BY 1, 2, 3 ORDER BY 1 DESC
"""


@dataclass(slots=True)
class DayOfTips:
    """Lamports that came to static addresses and to those of each class (by its TTL in seconds),
    by how many tips, and what sweeps took out of them.
    """

    day: date
    tips: int = 0
    static: int = 0
    by_class: dict[int, int] = field(default_factory=dict)
    swept: int = 0


def days_of_tips(*, days: int) -> tuple[list[DayOfTips], list[int]]:
    """The last days on which something was recorded, newest first, and the classes among them."""
    found: dict[date, DayOfTips] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, [NEWEST_ENTRIES])
        for day, is_static, ttl_seconds, tips, lamports, swept in cursor.fetchall():
            of_day = found.setdefault(day, DayOfTips(day))
            of_day.tips += tips
            of_day.swept += int(swept)
            if is_static:
                of_day.static += int(lamports)
            elif ttl_seconds is not None:
                of_day.by_class[ttl_seconds] = of_day.by_class.get(ttl_seconds, 0) + int(lamports)
    shown = list(found.values())[:days]
    return shown, sorted({each for day in shown for each in day.by_class})
