"""Readings → the families of METRICS, as prometheus-client writes them."""

import platform as machine
from collections import Counter
from collections.abc import Iterable, Iterator

import django
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from operations.metrics import METRICS, Kind
from operations.models import Alarm
from operations.readings.present import Readings
from shared_state import counters

CONTENT_TYPE = CONTENT_TYPE_LATEST
_Family = CounterMetricFamily | GaugeMetricFamily
# A metric's name with the values of its labels, and what it is.
_Value = tuple[str, tuple[str, ...], float | None]


def exposed(readings: Readings, open_alarms: Iterable[Alarm], *, version: str) -> bytes:
    """The answer's body. What is not known is left out, as Prometheus wants it."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Read(readings, open_alarms, version))
    return generate_latest(registry)


class _Read(Collector):
    def __init__(self, readings: Readings, open_alarms: Iterable[Alarm], version: str) -> None:
        self._readings, self._alarms, self._version = readings, open_alarms, version

    def collect(self) -> Iterator[_Family]:
        families: dict[str, _Family] = {}
        for metric in METRICS.values():
            of_kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
            family = of_kind(metric.name, metric.meaning, labels=metric.labels)
            families[metric.name] = family
        for name, labels, value in values_of(self._readings, self._alarms, self._version):
            if value is not None:
                families[name].add_metric(labels, value)
        yield from families.values()


def values_of(now: Readings, open_alarms: Iterable[Alarm], version: str) -> Iterator[_Value]:
    """Every value there is; each name is one of METRICS."""
    build = (version, machine.python_version(), django.get_version())
    yield "tidemark_build_info", build, 1
    for process in now.processes or ():
        yield "tidemark_up", (process.kind,), process.alive
    yield from _counted(now)
    yield from _chain(now)
    yield from _landing(now)
    yield from _tips(now)
    yield from _servers(now)
    opened = Counter((alarm.name, str(alarm.severity)) for alarm in open_alarms)
    for labels, count in opened.items():
        yield "tidemark_alarms_open", labels, count
    if now.sampled_at is not None:
        age = (now.at - now.sampled_at).total_seconds()
        yield "tidemark_sample_age_seconds", (), age


def _counted(now: Readings) -> Iterator[_Value]:
    for tally, name, factor in (
        (counters.CALLS, "tidemark_calls_total", 1.0),
        (counters.CALL_MICROSECONDS, "tidemark_call_seconds_total", 1e-6),
        (counters.SUBMISSIONS, "tidemark_submissions_total", 1.0),
        (counters.ATTEMPTS, "tidemark_attempts_total", 1.0),
        (counters.SLOTS, "tidemark_slots_stored_total", 1.0),
        (counters.WRITES, "tidemark_account_writes_total", 1.0),
        (counters.TRANSACTIONS, "tidemark_transactions_stored_total", 1.0),
    ):
        for labels, count in sorted(now.tally(tally).items()):
            yield name, labels, count * factor


def _chain(now: Readings) -> Iterator[_Value]:
    chain = now.chain
    yield "tidemark_following", (), float(chain.stream == "following")
    yield "tidemark_silent_seconds", (), chain.silent_seconds
    yield "tidemark_head_slot", (), chain.head_slot
    yield "tidemark_finalized_slot", (), chain.finalized_slot
    yield "tidemark_stored_slot", (), chain.newest_slot
    yield "tidemark_slots_behind", (), chain.behind
    for gap in chain.gaps:
        yield "tidemark_gaps_open", (gap.store, gap.cause), gap.gaps
        yield "tidemark_gap_slots", (gap.store, gap.cause), gap.slots
    for store, slots in sorted(chain.given_up.items()):
        yield "tidemark_gap_slots_given_up", (store,), slots
    yield "tidemark_divergences_open", (), chain.divergences


def _landing(now: Readings) -> Iterator[_Value]:
    landing = now.landing
    first = landing.first_send_milliseconds
    yield "tidemark_landed_ratio", (), landing.rate
    yield "tidemark_slots_to_land", (), landing.slots_to_land
    yield "tidemark_first_send_seconds", (), None if first is None else first / 1e3
    for upstream in landing.upstreams:
        if upstream.is_enabled:
            is_broken = upstream.broken_until is not None and upstream.broken_until > now.at
            yield "tidemark_upstream_broken", (upstream.name,), float(is_broken)
    if landing.landers is not None:
        yield "tidemark_landers", (), len(landing.landers)
        for lander in landing.landers:
            yield "tidemark_in_flight", (lander.name,), lander.in_flight


def _tips(now: Readings) -> Iterator[_Value]:
    sums = now.tips.sums
    yield "tidemark_tips_total", (), sums.tips
    yield "tidemark_tip_lamports_total", ("static",), sums.static
    yield "tidemark_tip_lamports_total", ("dynamic",), sums.dynamic
    for each in now.tips.classes:
        labels = (str(each.ttl_seconds),)
        yield "tidemark_tip_addresses_left", labels, each.left
        yield "tidemark_tip_batches_prepared", labels, each.prepared
        yield "tidemark_tip_class_available", labels, float(each.is_available)


def _servers(now: Readings) -> Iterator[_Value]:
    redis = now.redis
    yield "tidemark_redis_up", (), float(redis is not None)
    if redis is not None:
        yield "tidemark_redis_bytes", (), redis.used
        yield "tidemark_redis_max_bytes", (), redis.most
        for queue, length in redis.queues.items():
            yield "tidemark_queue_length", (queue,), length
    yield "tidemark_queue_length", ("accepted",), now.landing.waiting
    if (unsent := now.landing.queue) is not None:
        yield "tidemark_queue_length", ("unsent",), unsent.unsent
        yield "tidemark_queue_age_seconds", (), unsent.age_ms / 1e3
        yield "tidemark_sent_per_second", (), unsent.per_second
    yield "tidemark_queue_length", ("follower",), now.chain.waiting_slots
    yield "tidemark_queue_length", ("deliveries",), now.alerts.waiting
    yield "tidemark_queue_length", ("sweeps",), now.tips.unswept
    yield "tidemark_database_bytes", (), now.database.size
    yield "tidemark_database_seconds", (), now.database.milliseconds / 1e3
    yield "tidemark_disk_free_bytes", (), now.disk.free
    yield "tidemark_disk_bytes", (), now.disk.total
