"""What GET /metrics tells Prometheus: every metric's name, kind, labels and meaning."""

import enum
from dataclasses import dataclass


class Kind(enum.StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of figures. A counter's name on the wire ends in `_total`."""

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()


_COUNTER, _GAUGE = Kind.COUNTER, Kind.GAUGE

METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "tidemark_build_info",
            _GAUGE,
            "1, with the versions that run",
            ("version", "python", "django"),
        ),
        Metric("tidemark_up", _GAUGE, "processes alive of each kind", ("process",)),
        Metric(
            "tidemark_calls_total",
            _COUNTER,
            "calls answered; `ok`, or the reason told to the caller",
            ("method", "status"),
        ),
        Metric(
            "tidemark_call_seconds_total",
            _COUNTER,
            "seconds spent on these calls: over `tidemark_calls_total` the mean time of a call",
            ("method", "status"),
        ),
        Metric(
            "tidemark_submissions_total",
            _COUNTER,
            "submissions that came to the state: received by a lander, then settled as landed,"
            " failed, expired or refused; a nonce that lands after it expired counts for both",
            ("state",),
        ),
        Metric(
            "tidemark_attempts_total",
            _COUNTER,
            "tries to bring a submission out",
            ("upstream", "outcome"),
        ),
        Metric("tidemark_landed_ratio", _GAUGE, "of what settled in 15 minutes, what landed"),
        Metric("tidemark_slots_to_land", _GAUGE, "slots from acceptance to the block, mean"),
        Metric(
            "tidemark_first_send_seconds", _GAUGE, "from acceptance until the first try went out"
        ),
        Metric("tidemark_upstream_broken", _GAUGE, "1 while the breaker is open", ("upstream",)),
        Metric("tidemark_landers", _GAUGE, "landers that share the work"),
        Metric("tidemark_in_flight", _GAUGE, "submissions that a lander has", ("lander",)),
        Metric(
            "tidemark_tip_lamports_total",
            _COUNTER,
            "lamports of tips, in finalized transactions, to static and to dynamic addresses",
            ("address",),
        ),
        Metric("tidemark_tips_total", _COUNTER, "tips, in finalized transactions"),
        Metric(
            "tidemark_tip_addresses_left",
            _GAUGE,
            "addresses of the class's open batch that can still be fetched",
            ("ttl_seconds",),
        ),
        Metric(
            "tidemark_tip_batches_prepared",
            _GAUGE,
            "batches that wait behind the open one",
            ("ttl_seconds",),
        ),
        Metric(
            "tidemark_tip_class_available", _GAUGE, "1 while one can be fetched", ("ttl_seconds",)
        ),
        Metric("tidemark_slots_stored_total", _COUNTER, "slots stored", ("store",)),
        Metric("tidemark_account_writes_total", _COUNTER, "account writes archived"),
        Metric("tidemark_transactions_stored_total", _COUNTER, "transactions stored"),
        Metric("tidemark_following", _GAUGE, "1 while the stream speaks; a silent one is 0"),
        Metric("tidemark_silent_seconds", _GAUGE, "since the stream said something last"),
        Metric("tidemark_head_slot", _GAUGE, "the newest slot that the stream told"),
        Metric("tidemark_finalized_slot", _GAUGE, "the newest finalized one"),
        Metric("tidemark_stored_slot", _GAUGE, "the newest one in the ledger"),
        Metric(
            "tidemark_slots_behind",
            _GAUGE,
            "stored against finalized; lacking while nobody knows, as when the stream is silent",
        ),
        Metric("tidemark_gaps_open", _GAUGE, "gaps that can be filled", ("store", "cause")),
        Metric("tidemark_gap_slots", _GAUGE, "slots in such gaps", ("store", "cause")),
        Metric(
            "tidemark_gap_slots_given_up",
            _GAUGE,
            "slots that no source has any more, by proof or by decision",
            ("store",),
        ),
        Metric("tidemark_divergences_open", _GAUGE, "replays that ended otherwise than the chain"),
        Metric(
            "tidemark_queue_length",
            _GAUGE,
            "what waits: tasks of the three workers (default, ingest, simulations), accepted"
            " submissions, those of them that were not sent yet (unsent), slots to be stored"
            " (follower), deliveries, batches to be swept (sweeps)",
            ("queue",),
        ),
        Metric(
            "tidemark_queue_age_seconds",
            _GAUGE,
            "since the oldest submission was accepted that was not tried to be sent yet",
        ),
        Metric(
            "tidemark_sent_per_second",
            _GAUGE,
            "submissions that landers can send a second: measured while some wait, and the least"
            " of it otherwise",
        ),
        Metric("tidemark_alarms_open", _GAUGE, "open alarms", ("alarm", "severity")),
        Metric("tidemark_sample_age_seconds", _GAUGE, "since the clock's work was last done"),
        Metric("tidemark_database_bytes", _GAUGE, "the database on the disk"),
        Metric("tidemark_database_seconds", _GAUGE, "for a query that does nothing"),
        Metric("tidemark_redis_up", _GAUGE, "0 while Valkey is away: its figures are lacking then"),
        Metric("tidemark_redis_bytes", _GAUGE, "memory that Valkey uses"),
        Metric("tidemark_redis_max_bytes", _GAUGE, "memory that it may use; 0: nothing bounds it"),
        Metric("tidemark_disk_free_bytes", _GAUGE, "free for the run directory"),
        Metric("tidemark_disk_bytes", _GAUGE, "of its file system"),
    )
}

_HEAD = """\
# Metrics

Made from the code by `manage.py metric_catalogue`. `GET /metrics` answers in the text format of
Prometheus to `Authorization: Bearer METRICS_TOKEN`; `manage.py metrics_token` shows the token where
the environment sets none. One scrape tells of all processes: the figures are read when they are
asked for, from PostgreSQL and Valkey, as the admin's home and the alarms read them. Counters grow
over restarts of every process; they begin anew with an emptied Valkey, which `rate()` knows.

```yaml
scrape_configs:
  - job_name: tidemark
    scrape_interval: 15s
    authorization: { credentials: METRICS_TOKEN }
    static_configs: [{ targets: ["tidemark.example:8000"] }]
```

What is worth an alert is an alarm of the service itself as well: `sum(tidemark_alarms_open) > 0`.

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
