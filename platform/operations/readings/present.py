"""All readings of the service now, for cards, samples, alarms and Prometheus."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import redis
from django.conf import settings
from django.db import connection

from operations import store
from operations.models import Sample
from operations.readings import (
    calls,
    chain,
    landing,
    processes,
    proof,
    rules,
    sealing,
    servers,
    tips,
)
from shared_state import counters
from shared_state.redis_client import NAMESPACE, client

# The resolution of samples of one moment.
MOMENT_SECONDS = 15
STOOD_IN = "stood_in"
_KEY = f"{NAMESPACE}readings"
# Pages and scrapes within this time share one reading.
_SHARED_MILLISECONDS = 1_000
# Rates are taken over this time: a shorter one would jump, a longer one would hide what just began.
_RATE = timedelta(seconds=40)


class Readings(msgspec.Struct, frozen=True):
    """The service at one moment. Parts from Redis are None while it is down. `sampled_at`: when
    the worker last took a sample.
    """

    at: datetime
    chain: chain.ChainReading
    landing: landing.LandingReading
    tips: tips.TipsReading
    calls: calls.CallsReading | None
    slots_per_second: float | None
    counters: dict[str, int]
    database: servers.DatabaseReading
    redis: servers.RedisReading | None
    disk: servers.DiskReading
    alerts: servers.AlertsReading
    sign_in: servers.SignInReading | None
    sealing: sealing.SealingReading
    proof: proof.ProofReading
    rules: rules.RulesReading
    processes: list[processes.ProcessReading] | None
    sampled_at: datetime | None

    def counts(self, name: str) -> dict[tuple[str, ...], int]:
        """The counters of one name by their labels."""
        found = {tuple(field.split("|")): count for field, count in self.counters.items()}
        return {labels[1:]: count for labels, count in found.items() if labels[0] == name}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Readings).decode


def present(now: datetime) -> Readings:
    """Read now, or by another process within the last second."""
    # A transaction reads for itself: it may see what others do not, and they what it does not.
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
    counts = calls.read_counters()
    found_chain = chain.read_chain(now)
    return Readings(
        at=now,
        chain=found_chain,
        landing=landing.read_landing(now),
        tips=tips.read_tips(
            now, sweep_after_seconds=settings.TIP_SWEEP_AFTER_SECONDS, known=_tip_sums(newest)
        ),
        calls=calls.read_calls(counts, now=now, before=_call_totals(before)),
        slots_per_second=_slots_per_second(counts, now, before),
        counters={counters.field_of(*name): count for name, count in (counts or {}).items()},
        database=servers.read_database(),
        redis=servers.read_redis(),
        disk=servers.read_disk(Path(settings.RUN_DIR)),
        alerts=servers.read_alerts(now),
        sign_in=servers.read_sign_in(),
        sealing=sealing.read_sealing(now),
        proof=proof.read_proof(),
        rules=rules.read_rules(),
        processes=processes.read_processes(now, newest_slot=found_chain.newest_slot),
        sampled_at=_sampled_at(samples),
    )


def _samples(now: datetime) -> list[Sample]:
    """The newest samples of single moments, as far back as rates need."""
    count = 4 * _RATE // timedelta(seconds=MOMENT_SECONDS) + 1
    return store.newest_samples(MOMENT_SECONDS, now=now, limit=count)


def stood_in(sample: Sample) -> bool:
    """Whether a web process took it in the worker's place."""
    return bool(sample.totals.get(STOOD_IN))


def _sampled_at(samples: list[Sample]) -> datetime | None:
    """When the worker last took a sample; if it has not for minutes, the oldest read here."""
    if not samples:
        return None
    return next((each for each in samples if not stood_in(each)), samples[-1]).at


def slots_stored(counts: calls.Counts) -> int:
    """Slots stored in the ledger since Redis was emptied."""
    return counts.get((counters.SLOTS, "ledger"), 0)


def _slots_per_second(
    counts: calls.Counts | None, now: datetime, before: Sample | None
) -> float | None:
    if counts is None or before is None or "slots" not in before.totals:
        return None
    stored = slots_stored(counts) - int(before.totals["slots"])
    return None if stored < 0 else stored / (now - _read_at(before)).total_seconds()


def _call_totals(before: Sample | None) -> tuple[datetime, calls.CallTotals] | None:
    if before is None or "calls" not in before.totals:
        return None
    return _read_at(before), calls.kept_totals(before.totals)


def _tip_sums(newest: Sample | None) -> tips.TipSums:
    if newest is None or "tips_upto" not in newest.totals:
        return tips.TipSums()
    kept = tips.KEPT_SUMS.items()
    return tips.TipSums(**{name: int(newest.totals[field]) for name, field in kept})


def _read_at(sample: Sample) -> datetime:
    """When its totals were read, shortly after its step of time began."""
    return datetime.fromtimestamp(float(sample.totals["read_at"]), sample.at.tzinfo)
