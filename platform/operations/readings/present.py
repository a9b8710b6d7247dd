"""Everything that is read of the service now: what cards, samples, alarms and Prometheus tell."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import redis
from django.conf import settings
from django.db import connection

from access import tallies
from access.redis_client import NAMESPACE, client
from operations import store
from operations.models import Sample
from operations.readings import calls, chain, landing, processes, servers, tips

# A sample of one moment stands for so long.
MOMENT_SECONDS = 15
STOOD_IN = "stood_in"
_KEY = f"{NAMESPACE}readings"
# What several pages and a scrape ask for in the same moment is read once.
_SHARED_MILLISECONDS = 1_000
# A rate is taken over so long: shorter would jump, longer would hide what just began.
_RATE = timedelta(seconds=40)


class Readings(msgspec.Struct, frozen=True):
    """The service at one moment. Parts that Redis alone knows are None while it is away.
    `sampled_at` is when the worker watched over it last.
    """

    at: datetime
    chain: chain.ChainReading
    landing: landing.LandingReading
    tips: tips.TipsReading
    calls: calls.CallsReading | None
    slots_per_second: float | None
    tallies: dict[str, int]
    database: servers.DatabaseReading
    redis: servers.RedisReading | None
    disk: servers.DiskReading
    alerts: servers.AlertsReading
    processes: list[processes.ProcessReading] | None
    sampled_at: datetime | None

    def tally(self, name: str) -> dict[tuple[str, ...], int]:
        """Counts of one name by their labels."""
        found = {tuple(field.split("|")): count for field, count in self.tallies.items()}
        return {labels[1:]: count for labels, count in found.items() if labels[0] == name}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Readings).decode


def present(now: datetime) -> Readings:
    """Read now, or by somebody else a moment ago."""
    # What a transaction sees is not for others, nor what they saw for it.
    if connection.in_atomic_block:
        return read(now)
    try:
        found: Any = client().get(_KEY)
        if found is not None:
            return _decode(found)
    except (redis.RedisError, msgspec.MsgspecError):
        return read(now)
    readings = read(now)
    try:
        client().set(_KEY, _encode(readings), px=_SHARED_MILLISECONDS)
    except redis.RedisError:
        return readings
    return readings


def read(now: datetime) -> Readings:
    """Read now."""
    samples = _samples(now)
    newest = samples[0] if samples else None
    before = next((each for each in samples if now - 4 * _RATE < each.at <= now - _RATE), None)
    counts = calls.read_tallies()
    found_chain = chain.read_chain(now)
    return Readings(
        at=now,
        chain=found_chain,
        landing=landing.read_landing(now),
        tips=tips.read_tips(
            now,
            sweep_after_seconds=settings.TIP_SWEEP_AFTER_SECONDS,
            known=_tip_sums(newest),
        ),
        calls=calls.read_calls(counts, now=now, before=_call_totals(before)),
        slots_per_second=_slots_per_second(counts, now, before),
        tallies={tallies.field_of(*tally): count for tally, count in (counts or {}).items()},
        database=servers.read_database(),
        redis=servers.read_redis(),
        disk=servers.read_disk(Path(settings.RUN_DIR)),
        alerts=servers.read_alerts(now),
        processes=processes.read_processes(now, newest_slot=found_chain.newest_slot),
        sampled_at=_sampled_at(samples),
    )


def _samples(now: datetime) -> list[Sample]:
    """The newest, of single moments, back to those that rates are taken against."""
    count = 4 * _RATE // timedelta(seconds=MOMENT_SECONDS) + 1
    return store.newest_samples(MOMENT_SECONDS, now=now, limit=count)


def stood_in(sample: Sample) -> bool:
    """Whether a web process took it in the worker's place."""
    return bool(sample.totals.get(STOOD_IN))


def _sampled_at(samples: list[Sample]) -> datetime | None:
    """When the worker took a sample last; at the latest, where it has not for minutes."""
    if not samples:
        return None
    return next((each for each in samples if not stood_in(each)), samples[-1]).at


def slots_stored(counts: dict[tallies.Tally, int]) -> int:
    """Slots that came into the ledger since Redis began."""
    return counts.get((tallies.SLOTS, "ledger"), 0)


def _slots_per_second(
    counts: dict[tallies.Tally, int] | None, now: datetime, before: Sample | None
) -> float | None:
    if counts is None or before is None or "slots" not in before.totals:
        return None
    stored = slots_stored(counts) - int(before.totals["slots"])
    return None if stored < 0 else stored / (now - _read_at(before)).total_seconds()


def _call_totals(before: Sample | None) -> tuple[datetime, calls.CallTotals] | None:
    if before is None or "calls" not in before.totals:
        return None
    totals = {name: int(before.totals[name]) for name in calls.CallTotals.__struct_fields__}
    return _read_at(before), calls.CallTotals(**totals)


def _tip_sums(newest: Sample | None) -> tips.TipSums:
    if newest is None or "tips_upto" not in newest.totals:
        return tips.TipSums()
    return tips.TipSums(
        **{
            name: int(newest.totals[field])
            for name, field in (
                ("upto", "tips_upto"),
                ("tips", "tips_counted"),
                ("static", "tips_static"),
                ("dynamic", "tips_dynamic"),
            )
        }
    )


def _read_at(sample: Sample) -> datetime:
    """When its totals were read, which is some moments after its step of time began."""
    return datetime.fromtimestamp(float(sample.totals["read_at"]), sample.at.tzinfo)
