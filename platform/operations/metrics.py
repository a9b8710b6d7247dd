"""The metrics of GET /metrics: name, labels, meaning, and how each is read."""

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from access.counted_calls import kind_of
from operations.readings.chain import GapCount
from operations.readings.present import Readings
from operations.readings.sealing import SealedReading
from operations.readings.tips import ClassReading
from shared_state import counters

# Values of the labels, and the figure; None: not known now.
Labelled = Iterable[tuple[tuple[str, ...], float | None]]


class Kind(enum.StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of figures. `read` returns one figure, or one for each combination of labels."""

    name: str
    meaning: str
    read: Callable[[Readings], float | Labelled | None]
    labels: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return Kind.COUNTER if self.name.endswith("_total") else Kind.GAUGE


def _figure(name: str, meaning: str, path: str, factor: float = 1) -> Metric:
    """The figure at the end of a path of attributes: None where one on the way is."""

    def read(now: Readings) -> float | None:
        found: Any = now
        for attribute in path.split("."):
            found = None if found is None else getattr(found, attribute)
        return None if found is None else float(found * factor)

    return Metric(name, meaning, read)


def _quantiles(
    name: str,
    meaning: str,
    values: Callable[[Readings], tuple[float, float, float] | None],
    factor: float = 1,
) -> Metric:
    """p50, p95 and p99; none without anything to take them of."""

    def read(now: Readings) -> Labelled:
        found = values(now)
        names = ("0.5", "0.95", "0.99")
        return (
            () if found is None else [((n,), v * factor) for n, v in zip(names, found, strict=True)]
        )

    return Metric(name, meaning, read, ("quantile",))


def _counter(
    name: str, meaning: str, counter: str, *labels: str, factor: float | None = None
) -> Metric:
    def read(now: Readings) -> Labelled:
        for found, count in sorted(now.counts(counter).items()):
            yield found, count if factor is None else count * factor

    return Metric(name, meaning, read, labels)


def _missing_rules(now: Readings) -> Labelled:
    for kind in ("feature", "program", "sysvar"):
        yield (kind,), float(len(now.rules.of_kind(kind)))


def _of_classes(name: str, meaning: str, value: Callable[[ClassReading], float]) -> Metric:
    """One figure for each TTL class."""

    def read(now: Readings) -> Labelled:
        return [((str(each.ttl_seconds),), value(each)) for each in now.tips.classes]

    return Metric(name, meaning, read, ("ttl_seconds",))


def _of_gaps(name: str, meaning: str, value: Callable[[GapCount], float]) -> Metric:
    def read(now: Readings) -> Labelled:
        return [((gap.store, gap.cause), value(gap)) for gap in now.chain.gaps]

    return Metric(name, meaning, read, ("store", "cause"))


def _broken(now: Readings) -> Labelled:
    for each in now.landing.upstreams:
        if each.is_enabled:
            is_broken = each.broken_until is not None and each.broken_until > now.at
            yield (each.name,), float(is_broken)


def _queue_lengths(now: Readings) -> Labelled:
    queue = now.landing.queue
    lengths = {
        **({} if now.redis is None else now.redis.queues),
        "accepted": now.landing.waiting,
        "unsent": None if queue is None else queue.unsent,
        "follower": now.chain.waiting_slots,
        "deliveries": now.alerts.waiting,
        "sweeps": now.tips.unswept,
    }
    return [((name,), length) for name, length in lengths.items()]


def _of_stores(name: str, meaning: str, value: Callable[[SealedReading], float | None]) -> Metric:
    def read(now: Readings) -> Labelled:
        return [((each.store,), value(each)) for each in now.sealing.stores]

    return Metric(name, meaning, read, ("store",))


def _of_places(
    name: str, meaning: str, values: Callable[[SealedReading], tuple[int, int]]
) -> Metric:
    """One figure for what lies here, and one for what lies in the object store."""

    def read(now: Readings) -> Labelled:
        for each in now.sealing.stores:
            here, away = values(each)
            yield (each.store, "database"), here
            if each.store == "archive":
                yield (each.store, "object store"), away

    return Metric(name, meaning, read, ("store", "place"))


def _sample_age(now: Readings) -> float | None:
    return None if now.sampled_at is None else (now.at - now.sampled_at).total_seconds()


# What GET /metrics adds: no reading has it.
BUILD_INFO, ALARMS_OPEN = "tidemark_build_info", "tidemark_alarms_open"

_ALL = (
    Metric(
        BUILD_INFO,
        "1, with the versions that run",
        lambda now: (),
        ("version", "python", "django"),
    ),
    Metric(
        "tidemark_up",
        "processes alive of each kind",
        lambda now: [((each.kind,), each.alive) for each in now.processes or ()],
        ("process",),
    ),
    Metric(
        "tidemark_calls_total",
        "calls; `status` is `ok` or the reason of the error. `kind` is `counted` (counts towards"
        " monthly quotas), `refused`, `failed` (by the service) or `pushed` (notifications)",
        lambda now: [
            ((*found, kind_of(*found)), count)
            for found, count in sorted(now.counts(counters.CALLS).items())
        ],
        ("method", "status", "kind"),
    ),
    _counter(
        "tidemark_call_seconds_total",
        "seconds spent on these calls; divided by `tidemark_calls_total`, the mean time of a call",
        counters.CALL_MICROSECONDS,
        "method",
        "status",
        factor=1e-6,
    ),
    _counter(
        "tidemark_submissions_total",
        "submissions that reached the state: received by a lander, then settled as landed,"
        " failed, expired or refused; a transaction with a nonce that lands after it expired counts"
        " for both",
        counters.SUBMISSIONS,
        "state",
    ),
    _counter(
        "tidemark_attempts_total",
        "attempts to send a submission",
        counters.ATTEMPTS,
        "upstream",
        "outcome",
    ),
    _figure(
        "tidemark_landed_ratio",
        "share of the submissions settled in the last 15 minutes that landed: in a block, without"
        " an error",
        "landing.rate",
    ),
    _quantiles(
        "tidemark_slots_to_land",
        "slots from acceptance to the block, over 15 minutes",
        lambda now: now.landing.slots,
    ),
    _quantiles(
        "tidemark_first_send_seconds",
        "time from acceptance to the start of the first attempt, over 15 minutes",
        lambda now: now.landing.first_send,
        1e-3,
    ),
    _quantiles(
        "tidemark_call_seconds",
        "time of a call, from reading it to its response, over the last minute; accurate to 5 %",
        lambda now: None if now.calls is None else now.calls.milliseconds,
        1e-3,
    ),
    Metric(
        "tidemark_upstream_broken",
        "1 while the circuit breaker is open",
        _broken,
        ("upstream",),
    ),
    Metric(
        "tidemark_landers",
        "landers that share the work",
        lambda now: None if now.landing.landers is None else len(now.landing.landers),
    ),
    Metric(
        "tidemark_in_flight",
        "submissions that a lander is working on",
        lambda now: [((each.name,), each.unsettled) for each in now.landing.landers or ()],
        ("lander",),
    ),
    Metric(
        "tidemark_tip_lamports_total",
        "lamports of tips, in finalized transactions, to static and to dynamic addresses",
        lambda now: [(("static",), now.tips.sums.static), (("dynamic",), now.tips.sums.dynamic)],
        ("address",),
    ),
    _figure("tidemark_tips_total", "tips, in finalized transactions", "tips.sums.tips"),
    _of_classes(
        "tidemark_tip_addresses_left",
        "addresses of the class's open batch that can still be fetched",
        lambda each: each.left,
    ),
    _of_classes(
        "tidemark_tip_batches_prepared",
        "prepared batches, which open after the open one",
        lambda each: each.prepared,
    ),
    _of_classes(
        "tidemark_tip_class_available",
        "1 while an address of the class can be fetched",
        lambda each: float(each.is_available),
    ),
    _counter("tidemark_slots_stored_total", "slots stored", counters.SLOTS, "store"),
    _counter("tidemark_account_writes_total", "account writes archived", counters.WRITES),
    _counter("tidemark_transactions_stored_total", "transactions stored", counters.TRANSACTIONS),
    Metric(
        "tidemark_following",
        "1 while the stream sends messages; 0 while it is silent or lost",
        lambda now: float(now.chain.stream == "following"),
    ),
    _figure(
        "tidemark_silent_seconds",
        "time since the last message of the stream",
        "chain.silent_seconds",
    ),
    _figure("tidemark_head_slot", "the newest slot of the stream", "chain.head_slot"),
    _figure(
        "tidemark_finalized_slot", "the newest finalized slot of the stream", "chain.finalized_slot"
    ),
    _figure("tidemark_stored_slot", "the newest slot in the ledger", "chain.newest_slot"),
    _figure(
        "tidemark_slots_behind",
        "slots from the newest stored to the newest finalized one; absent while unknown, such as"
        " when the stream is silent",
        "chain.behind",
    ),
    _of_gaps("tidemark_gaps_open", "gaps that can be filled", lambda gap: gap.gaps),
    _of_gaps("tidemark_gap_slots", "slots in gaps that can be filled", lambda gap: gap.slots),
    Metric(
        "tidemark_gap_slots_given_up",
        "slots given up: no source has them, or staff gave them up",
        lambda now: [((store,), slots) for store, slots in sorted(now.chain.given_up.items())],
        ("store",),
    ),
    Metric(
        "tidemark_sealed_damage",
        "damaged sealed blocks, and damaged parts of the ledger",
        lambda now: [((each.store,), each.count) for each in now.chain.damage],
        ("store",),
    ),
    _of_places(
        "tidemark_sealed_slots",
        "sealed slots",
        lambda each: (each.sealed_slots, each.cold_slots),
    ),
    _of_places(
        "tidemark_sealed_bytes",
        "bytes of sealed data: the archive's blocks, the ledger's tables with indexes",
        lambda each: (each.sealed_bytes, each.cold_bytes),
    ),
    _of_stores(
        "tidemark_sealing_lag_slots",
        "slots since the lowest unsealed range was finished; 0 while sealing keeps up, absent if it"
        " is off",
        lambda each: each.lag,
    ),
    _of_stores(
        "tidemark_sealing_waiting",
        "finished but unsealed partitions of the archive, and ranges of the ledger",
        lambda each: each.waiting,
    ),
    _counter(
        "tidemark_sealed_total",
        "sealed account changes of the archive and sealed transactions of the ledger; changes count"
        " again when their segment is merged",
        counters.SEALED,
        "store",
    ),
    _counter(
        "tidemark_sealing_cpu_seconds_total",
        "CPU seconds of the worker for sealing, without PostgreSQL's",
        counters.SEALING_MICROSECONDS,
        "store",
        factor=1e-6,
    ),
    _counter(
        "tidemark_task_failures_total",
        "failed runs of background tasks: seal_archive, move_archive, seal_ledger,"
        " prove_archive, count_stakes, prune_archive, prune_ledger",
        counters.TASK_FAILURES,
        "task",
    ),
    _figure("tidemark_proven_slot", "the highest proven slot", "proof.through"),
    _figure(
        "tidemark_consistent_slot",
        "the highest slot that is proven, or consistent with votes",
        "proof.consistent",
    ),
    _figure(
        "tidemark_proof_lag_slots",
        "slots above the highest consistent one whose banks are computed",
        "proof.lag",
    ),
    Metric(
        "tidemark_proof_refuted",
        "runs of slots where the cluster voted for another state",
        lambda now: float(len(now.proof.refuted)),
    ),
    _figure(
        "tidemark_divergences_open",
        "replays whose result differs from the chain's",
        "chain.divergences",
    ),
    Metric(
        "tidemark_missing_rules",
        "rules of the archived chain that this version's engine does not support: active features"
        " that can affect transactions, builtins and precompiles (program), sysvars",
        _missing_rules,
        ("kind",),
    ),
    Metric(
        "tidemark_queue_length",
        "entries waiting: tasks of the three workers (default, ingest, simulations), accepted"
        " submissions, accepted submissions not sent yet (unsent), slots to be stored (follower),"
        " deliveries, batches to be swept (sweeps)",
        _queue_lengths,
        ("queue",),
    ),
    _figure(
        "tidemark_queue_age_seconds",
        "age of the oldest submission without an attempt",
        "landing.queue.age_ms",
        1e-3,
    ),
    _figure(
        "tidemark_sent_per_second",
        "submissions that landers can send per second: measured while some wait, otherwise a lower"
        " bound",
        "landing.queue.per_second",
    ),
    Metric(ALARMS_OPEN, "open alarms", lambda now: (), ("alarm", "severity")),
    Metric(
        "tidemark_sample_age_seconds", "time since the worker last checked the rules", _sample_age
    ),
    _figure("tidemark_database_bytes", "size of the database on disk", "database.size"),
    _figure("tidemark_database_seconds", "time of an empty query", "database.milliseconds", 1e-3),
    Metric(
        "tidemark_redis_up",
        "0 while Valkey is down; its other metrics are then absent",
        lambda now: float(now.redis is not None),
    ),
    _figure("tidemark_redis_bytes", "memory that Valkey uses", "redis.used"),
    _figure("tidemark_redis_max_bytes", "memory that Valkey may use; 0: no limit", "redis.most"),
    _figure(
        "tidemark_database_disk_free_bytes",
        "free space on PostgreSQL's own disk; absent without DATABASE_DISK_BYTES",
        "database.disk.free",
    ),
    _figure("tidemark_disk_free_bytes", "free space for the run directory", "disk.free"),
    _figure("tidemark_disk_bytes", "size of the run directory's file system", "disk.total"),
)
METRICS = {metric.name: metric for metric in _ALL}

_HEAD = """\
# Metrics

`manage.py metric_catalogue` makes this page from the code. `GET /metrics` returns the text format
of Prometheus, and needs `Authorization: Bearer METRICS_TOKEN`. If the environment does not set the
token, `manage.py metrics_token` shows it. One scrape covers all processes: each reads the current
figures from PostgreSQL and Valkey, as the admin's home and the alarms do. Counters keep growing
when processes restart. If Valkey is emptied they restart from 0, as `rate()` expects.

```yaml
scrape_configs:
  - job_name: tidemark
    scrape_interval: 15s
    authorization: { credentials: METRICS_TOKEN }
    static_configs: [{ targets: ["tidemark.example:8000"] }]
```

The service already raises an alarm for every condition worth an alert: use
`sum(tidemark_alarms_open) > 0`.

| metric | type | labels | meaning |
|---|---|---|---|
"""


def page() -> str:
    """The catalogue in Markdown."""
    return _HEAD + "".join(
        f"| `{metric.name}` | {metric.kind} |"
        f" {', '.join(f'`{label}`' for label in metric.labels) or '-'} | {metric.meaning} |\n"
        for metric in sorted(METRICS.values(), key=lambda each: each.name)
    )
