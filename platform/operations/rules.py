"""The rules of alarms: the condition, how long it has to hold, and what to do about it."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from operations.alarm_rule import CRITICAL, WARNING, Finding, Rule
from operations.proof_rules import PROOF_RULES
from operations.readings.present import Readings
from operations.readings.processes import DUTIES, REMEDY, SERVER_DUTIES, ProcessReading
from operations.sealing_rules import SEALING_RULES
from shared_state.outages import FULL_BYTES
from staff.formatting import counted, duration, grouped, in_units, size_of

_DUTIES = DUTIES | SERVER_DUTIES
_SLOTS_BEHIND = 50
_GB = 1_000_000_000
# Lengths above which a queue is an alarm: its workers do not keep up.
_QUEUES = {"default": 200, "ingest": 200, "simulations": 200}
ACCEPTED = 1_000
_FOLLOWER_SLOTS = 200
_FAILED_SHARE, _CALLS_PER_SECOND = 0.01, 0.1
_LANDED_SHARE, _SETTLED = 0.5, 20
_REDIS_SHARE = 0.8
_SLOW_MILLISECONDS = 100.0
_SWEEP_PATIENCE = timedelta(minutes=10)
# Three samples in a row are missing.
CLOCK_PATIENCE = timedelta(seconds=45)


def _chain_behind(now: Readings) -> Iterator[Finding]:
    behind = now.chain.behind
    if behind is not None and behind > _SLOTS_BEHIND:
        yield Finding("", f"What is stored is {counted(behind, 'slot')} behind the chain.")


def _stream_silent(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "silent":
        silent = now.chain.silent_seconds
        since = "since it connected"
        if silent is not None:
            since = f"for {duration(timedelta(seconds=silent))}"
        yield Finding("", f"The {now.chain.source} is connected and has sent nothing {since}.")


def _stream_lost(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "not connected":
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"The chain is not followed, its source is not connected{why}")


def _streams_down(now: Readings) -> Iterator[Finding]:
    if now.chain.stream != "not connected" and (count := now.chain.streams_down):
        verb = "is" if count == 1 else "are"
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"{grouped(count)} of the streams {verb} not connected{why}")


def _gaps_open(now: Readings) -> Iterator[Finding]:
    for store in ("ledger", "archive"):
        old = [each for each in now.chain.gaps if each.store == store and each.old]
        if old:
            slots, gaps = sum(each.slots for each in old), sum(each.old for each in old)
            causes = ", ".join(sorted({each.cause.replace("_", " ") for each in old}))
            verb = "is" if gaps == 1 else "are"
            about = f"about {counted(slots, 'slot')} ({causes})"
            text = f"{counted(gaps, 'gap')} {verb} not filled, {about}."
            yield Finding(store, text)


def _archive_damaged(now: Readings) -> Iterator[Finding]:
    for each in now.chain.damage:
        more = f", and {each.count - 1:,} more" if each.count > 1 else ""
        yield Finding(each.store, f"Sealed data of the {each.store}: {each.lowest}{more}.")


def _divergences(now: Readings) -> Iterator[Finding]:
    if count := now.chain.divergences:
        yield Finding("", f"The replay of {counted(count, 'transaction')} differs from the chain.")


def _class_unavailable(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if not each.is_available:
            name = in_units(each.ttl_seconds)
            yield Finding(name, f"No tip address of the class of {name} can be fetched.")


def _class_running_dry(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if each.is_available and not each.prepared:
            name = in_units(each.ttl_seconds)
            text = (
                f"No batch is prepared for the class of {name}, whose open one has"
                f" {grouped(each.left)} of {grouped(each.size)} addresses left."
            )
            yield Finding(name, text)


def _sweep_stuck(now: Readings) -> Iterator[Finding]:
    if now.tips.unswept:
        count = counted(now.tips.unswept, "expired batch", "expired batches")
        yield Finding("batches", f"Not swept: {count}.")
    oldest = now.tips.oldest_sweep_at
    if oldest is not None and now.at - oldest > _SWEEP_PATIENCE:
        yield Finding("sweeps", f"A sweep has been in progress for {duration(now.at - oldest)}.")


def _upstream_broken(now: Readings) -> Iterator[Finding]:
    for each in now.landing.upstreams:
        if each.is_enabled and each.broken_until is not None and each.broken_until > now.at:
            text = f"Nothing is sent to {each.name}: {each.broken_reason or 'it fails'}."
            yield Finding(each.name, text)


def _no_upstream(now: Readings) -> Iterator[Finding]:
    enabled = [each for each in now.landing.upstreams if each.is_enabled]
    if not enabled:
        yield Finding("", "No upstream is enabled: accepted submissions will expire.")
    elif all(each.broken_until and each.broken_until > now.at for each in enabled):
        yield Finding(
            "", "The circuit breakers of all upstreams are open: accepted submissions wait."
        )


def _landing_low(now: Readings) -> Iterator[Finding]:
    rate, settled = now.landing.rate, now.landing.settled
    if rate is not None and settled >= _SETTLED and rate < _LANDED_SHARE:
        text = f"{100 * rate:.0f}% of the last {grouped(settled)} settled submissions landed."
        yield Finding("", text)


def _landing_behind(now: Readings) -> list[Finding] | None:
    queue = now.landing.queue
    if queue is None:
        return None
    if queue.age_ms <= now.landing.refused_from_ms:
        return []
    text = (
        f"{grouped(queue.unsent)} accepted submissions are not sent yet, the oldest for"
        f" {grouped(queue.age_ms)} ms: new ones are refused."
    )
    return [Finding("", text)]


def _process_missing(now: Readings) -> list[Finding] | None:
    return None if now.processes is None else process_findings(now.processes, now.at)


def process_findings(processes: Iterable[ProcessReading], at: datetime) -> list[Finding]:
    """What of the processes is missing or hung."""
    found = []
    for each in processes:
        if not each.trouble:
            continue
        heard, duty = each.heard(at), _DUTIES[each.kind]
        text = f"No {each.kind} process is alive ({heard}): it {duty}."
        if each.trouble == "hung":
            which = f"{each.silent} of {each.alive + each.silent} {each.kind} processes"
            if each.alive == 0:
                which = f"The {each.kind} process"
            text = f"{which} makes no progress ({heard}): it {duty}."
        found.append(Finding(each.kind, text, f"{each.kind} {each.trouble}"))
    return found


def _clock_stopped(now: Readings) -> Iterator[Finding]:
    if now.sampled_at is not None and now.at - now.sampled_at >= CLOCK_PATIENCE:
        since = duration(now.at - now.sampled_at)
        text = f"Periodic tasks have not run for {since}; a web process checks the rules instead."
        yield Finding("", text)


def _queue_deep(now: Readings) -> list[Finding] | None:
    if now.redis is None:
        return None
    found = [
        Finding(queue, f"{grouped(waiting)} tasks wait in the queue “{queue}”.")
        for queue, waiting in now.redis.queues.items()
        if waiting > _QUEUES[queue]
    ]
    accepted, slots = now.landing.waiting or 0, now.chain.waiting_slots
    if accepted > ACCEPTED:
        text = f"{grouped(accepted)} accepted submissions wait for a lander or are not settled."
        found.append(Finding("accepted", text))
    if slots > _FOLLOWER_SLOTS:
        found.append(Finding("follower", f"{grouped(slots)} slots wait to be stored."))
    return found


def fullest_queue(now: Readings) -> float:
    """How long the longest queue is, as a share of the length from which it is an alarm."""
    lengths = {} if now.redis is None else now.redis.queues
    shares = [waiting / _QUEUES[queue] for queue, waiting in lengths.items()]
    shares += [(now.landing.waiting or 0) / ACCEPTED, now.chain.waiting_slots / _FOLLOWER_SLOTS]
    return max(shares)


def _errors_high(now: Readings) -> list[Finding] | None:
    calls = now.calls
    if calls is None or calls.per_second is None:
        return None
    share = calls.failed_share or 0.0
    if calls.per_second < _CALLS_PER_SECOND or share <= _FAILED_SHARE:
        return []
    return [Finding("", f"{100 * share:.1f}% of calls fail with an internal error.")]


def _disk_low(now: Readings) -> Iterator[Finding]:
    free, total = now.disk.free, now.disk.total
    if free < total / 10 and free < 5 * _GB:
        yield Finding("", f"{size_of(free)} of {size_of(total)} are free for the run directory.")


def _redis_memory(now: Readings) -> list[Finding] | None:
    if now.redis is None:
        return None
    used, most = now.redis.used, now.redis.most
    if not most or used < _REDIS_SHARE * most:
        return []
    text = f"Valkey uses {size_of(used)} of at most {size_of(most)}; once full, it refuses writes."
    return [Finding("", text)]


def _redis_down(now: Readings) -> Iterator[Finding]:
    if now.redis is None:
        yield Finding("", "Valkey does not answer: limits, queues and landing do not work.")
    elif not now.redis.takes_writes:
        why = "the disk is full" if now.disk.free < FULL_BYTES else "its disk is full or broken"
        yield Finding("", f"Valkey cannot write, {why}: limits, queues and landing do not work.")


def _database_slow(now: Readings) -> Iterator[Finding]:
    if now.database.milliseconds > _SLOW_MILLISECONDS:
        text = f"PostgreSQL takes {now.database.milliseconds:.0f} ms for an empty query."
        yield Finding("", text)


def _webhook_failing(now: Readings) -> Iterator[Finding]:
    for name in now.alerts.failing:
        yield Finding(name, f"Deliveries to the webhook {name} fail.")


def _deliveries_late(now: Readings) -> Iterator[Finding]:
    if late := now.alerts.late:
        count = counted(late, "delivery", "deliveries")
        yield Finding("", f"{count} overdue by minutes: mails and webhooks about events are late.")


_GAPS, _OPEN = "rewind_gap_changelist", "state=open"
_UPSTREAMS, _CLASSES = "priority_upstream_changelist", "tipping_ttlclass_changelist"
_DELIVERIES, _WEBHOOKS = "alerts_delivery_changelist", "alerts_webhook_changelist"
_USAGE = "access_usageminute_changelist"
_NODE = "Check that the node answers and keeps up, and the follower's lines in the log."

RULES = (
    Rule("stream_silent", CRITICAL, 10, 15, "The stream is silent", _NODE, _GAPS, _stream_silent),
    Rule("stream_lost", CRITICAL, 20, 15, "The stream is lost", _NODE, _GAPS, _stream_lost),
    Rule(
        *("streams_lacking", WARNING, 60, 60, "One of several streams is lost"),
        "The chain is followed through the others. Check that its server answers, and the"
        " follower's lines in the log: one of another chain is ignored until it restarts.",
        *(_GAPS, _streams_down),
    ),
    Rule(
        *("chain_behind", WARNING, 30, 30, "Behind the chain"),
        "Check the ingest process, the database and the disk: slots are stored too slowly.",
        *(_GAPS, _chain_behind),
    ),
    Rule(
        *("gaps_open", WARNING, 0, 0, "Gaps are open"),
        "They are retried automatically, and at once from their page. Nodes of FILL_RPC_URLS fill"
        " gaps of the ledger, replays of the streams those of the archive. A gap that no source can"
        " fill is given up automatically once each source said so, or by you on its page.",
        *(_GAPS, _gaps_open, _OPEN),
    ),
    Rule(
        *("archive_damaged", CRITICAL, 0, 0, "Sealed data is damaged"),
        "Reads that need it fail, its segment is not merged, and retention drops nothing from there"
        " on. Its page has the command that repairs it from another database, or opens its slots as"
        " gaps. Check the disk.",
        *("rewind_sealeddamage_changelist", _archive_damaged, "state=damaged"),
    ),
    Rule(
        *("divergences_open", WARNING, 0, 0, "Replays diverge"),
        "Each shows what differs: the archive or the simulation engine is wrong somewhere.",
        *("rewind_divergence_changelist", _divergences, _OPEN),
    ),
    Rule(
        *("class_unavailable", CRITICAL, 10, 10, "A tip class is unavailable"),
        "Press Prepare and then Rotate now of the class under TTL classes. The worker does both by"
        " itself within seconds: check that worker and beat run.",
        *(_CLASSES, _class_unavailable),
    ),
    Rule(
        *("class_running_dry", WARNING, 30, 15, "A tip class runs dry"),
        "Press Prepare of the class under TTL classes. The worker prepares two batches by itself:"
        " check that worker and beat run. If they do and it comes back, raise its batch size.",
        *(_CLASSES, _class_running_dry),
    ),
    Rule(
        *("sweep_stuck", WARNING, 60, 30, "Tips are not swept"),
        "Notes on the batches say why. The node has to answer, and a sweep has to land.",
        *("tipping_tipsweep_changelist", _sweep_stuck),
    ),
    Rule(
        *("no_upstream", CRITICAL, 10, 20, "No upstream"),
        "Enable an upstream, or reset a circuit breaker once its cause is fixed.",
        *(_UPSTREAMS, _no_upstream),
    ),
    Rule(
        *("upstream_broken", WARNING, 20, 30, "An upstream is broken"),
        "It is retried automatically; reset its circuit breaker or disable it on its page.",
        *(_UPSTREAMS, _upstream_broken),
    ),
    Rule(
        *("landing_low", WARNING, 60, 60, "Little lands"),
        "Each submission shows its reason, such as an expired blockhash or a refusing upstream.",
        *("priority_submission_changelist", _landing_low),
    ),
    Rule(
        *("landing_behind", CRITICAL, 10, 30, "Landing is behind"),
        "Check that landers run and upstreams answer; start another lander if one is busy.",
        *(_UPSTREAMS, _landing_behind),
    ),
    Rule(
        *("process_missing", CRITICAL, 0, 5, "A process is missing or hung"),
        *(REMEDY, "", _process_missing),
    ),
    Rule(
        *("clock_stopped", CRITICAL, 30, 20, "The scheduler is not running"),
        "Restart worker and beat: no tip batch is rotated or swept until they run.",
        *("", _clock_stopped),
    ),
    Rule(
        *("queue_deep", WARNING, 30, 30, "A queue is long"),
        "Its workers are missing or too slow: see the processes, and WORKER_PROCESSES.",
        *("", _queue_deep),
    ),
    Rule(
        *("errors_high", CRITICAL, 20, 60, "Calls fail"),
        "The log has the tracebacks with request ids; usage shows which methods fail.",
        *(_USAGE, _errors_high),
    ),
    *PROOF_RULES,
    *SEALING_RULES,
    Rule(
        *("disk_low", CRITICAL, 30, 30, "The disk is nearly full"),
        "Free some space, or keep fewer slots (LEDGER_RETENTION_SLOTS, ARCHIVE_RETENTION_SLOTS).",
        *("", _disk_low),
    ),
    Rule(
        *("redis_memory_high", WARNING, 30, 60, "Valkey is nearly full"),
        "See the queues for what waits in it; without a lander it grows.",
        *("", _redis_memory),
    ),
    Rule(
        *("redis_down", CRITICAL, 10, 10, "Valkey is down"),
        "Free the disk if it is full. The supervisor restarts its own Valkey; with REDIS_URL check"
        " that server.",
        *("", _redis_down),
    ),
    Rule(
        *("database_slow", WARNING, 30, 60, "PostgreSQL is slow"),
        "Check the load and disk of the machine, and pg_stat_activity for long queries.",
        *("", _database_slow),
    ),
    Rule(
        *("webhook_failing", WARNING, 60, 0, "A webhook fails"),
        "Its deliveries show the responses; deliver one again once the receiver is fixed.",
        *(_WEBHOOKS, _webhook_failing),
    ),
    Rule(
        *("deliveries_late", WARNING, 60, 30, "Deliveries are late"),
        "The worker process delivers them: check that it runs.",
        *(_DELIVERIES, _deliveries_late),
    ),
)
BY_NAME = {rule.name: rule for rule in RULES}
# The page to act on one subject, if it is not the rule's.
PAGES_OF_SUBJECTS = {
    ("gaps_open", "ledger"): "historical_gap_changelist",
    ("archive_damaged", "ledger"): "historical_ledgerdamage_changelist",
    ("sealing_behind", "ledger"): "historical_sealedrange_changelist",
    ("sealing_failing", "ledger"): "historical_sealedrange_changelist",
    ("retention_failing", "ledger"): "historical_sealedrange_changelist",
}
