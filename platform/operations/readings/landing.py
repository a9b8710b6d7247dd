"""Recent outcomes of submissions by upstream, and the landers."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import redis
from django.db import connection

from priority.acceptance.stalled_queue import refused_from_ms
from priority.lander.lander_names import landers
from priority.models import Upstream
from priority.store.queueing import QueueState, queue_state
from priority.submissions import ACCEPTED_STREAM
from shared_state.redis_client import client

WINDOW = timedelta(minutes=15)
# The newest rows that are read: a busy service has more in 15 minutes, and these are enough.
_SUBMISSIONS = 5_000
_ATTEMPTS = 10_000

# Rates are taken of settled submissions alone.
_RECENT = """
SELECT state, count(*), count(*) FILTER (WHERE settled_at IS NOT NULL),
       sum(slot - accepted_slot) FILTER (WHERE state = 'landed' AND slot >= accepted_slot),
       count(*) FILTER (WHERE state = 'landed' AND slot >= accepted_slot),
       sum(extract(epoch FROM sent_at - accepted_at)) FILTER (WHERE sent_at >= accepted_at),
       count(*) FILTER (WHERE sent_at >= accepted_at)
FROM (SELECT * FROM priority_submission WHERE kind <> 'sweep' ORDER BY id DESC LIMIT %s) AS newest
WHERE accepted_at >= %s GROUP BY state
"""
# First by upstream and submission, which the database does without sorting names.
_BY_UPSTREAM = """
SELECT t.upstream, sum(t.sent)::int, sum(t.refused)::int, sum(t.failed)::int,
       (sum(t.latency_us) / 1000.0 / sum(t.attempts))::float8,
       count(*) FILTER (WHERE t.sent > 0 AND s.state = 'landed'),
       count(s.id) FILTER (WHERE t.sent > 0)
FROM (
  SELECT upstream COLLATE "C" AS upstream, submission_id, count(*) AS attempts,
         count(*) FILTER (WHERE outcome = 'sent') AS sent,
         count(*) FILTER (WHERE outcome = 'refused') AS refused,
         count(*) FILTER (WHERE outcome = 'failed') AS failed, sum(latency_us) AS latency_us
  FROM (SELECT * FROM priority_attempt ORDER BY id DESC LIMIT %s) AS newest
  WHERE started_at >= %s GROUP BY 1, 2
) AS t LEFT JOIN priority_submission s ON s.id = t.submission_id AND s.settled_at IS NOT NULL
GROUP BY 1
"""


class UpstreamReading(msgspec.Struct, frozen=True):
    """Attempts of the window by outcome, and how many landed of the settled submissions that it
    took.
    """

    id: int | None
    name: str
    is_enabled: bool
    broken_until: datetime | None
    broken_reason: str
    sent: int = 0
    refused: int = 0
    failed: int = 0
    milliseconds: float | None = None
    landed: int = 0
    settled: int = 0


class LanderReading(msgspec.Struct, frozen=True):
    name: str
    unsettled: int
    last_error: str


class LandingReading(msgspec.Struct, frozen=True):
    """Submissions of the last minutes. `waiting` (accepted, not settled), `queue` (not sent yet)
    and `landers` are None while Redis is down; means are None without submissions. New submissions
    may be refused once the queue's age is `refused_from_ms`.
    """

    states: dict[str, int]
    settled: int
    landed: int
    slots_to_land: float | None
    first_send_milliseconds: float | None
    upstreams: list[UpstreamReading]
    landers: list[LanderReading] | None
    waiting: int | None
    queue: QueueState | None = None
    refused_from_ms: int = 0

    @property
    def rate(self) -> float | None:
        """Of what settled, the share that landed."""
        return self.landed / self.settled if self.settled else None


def read_settled(now: datetime) -> tuple[int, int]:
    """How many submissions of the last minutes settled, and how many of these landed."""
    with connection.cursor() as cursor:
        cursor.execute(_RECENT, [_SUBMISSIONS, now - WINDOW])
        return _settled(cursor.fetchall())


def _settled(rows: list[tuple[Any, ...]]) -> tuple[int, int]:
    return sum(row[2] for row in rows), sum(row[2] for row in rows if row[0] == "landed")


def read_landing(now: datetime) -> LandingReading:
    since = now - WINDOW
    with connection.cursor() as cursor:
        cursor.execute(_RECENT, [_SUBMISSIONS, since])
        rows = cursor.fetchall()
        cursor.execute(_BY_UPSTREAM, [_ATTEMPTS, since])
        attempts = {row[0]: row[1:] for row in cursor.fetchall()}
    slots, landed = (sum(int(row[at] or 0) for row in rows) for at in (3, 4))
    seconds, sent = sum(float(row[5] or 0) for row in rows), sum(row[6] for row in rows)
    settled, have_landed = _settled(rows)
    alive, waiting, queue = _redis_state()
    return LandingReading(
        states={row[0]: row[1] for row in rows},
        settled=settled,
        landed=have_landed,
        slots_to_land=slots / landed if landed else None,
        first_send_milliseconds=1_000 * seconds / sent if sent else None,
        upstreams=_upstreams(attempts),
        landers=alive,
        waiting=waiting,
        queue=queue,
        refused_from_ms=refused_from_ms(),
    )


def _upstreams(attempts: dict[str, tuple[Any, ...]]) -> list[UpstreamReading]:
    """Every upstream, and deleted ones with attempts in the window."""
    found = [
        UpstreamReading(
            *(row.pk, row.name, row.is_enabled, row.broken_until, row.broken_reason),
            *attempts.pop(row.name, ()),
        )
        for row in Upstream.objects.order_by("name")
    ]
    deleted = [
        UpstreamReading(None, name, False, None, "", *counts)
        for name, counts in sorted(attempts.items())
    ]
    return found + deleted


def _redis_state() -> tuple[list[LanderReading] | None, int | None, QueueState | None]:
    try:
        found = [
            LanderReading(name, int(state.get("inFlight", 0)), str(state.get("lastError") or ""))
            for name, state in landers().items()
        ]
        return found, int(client().xlen(ACCEPTED_STREAM)), queue_state()
    except redis.RedisError:
        return None, None, None
