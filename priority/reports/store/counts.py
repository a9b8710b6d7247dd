"""Counts of submissions by step of time: what they are made of, and how they are made.

Of each step, by tier: `state` how far its submissions have come (`word`); `took` the same of those
that the upstream took, `amount` of them before any other one; `slots` from acceptance to the block,
by SLOT_BOUNDS (`number`); `byte` microseconds from receipt until they went out, and `answer` those
until the upstream answered a try, both by the logarithm (`number`, `mean_of`); `try`
how a try ended (`word`), with its microseconds (`amount`); `tip` lamports (`amount`) that landed,
by the class of the address (`word`) and the logarithm of the tip (`number`). Without an upstream it
is of all of them. Sweeps of our own are not counted.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from columns.advisory_locks import AdvisoryLock, try_for
from columns.queries import all_rows, execute, first_row
from priority.fates.store.shared import IS_FIRST, NOTED
from priority.reports.models import LandingClock, LandingCount, LandingKeyCount

STEP, HOUR, DAY = 300, 3_600, 86_400
_DAY = timedelta(days=1)
_ORIGIN = "'2000-01-01+00'::timestamptz"
# The step of time that a moment is in.
STEP_OF = f"date_bin('{STEP} seconds', {{}}, {_ORIGIN})"


def note_steps(rows: str) -> str:
    """SQL that has the steps of these rows counted again, by their `accepted_at`."""
    return (
        "INSERT INTO priority_landingchange (start, noted_at)"
        f" SELECT DISTINCT {STEP_OF.format('accepted_at')}, clock_timestamp() FROM {rows}"
    )


_COLUMNS = "seconds, start, measure, tier, upstream, word, number, count, amount"
_KEY_COLUMNS = "seconds, start, key_id, tier, state, reason, count, tips"


def plain_text(column: str) -> str:
    """An answer or a reason without what differs each time: signatures, pubkeys, long numbers."""
    short = f"regexp_replace(left({column}, 150), '[1-9A-HJ-NP-Za-km-z]{{32,}}', '…', 'g')"
    return f"regexp_replace({short}, '[0-9]{{6,}}', '#', 'g')"


def _logarithm(value: str) -> str:
    return f"floor(ln(greatest(({value})::float8, 1)) / ln(1.1))::int"


_ROW = (
    "s.id, s.tier, s.state, s.accepted_at, s.sent_at, s.tip_address, s.tip_lamports,"
    " CASE WHEN s.state IN ('landed', 'failed') AND s.accepted_slot IS NOT NULL"
    " THEN greatest(s.slot - s.accepted_slot, 0) END AS slots, s.key_id"
)
# Of `rows` (id, start and what _ROW has): everything that is counted; only attempts that were made
# `for_keys`, unless that is null. How many rows there are is
# nothing that a planner guesses: OFFSET 0 makes it look up attempts and addresses one by one, and
# not read whole tables for a handful.
FACTS = f"""
tries AS MATERIALIZED (
  SELECT r.id, r.start, r.tier, r.state, r.slots, r.accepted_at, a.upstream, a.outcome,
    a.started_at, a.latency_us, a.answer
  FROM rows r CROSS JOIN LATERAL (SELECT * FROM priority_attempt WHERE submission_id = r.id
    AND (r.for_keys IS NULL OR COALESCE(made_for, r.key_id) = ANY(r.for_keys)) OFFSET 0) AS a),
taken AS MATERIALIZED (
  SELECT id, start, tier, state, slots, accepted_at, upstream, min(started_at) AS sent_at,
    (row_number() OVER (PARTITION BY id ORDER BY min(started_at), upstream) = 1)::int AS is_first
  FROM tries WHERE outcome = 'sent' GROUP BY 1, 2, 3, 4, 5, 6, 7),
bounded AS (
  SELECT start, tier, '' AS upstream, slots FROM rows WHERE slots IS NOT NULL
  UNION ALL SELECT start, tier, upstream, slots FROM taken WHERE slots IS NOT NULL),
out AS (
  SELECT start, tier, '' AS upstream, accepted_at, sent_at FROM rows WHERE sent_at IS NOT NULL
  UNION ALL SELECT start, tier, upstream, accepted_at, sent_at FROM taken),
facts AS (
  SELECT start, 'state' AS measure, tier, '' AS upstream, state::text AS word, 0 AS number,
    count(*) AS count, 0::bigint AS amount
  FROM rows GROUP BY start, tier, state
  UNION ALL SELECT start, 'took', tier, upstream, state, 0, count(*), sum(is_first)
  FROM taken GROUP BY start, tier, upstream, state
  UNION ALL SELECT start, 'slots', tier, upstream, '', bound, count(*), sum(slots)::bigint
  FROM (SELECT *, CASE WHEN slots <= 8 THEN slots WHEN slots <= 16 THEN 9 WHEN slots <= 32 THEN 10
    ELSE 11 END::int AS bound FROM bounded) AS b GROUP BY start, tier, upstream, bound
  UNION ALL SELECT start, 'byte', tier, upstream, '',
    {_logarithm("extract(epoch FROM sent_at - accepted_at) * 1e6")} AS n, count(*), 0
  FROM out GROUP BY start, tier, upstream, n
  UNION ALL SELECT start, 'try', tier, upstream,
    CASE WHEN outcome = 'sent' THEN 'sent' ELSE outcome || ': ' || {plain_text("answer")} END AS w,
    0, count(*), sum(latency_us::bigint)::bigint
  FROM tries GROUP BY start, tier, upstream, w
  UNION ALL SELECT start, 'answer', tier, upstream, '', {_logarithm("latency_us")} AS n, count(*), 0
  FROM tries WHERE outcome <> 'failed' GROUP BY start, tier, upstream, n
  UNION ALL SELECT start, 'tip', tier, '', COALESCE(b.ttl_seconds::text, 'static') AS w,
    {_logarithm("tip_lamports")} AS n, count(*), sum(tip_lamports)::bigint
  FROM rows r LEFT JOIN LATERAL (SELECT ttl_seconds FROM tipping_tipaddress t
    JOIN tipping_tipbatch ON tipping_tipbatch.id = t.batch_id WHERE t.pubkey = r.tip_address
    OFFSET 0) AS b ON true
  WHERE r.state = 'landed' AND tip_lamports IS NOT NULL GROUP BY start, tier, w, n)
"""
_OF_STEPS = (
    f"SELECT p.start, {_ROW}, NULL::bigint[] AS for_keys"
    " FROM unnest(%s::timestamptz[]) AS p(start) JOIN priority_submission s"
    f" ON s.accepted_at >= p.start AND s.accepted_at < p.start + interval '{STEP} seconds'"
    " WHERE s.kind <> 'sweep'"
)
_COUNT = (
    f"WITH rows AS MATERIALIZED ({_OF_STEPS}), {FACTS}"
    f" INSERT INTO priority_landingtally ({_COLUMNS}) SELECT {STEP}, * FROM facts"
)
_IN_STEP = (
    "unnest(%s::timestamptz[]) AS p(start) JOIN {0} ON {1}.accepted_at >= p.start"
    f" AND {{1}}.accepted_at < p.start + interval '{STEP} seconds'"
).format
# A key's own submissions, and those that another customer had submitted before: each customer's
# count has a transaction once.
_COUNT_KEYS = f"""
INSERT INTO priority_landingkeytally ({_KEY_COLUMNS})
WITH submitted AS (
  SELECT p.start, s.key_id, s.tier, s.state, s.err, s.reason, s.tip_lamports
  FROM {_IN_STEP("priority_submission s", "s")} WHERE s.kind <> 'sweep'
  UNION ALL SELECT p.start, c.key_id, t.name, s.state, s.err, s.reason, s.tip_lamports
  FROM {_IN_STEP(f"({NOTED})", "c")} JOIN access_tier t ON t.id = k.tier_id WHERE {IS_FIRST})
SELECT {STEP}, s.start, s.key_id, s.tier, s.state, CASE s.state WHEN 'failed'
  THEN left(s.err::text, 150) WHEN 'landed' THEN '' ELSE {plain_text("s.reason")} END AS why,
  count(*), COALESCE(sum(s.tip_lamports), 0)
FROM submitted s GROUP BY s.start, s.key_id, s.tier, s.state, why
"""
# Of the submissions of some keys, the newest ones in a span of time: without their steps. When one
# that another customer had submitted before was sent is of that one's.
ROWS_OF_KEYS = f"""
SELECT {_ORIGIN} AS start, n.*, w.ids AS for_keys
FROM (SELECT %s::bigint[] AS ids) AS w CROSS JOIN unnest(w.ids) AS wanted(id) CROSS JOIN LATERAL (
  (SELECT {_ROW} FROM priority_submission s WHERE s.key_id = wanted.id AND s.accepted_at >= %s
   AND s.kind <> 'sweep' AND (%s = '' OR s.tier = %s) ORDER BY s.id DESC LIMIT %s)
  UNION ALL
  (SELECT s.id, t.name, s.state, c.accepted_at, NULL, s.tip_address, s.tip_lamports, NULL, s.key_id
   FROM {NOTED} JOIN access_tier t ON t.id = k.tier_id
   WHERE c.key_id = wanted.id AND c.accepted_at >= %s AND {IS_FIRST}
   AND (s.key_id = ANY(w.ids)) IS NOT TRUE AND (%s = '' OR t.name = %s)
   ORDER BY c.id DESC LIMIT %s)) AS n
"""


def counted_since() -> datetime | None:
    """The hour of the first counted submission, or its day where hours are no longer kept."""
    day, hour = first_row(
        "SELECT (SELECT min(start) FROM priority_landingtally WHERE seconds = %s),"
        " (SELECT min(start) FROM priority_landingtally WHERE seconds = %s)",
        [DAY, HOUR],
    )
    first: datetime | None = hour if day is None or (hour and hour < day + _DAY) else day
    return first


def alone() -> bool:
    """Whether no other worker counts until this transaction ends; it may take ten minutes."""
    execute("SET LOCAL statement_timeout TO '10min'")
    return try_for(AdvisoryLock.LANDING_COUNTS)


def take_changes(*, noted_before: datetime, most: int) -> list[datetime]:
    """Steps that changed, the newest ones first, and deletes their notes. The statements after this
    one see every change that was noted.
    """
    rows = all_rows(
        "WITH gone AS (DELETE FROM priority_landingchange WHERE noted_at < %s AND start IN"
        " (SELECT DISTINCT start FROM priority_landingchange WHERE noted_at < %s"
        "  ORDER BY start DESC LIMIT %s) RETURNING start) SELECT DISTINCT start FROM gone",
        [noted_before, noted_before, most],
    )
    return [start for (start,) in rows]


def unsettled_steps(*, since: datetime) -> list[datetime]:
    """Steps from then on with submissions whose fate is not final."""
    rows = all_rows(
        f"SELECT DISTINCT {STEP_OF.format('accepted_at')} FROM (SELECT accepted_at"
        " FROM priority_submission WHERE settled_at IS NULL AND accepted_at >= %s"
        " UNION ALL SELECT c.accepted_at FROM priority_cosubmitter c"
        " JOIN priority_submission s ON s.signature = c.name"
        " WHERE s.settled_at IS NULL AND c.accepted_at >= %s) AS moving",
        [since, since],
    )
    return [start for (start,) in rows]


def count_steps(starts: Sequence[datetime]) -> None:
    """Counts them again, from the rows as they are."""
    steps = list(starts)
    for model in (LandingCount, LandingKeyCount):
        model.objects.filter(seconds=STEP, start__in=steps).delete()
    execute(_COUNT, [steps])
    execute(_COUNT_KEYS, [steps, steps])


def sum_up(starts: Collection[datetime], *, seconds: int, of: int) -> None:
    """The sums of these hours or days, of the steps or hours that they consist of."""
    wanted = sorted(starts)
    for table, columns, sums in (
        ("priority_landingtally", "measure, tier, upstream, word, number", "count, amount"),
        ("priority_landingkeytally", "key_id, tier, state, reason", "count, tips"),
    ):
        summed = ", ".join(f"sum({each})" for each in sums.split(", "))
        execute(f"DELETE FROM {table} WHERE seconds = %s AND start = ANY(%s)", [seconds, wanted])
        execute(
            f"INSERT INTO {table} (seconds, start, {columns}, {sums})"
            f" SELECT %s, w.start, {columns}, {summed} FROM unnest(%s::timestamptz[])"
            f" AS w(start) JOIN {table} t ON t.seconds = %s AND t.start >= w.start"
            f" AND t.start < w.start + make_interval(secs => %s) GROUP BY w.start, {columns}",
            [seconds, wanted, of, seconds],
        )


def forget_before(earliest: datetime, *, seconds: int) -> None:
    """Counts of that length which began before are gone."""
    for model in (LandingCount, LandingKeyCount):
        rows = model.objects.filter(seconds=seconds, start__lt=earliest)
        rows.delete()


def set_clock(now: datetime) -> None:
    LandingClock.objects.update_or_create(pk=1, defaults={"counted_at": now})


def clock() -> datetime | None:
    """When submissions were counted last."""
    return LandingClock.objects.values_list("counted_at", flat=True).first()


def floor(moment: datetime, seconds: int) -> datetime:
    """The beginning of the span of so many seconds that the moment is in."""
    past = (moment - datetime(2000, 1, 1, tzinfo=moment.tzinfo)).total_seconds() % seconds
    return moment - timedelta(seconds=past)
