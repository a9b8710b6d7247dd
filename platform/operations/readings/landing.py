"""Recent outcomes of submissions by upstream, and the landers."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import redis

from columns.queries import all_rows, first_row
from priority.fates.reasons import LOST_BY_US
from priority.queue.services.lander_names import landers
from priority.queue.services.stalled_queue import refused_from_ms
from priority.queue.store import QueueState, queue_state
from priority.submissions import ACCEPTED_STREAM, IN_A_BLOCK, SETTLED, landed_share
from priority.upstreams.models import Upstream
from shared_state.redis_client import client
from shared_state.time_buckets import SHARES

WINDOW = timedelta(minutes=15)
# The newest rows that are read: a busy service has more in 15 minutes, and these are enough.
_SUBMISSIONS = 5_000
_ATTEMPTS = 10_000

# By state, and in a last row of all states p50, p95 and p99: of the slots to the block, and of the
# milliseconds to the first attempt.
_RECENT = """
SELECT state, count(*),
       percentile_disc(%s::float8[]) WITHIN GROUP (ORDER BY slot - accepted_slot)
         FILTER (WHERE state = ANY(%s) AND slot >= accepted_slot),
       percentile_disc(%s::float8[]) WITHIN GROUP (
         ORDER BY (1000 * extract(epoch FROM sent_at - accepted_at))::float8)
         FILTER (WHERE sent_at >= accepted_at)
FROM (SELECT * FROM priority_submission WHERE kind <> 'sweep' ORDER BY id DESC LIMIT %s) AS newest
WHERE accepted_at >= %s GROUP BY GROUPING SETS ((state), ()) ORDER BY state NULLS LAST
"""
_SETTLED = """
SELECT count(*), count(*) FILTER (WHERE state = 'landed')
FROM (SELECT * FROM priority_submission WHERE kind <> 'sweep' ORDER BY id DESC LIMIT %s) AS newest
WHERE accepted_at >= %s AND state = ANY(%s)
"""
# Of each customer, how many reached a block, with or without an error, and how many others may be
# lost by the service. Then without the customer who has the most of these, unless there is no
# other: a caller can lose any number on purpose, as from an empty wallet, which no fate shows.
_OF_OTHERS = """
SELECT coalesce(sum(reached), 0)::int, coalesce(sum(lost), 0)::int FROM (
  SELECT count(*) FILTER (WHERE s.state = ANY(%s)) AS reached,
         count(*) FILTER (WHERE s.state = 'expired' AND s.reason ^@ 'blockhash_expired'
           OR s.state = 'refused' AND split_part(s.reason, ':', 1) = ANY(%s)) AS lost
  FROM (SELECT * FROM priority_submission WHERE kind <> 'sweep' ORDER BY id DESC LIMIT %s) AS s
  LEFT JOIN access_apikey k ON k.id = s.key_id
  WHERE s.accepted_at >= %s AND s.will_fail = '' AND s.advance_index IS NULL
  GROUP BY k.customer_id ORDER BY lost DESC
  OFFSET (SELECT (count(*) > 1)::int FROM access_customer)
) AS others
"""
# First by upstream and submission, which the database does without sorting names.
_BY_UPSTREAM = """
WITH tries AS MATERIALIZED (
  SELECT upstream COLLATE "C" AS upstream, submission_id, outcome, latency_us
  FROM (SELECT * FROM priority_attempt ORDER BY id DESC LIMIT %s) AS newest WHERE started_at >= %s
), times AS (
  SELECT upstream, percentile_disc(%s::float8[]) WITHIN GROUP (ORDER BY latency_us) AS times
  FROM tries GROUP BY 1
)
SELECT t.upstream, sum(t.sent)::int, sum(t.refused)::int, sum(t.failed)::int,
       count(*) FILTER (WHERE t.sent > 0 AND s.state = 'landed'),
       count(s.id) FILTER (WHERE t.sent > 0), times.times
FROM (
  SELECT upstream, submission_id, count(*) FILTER (WHERE outcome = 'sent') AS sent,
         count(*) FILTER (WHERE outcome = 'refused') AS refused,
         count(*) FILTER (WHERE outcome = 'failed') AS failed
  FROM tries GROUP BY 1, 2
) AS t JOIN times USING (upstream)
LEFT JOIN priority_submission s ON s.id = t.submission_id AND s.state = ANY(%s)
GROUP BY t.upstream, times.times
"""
# p50, p95 and p99; None without anything to take them of.
Triple = tuple[float, float, float] | None


class UpstreamReading(msgspec.Struct, frozen=True):
    """Attempts of the window by outcome with the percentiles of their time, and how many landed of
    the settled submissions that it took.
    """

    id: int | None
    name: str
    is_enabled: bool
    broken_until: datetime | None
    broken_reason: str
    sent: int = 0
    refused: int = 0
    failed: int = 0
    landed: int = 0
    settled: int = 0
    milliseconds: Triple = None


class LanderReading(msgspec.Struct, frozen=True):
    name: str
    unsettled: int
    last_error: str


class LandingReading(msgspec.Struct, frozen=True):
    """Submissions of the last minutes. `waiting` (accepted, not settled), `queue` (not sent yet)
    and `landers` are None while Redis is down. `slots` to the block and milliseconds to the
    `first_send` are percentiles. New submissions may be refused once the queue's age is
    `refused_from_ms`. `others_reached` are in a block and `others_lost` may be lost by the service,
    without those of the customer who lost the most, if there are several.
    """

    states: dict[str, int]
    slots: Triple
    first_send: Triple
    upstreams: list[UpstreamReading]
    landers: list[LanderReading] | None
    waiting: int | None
    queue: QueueState | None = None
    refused_from_ms: int = 0
    others_reached: int = 0
    others_lost: int = 0

    @property
    def settled(self) -> int:
        return sum(self.states.get(state, 0) for state in SETTLED)

    @property
    def rate(self) -> float | None:
        return landed_share(self.states)


def read_settled(now: datetime) -> tuple[int, int]:
    """How many submissions of the last minutes settled, and how many of these landed."""
    settled, landed = first_row(_SETTLED, [_SUBMISSIONS, now - WINDOW, list(SETTLED)])
    return settled, landed


def read_landing(now: datetime) -> LandingReading:
    since = now - WINDOW
    shares = list(SHARES)
    *rows, whole = all_rows(_RECENT, [shares, list(IN_A_BLOCK), shares, _SUBMISSIONS, since])
    by_upstream = all_rows(_BY_UPSTREAM, [_ATTEMPTS, since, shares, list(SETTLED)])
    attempts = {name: (*counts, _triple(times, 1e-3)) for name, *counts, times in by_upstream}
    of_others = [list(IN_A_BLOCK), list(LOST_BY_US), _SUBMISSIONS, since]
    others_reached, others_lost = first_row(_OF_OTHERS, of_others)
    alive, waiting, queue = _redis_state()
    return LandingReading(
        states={row[0]: row[1] for row in rows},
        slots=_triple(whole[2]),
        first_send=_triple(whole[3]),
        upstreams=_upstreams(attempts),
        landers=alive,
        waiting=waiting,
        queue=queue,
        refused_from_ms=refused_from_ms(),
        others_reached=others_reached,
        others_lost=others_lost,
    )


def _triple(values: list[float] | None, factor: float = 1.0) -> Triple:
    if values is None:
        return None
    p50, p95, p99 = (round(each * factor, 4) for each in values)
    return p50, p95, p99


def _upstreams(attempts: dict[str, tuple[Any, ...]]) -> list[UpstreamReading]:
    """Every upstream, and deleted ones with attempts in the window."""
    found = [
        UpstreamReading(
            row.pk,
            row.name,
            row.is_enabled,
            row.broken_until,
            row.broken_reason,
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
