"""Samples: readings of every 15 s for two hours, then their means of 5 minutes for 30 days, and
those of a day for 90 days.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from columns.queries import execute
from operations import store
from operations.models import Sample
from operations.readings.calls import call_totals, totals_to_keep
from operations.readings.present import MOMENT_SECONDS, STOOD_IN, Readings, slots_stored
from operations.readings.tips import KEPT_SUMS
from operations.rules.processes import fullest_queue
from operations.status.states import sampled_states

MEAN_SECONDS = 300
DAY_SECONDS = 86_400
PERCENTILES = ("p50", "p95", "p99")
MOMENTS_KEPT = timedelta(hours=2)
MEANS_KEPT = timedelta(days=30)
DAYS_KEPT = timedelta(days=90)
# The total of a mean: how many samples it was made of.
STEPS = "steps"

_ORIGIN = datetime(2000, 1, 1, tzinfo=UTC)
_ROLL_UP = """
INSERT INTO operations_sample (at, resolution, values, totals)
SELECT bin, %(mean)s, jsonb_object_agg(key, value), jsonb_build_object(%(steps)s, max(steps))
FROM (
  SELECT date_bin(%(step)s, at, %(origin)s) AS bin, key, avg(each.value::float8) AS value,
    count(*) AS steps
  FROM operations_sample, jsonb_each_text(values) AS each(key, value)
  WHERE resolution = %(shorter)s AND at < date_bin(%(step)s, %(now)s, %(origin)s) AND at >= %(from)s
  GROUP BY 1, 2
) AS means GROUP BY bin ON CONFLICT DO NOTHING
"""


def store_sample(readings: Readings, *, now: datetime, stands_in: bool) -> bool:
    """Keeps the readings for this step of time; False if another process has. `stands_in`: a web
    process does it in the worker's place, and leaves the step to the worker when that is back.
    """
    for resolution in (MOMENT_SECONDS, MEAN_SECONDS, DAY_SECONDS):
        store.delete_samples_ahead(resolution, of=now)
    sample = Sample(
        at=step_of(now, MOMENT_SECONDS),
        resolution=MOMENT_SECONDS,
        values=values_of(readings),
        totals=_totals_of(readings) | {STOOD_IN: int(stands_in)},
    )
    return store.add_sample(sample) or (not stands_in and store.take_over(sample, STOOD_IN))


def roll_up(*, now: datetime) -> None:
    """Stores the means of each step of 5 minutes and of each day of UTC that is over, and deletes
    old samples. Safe to repeat: existing means stay.
    """
    _roll_up(MOMENT_SECONDS, MEAN_SECONDS, kept=MOMENTS_KEPT, now=now)
    _roll_up(MEAN_SECONDS, DAY_SECONDS, kept=MEANS_KEPT, now=now)
    for resolution, kept in (
        (MOMENT_SECONDS, MOMENTS_KEPT),
        (MEAN_SECONDS, MEANS_KEPT),
        (DAY_SECONDS, DAYS_KEPT),
    ):
        store.delete_samples(resolution, before=now - kept)


def _roll_up(shorter: int, mean: int, *, kept: timedelta, now: datetime) -> None:
    """The means of `mean` seconds of samples of `shorter` seconds, which are kept for so long."""
    newest = store.newest_sample(mean, now=now)
    first = now - kept
    if newest is not None:
        first = max(first, newest.at + timedelta(seconds=mean))
    values: dict[str, Any] = {
        "mean": mean,
        "step": timedelta(seconds=mean),
        "origin": _ORIGIN,
        "shorter": shorter,
        "steps": STEPS,
        "now": now,
        "from": step_of(first, mean),
    }
    execute(_ROLL_UP, values)


def step_of(moment: datetime, seconds: int) -> datetime:
    """The start of the step of time that contains the moment."""
    step = timedelta(seconds=seconds)
    return _ORIGIN + ((moment - _ORIGIN) // step) * step


def values_of(readings: Readings) -> dict[str, float]:
    """The figures of charts, without unknown ones."""
    chain, landing, calls, redis = readings.chain, readings.landing, readings.calls, readings.redis
    found: dict[str, float | None] = {
        "behind": chain.behind,
        "silent_seconds": chain.silent_seconds,
        "gap_slots": chain.gap_slots(),
        "follower_waiting": chain.waiting_slots,
        "slots_per_second": readings.slots_per_second,
        "landed_percent": None if landing.rate is None else 100 * landing.rate,
        **_triple("slots_to_land", landing.slots),
        **_triple("first_send_ms", landing.first_send),
        "accepted_waiting": landing.waiting,
        "tips_left_percent": least_left_percent(readings),
        "lamports_today": readings.tips.lamports_today,
        "database_ms": readings.database.milliseconds,
        "database_bytes": readings.database.size,
        "disk_free_bytes": readings.disk.free,
        "disk_used_percent": _used(readings.disk.total - readings.disk.free, readings.disk.total),
        "deliveries_waiting": readings.alerts.waiting,
    }
    if calls is not None:
        found["calls_per_second"] = calls.per_second
        found |= _triple("call_ms", calls.milliseconds)
        found["failed_percent"] = _percent(calls.failed_share)
        found["refused_percent"] = _percent(calls.refused_share)
    if redis is not None:
        found["redis_bytes"] = redis.used
        found["redis_used_percent"] = _used(redis.used, redis.most)
        found["queued"] = sum(redis.queues.values())
        found["queue_percent"] = 100 * fullest_queue(readings)
    found |= sampled_states(readings)
    if readings.processes is not None:
        found["processes_missing"] = sum(bool(each.trouble) for each in readings.processes)
    return {name: round(value, 4) for name, value in found.items() if value is not None}


def least_left_percent(readings: Readings) -> float | None:
    """The lowest share of addresses left among TTL classes with an open batch."""
    shares = [100 * each.left / each.size for each in readings.tips.classes if each.size]
    return min(shares, default=None)


def _triple(name: str, values: tuple[float, float, float] | None) -> dict[str, float | None]:
    """p50, p95 and p99 by their names."""
    if values is None:
        return {}
    return {f"{name}_{each}": value for each, value in zip(PERCENTILES, values, strict=True)}


def _used(part: int, whole: int) -> float | None:
    """In percent; None without a limit."""
    return 100 * part / whole if whole else None


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _totals_of(readings: Readings) -> dict[str, float]:
    settled = readings.tips.settled_sums
    found: dict[str, float] = {
        "read_at": readings.at.timestamp(),
        **{field: getattr(settled, name) for name, field in KEPT_SUMS.items()},
    }
    if readings.calls is not None:
        counts = {tuple(name.split("|")): count for name, count in readings.counters.items()}
        found |= totals_to_keep(call_totals(counts))
        found["slots"] = slots_stored(counts)
    return found
