"""The rules of alarms: what has to hold for how long until somebody is called, and what to do."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from operations.models import Alarm
from operations.readings.present import Readings
from operations.readings.processes import DUTIES, REMEDY, SERVER_DUTIES, ProcessReading
from shared_state.outages import FULL_BYTES
from staff.formatting import duration, grouped, size_of

CRITICAL, WARNING = Alarm.Severity.CRITICAL, Alarm.Severity.WARNING

_DUTIES = DUTIES | SERVER_DUTIES
_SLOTS_BEHIND = 50
_GB = 1_000_000_000
# Entries that wait longer than moments mean that nobody keeps up.
_QUEUES = {"default": 200, "ingest": 200, "simulations": 200}
_ACCEPTED = 1_000
_FOLLOWER_SLOTS = 200
_FAILED_SHARE, _CALLS_PER_SECOND = 0.01, 0.1
_LANDED_SHARE, _SETTLED = 0.5, 20
_REDIS_SHARE = 0.8
_SLOW_MILLISECONDS = 100.0
_SWEEP_PATIENCE = timedelta(minutes=10)
# Three samples in a row that did not come.
CLOCK_PATIENCE = timedelta(seconds=45)


class Finding(NamedTuple):
    """What is the matter with one subject (empty: with the service), in words."""

    subject: str
    text: str


# None: what the rule looks at is not known now.
Check = Callable[[Readings], Iterable[Finding] | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of alarm. It opens when the condition `holds` so many seconds, and closes when there
    has been none for the `calm` ones. `page` is the admin URL where somebody can do something;
    `query` shows what is wrong there, and not what was.
    """

    name: str
    severity: Alarm.Severity
    holds: int
    calm: int
    title: str
    advice: str
    page: str
    check: Check
    query: str = ""


def _chain_behind(now: Readings) -> Iterator[Finding]:
    behind = now.chain.behind
    if behind is not None and behind > _SLOTS_BEHIND:
        yield Finding("", f"What is stored is {grouped(behind)} slots behind the chain.")


def _stream_silent(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "silent":
        since = now.chain.silent_seconds
        told = "has said nothing yet" if since is None else f"has said nothing for {since} s"
        yield Finding("", f"The {now.chain.source} is connected and {told}.")


def _stream_lost(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "not connected":
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"The chain is not followed, its source is not connected{why}")


def _streams_lacking(now: Readings) -> Iterator[Finding]:
    if now.chain.stream != "not connected" and (count := now.chain.streams_lacking):
        verb = "is" if count == 1 else "are"
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"{grouped(count)} of the streams {verb} not connected{why}")


def _gaps_open(now: Readings) -> Iterator[Finding]:
    for store in ("ledger", "archive"):
        old = [each for each in now.chain.gaps if each.store == store and each.old]
        if old:
            slots, gaps = sum(each.slots for each in old), sum(each.old for each in old)
            causes = ", ".join(sorted({each.cause for each in old}))
            noun = "gap is" if gaps == 1 else "gaps are"
            text = f"{grouped(gaps)} {noun} not filled, about {grouped(slots)} slots ({causes})."
            yield Finding(store, text)


def _divergences(now: Readings) -> Iterator[Finding]:
    if count := now.chain.divergences:
        noun = "transaction" if count == 1 else "transactions"
        yield Finding("", f"The replay of {grouped(count)} {noun} did not end as the chain says.")


def _class_unavailable(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if not each.is_available:
            text = f"No tip address of the class of {each.ttl_seconds:,} s can be fetched."
            yield Finding(f"{each.ttl_seconds} s", text)


def _class_running_dry(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if each.is_available and not each.prepared:
            text = (
                f"No batch is prepared behind the open one of the class of {each.ttl_seconds:,} s,"
                f" which has {grouped(each.left)} of {grouped(each.size)} addresses left."
            )
            yield Finding(f"{each.ttl_seconds} s", text)


def _sweep_stuck(now: Readings) -> Iterator[Finding]:
    if now.tips.unswept:
        noun = "batch" if now.tips.unswept == 1 else "batches"
        yield Finding("batches", f"{grouped(now.tips.unswept)} expired {noun} were not swept.")
    oldest = now.tips.oldest_sweep_at
    if oldest is not None and now.at - oldest > _SWEEP_PATIENCE:
        yield Finding("sweeps", f"A sweep is under way for {duration(now.at - oldest)}.")


def _upstream_broken(now: Readings) -> Iterator[Finding]:
    for each in now.landing.upstreams:
        if each.is_enabled and each.broken_until is not None and each.broken_until > now.at:
            text = f"Nothing is sent by {each.name}: {each.broken_reason or 'it fails'}."
            yield Finding(each.name, text)


def _no_upstream(now: Readings) -> Iterator[Finding]:
    enabled = [each for each in now.landing.upstreams if each.is_enabled]
    if not enabled:
        yield Finding("", "No upstream is enabled: what is accepted will expire.")
    elif all(each.broken_until and each.broken_until > now.at for each in enabled):
        yield Finding("", "The breakers of all upstreams are open: what is accepted waits.")


def _landing_low(now: Readings) -> Iterator[Finding]:
    rate, settled = now.landing.rate, now.landing.settled
    if rate is not None and settled >= _SETTLED and rate < _LANDED_SHARE:
        text = f"Of the last {grouped(settled)} settled submissions {100 * rate:.0f}% landed."
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
        heard = "it was never heard"
        if each.heard_at is not None:
            heard = f"it was heard {duration(at - each.heard_at)} ago"
        duty = _DUTIES[each.kind]
        text = f"No {each.kind} process is alive ({heard}): it {duty}."
        if each.trouble == "hung":
            noun = f"{each.silent} of {each.alive + each.silent} {each.kind} processes"
            if each.alive == 0:
                noun = f"The {each.kind} process"
            text = f"{noun} makes no progress ({heard}): it {duty}."
        found.append(Finding(each.kind, text))
    return found


def _clock_stopped(now: Readings) -> Iterator[Finding]:
    if now.sampled_at is not None and now.at - now.sampled_at >= CLOCK_PATIENCE:
        since = duration(now.at - now.sampled_at)
        text = f"What clocks should start every 15 s did not run for {since}; a web process looks."
        yield Finding("", text)


def _queue_deep(now: Readings) -> list[Finding] | None:
    if now.redis is None:
        return None
    found = [
        Finding(queue, f"{grouped(waiting)} tasks wait in the queue {queue}.")
        for queue, waiting in now.redis.queues.items()
        if waiting > _QUEUES[queue]
    ]
    accepted, slots = now.landing.waiting or 0, now.chain.waiting_slots
    if accepted > _ACCEPTED:
        text = f"{grouped(accepted)} accepted submissions wait for a lander or for their fate."
        found.append(Finding("accepted", text))
    if slots > _FOLLOWER_SLOTS:
        found.append(Finding("follower", f"{grouped(slots)} slots wait to be stored."))
    return found


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
    text = f"Valkey uses {size_of(used)} of the {size_of(most)} that it may; full, it refuses."
    return [Finding("", text)]


def _redis_down(now: Readings) -> Iterator[Finding]:
    if now.redis is None:
        yield Finding("", "Valkey does not answer: limits, queues and landing stand still.")
    elif not now.redis.takes_writes:
        why = "the disk is full" if now.disk.free < FULL_BYTES else "its disk is full or fails"
        yield Finding("", f"Valkey cannot write, {why}: limits, queues and landing stand still.")


def _database_slow(now: Readings) -> Iterator[Finding]:
    if now.database.milliseconds > _SLOW_MILLISECONDS:
        text = f"PostgreSQL takes {now.database.milliseconds:.0f} ms for a query that does nothing."
        yield Finding("", text)


def _webhook_failing(now: Readings) -> Iterator[Finding]:
    for name in now.alerts.failing:
        yield Finding(name, f"The webhook {name} does not take what it is sent.")


def _deliveries_late(now: Readings) -> Iterator[Finding]:
    if late := now.alerts.late:
        noun = "delivery waits" if late == 1 else "deliveries wait"
        yield Finding("", f"{grouped(late)} {noun} for minutes: people are not told of events.")


_GAPS, _OPEN = "rewind_gap_changelist", "state=open"
_UPSTREAMS, _CLASSES = "priority_upstream_changelist", "tipping_ttlclass_changelist"
_DELIVERIES, _WEBHOOKS = "alerts_delivery_changelist", "alerts_webhook_changelist"
_USAGE = "access_usageminute_changelist"
_NODE = "Look whether the node answers and keeps up, and at the follower's lines in the log."

RULES = (
    Rule("stream_silent", CRITICAL, 10, 15, "The stream is silent", _NODE, _GAPS, _stream_silent),
    Rule("stream_lost", CRITICAL, 20, 15, "The stream is lost", _NODE, _GAPS, _stream_lost),
    Rule(
        *("streams_lacking", WARNING, 60, 60, "A stream of several is lost"),
        "The chain is followed by the others. Look whether its server answers, and at the"
        " follower's lines in the log: one of another chain is left out until it starts again.",
        *(_GAPS, _streams_lacking),
    ),
    Rule(
        *("chain_behind", WARNING, 30, 30, "Behind the chain"),
        "Look at the ingest process, the database and the disk: slots come faster than are stored.",
        *(_GAPS, _chain_behind),
    ),
    Rule(
        *("gaps_open", WARNING, 0, 0, "Gaps are open"),
        "They are tried again by themselves, and at once on their page. Nodes of FILL_RPC_URLS fill"
        " the ledger's; the archive's come from the streams' replays alone. What no source has any"
        " more is taken out of this by itself, once each said so, or by you on its page.",
        *(_GAPS, _gaps_open, _OPEN),
    ),
    Rule(
        *("divergences_open", WARNING, 0, 0, "Replays diverge"),
        "Each says what differs: the archive lacks or mistakes something, or the engine does.",
        *("rewind_divergence_changelist", _divergences, _OPEN),
    ),
    Rule(
        *("class_unavailable", CRITICAL, 10, 10, "A tip class is unavailable"),
        "Prepare a batch and rotate on the class' page; the worker process does it by itself.",
        *(_CLASSES, _class_unavailable),
    ),
    Rule(
        *("class_running_dry", WARNING, 30, 15, "A tip class runs dry"),
        "Prepare batches on the class' page, or look whether the worker process keeps up.",
        *(_CLASSES, _class_running_dry),
    ),
    Rule(
        *("sweep_stuck", WARNING, 60, 30, "Tips are not swept"),
        "Notes on the batches say why; the node has to answer, and a sweep to land.",
        *("tipping_tipsweep_changelist", _sweep_stuck),
    ),
    Rule(
        *("no_upstream", CRITICAL, 10, 20, "No upstream"),
        "Enable an upstream, or reset a breaker whose cause is mended.",
        *(_UPSTREAMS, _no_upstream),
    ),
    Rule(
        *("upstream_broken", WARNING, 20, 30, "An upstream is broken"),
        "It is tried again by itself; reset its breaker or disable it on its page.",
        *(_UPSTREAMS, _upstream_broken),
    ),
    Rule(
        *("landing_low", WARNING, 60, 60, "Little lands"),
        "Reasons stand with each submission: dead blockhashes and refusing upstreams look alike.",
        *("priority_submission_changelist", _landing_low),
    ),
    Rule(
        *("landing_behind", CRITICAL, 10, 30, "Landing is behind"),
        "Look whether landers run and upstreams answer; start another lander where one is busy.",
        *(_UPSTREAMS, _landing_behind),
    ),
    Rule(
        *("process_missing", CRITICAL, 0, 5, "A process is missing or hung"),
        *(REMEDY, "", _process_missing),
    ),
    Rule(
        *("clock_stopped", CRITICAL, 30, 20, "The clock stands still"),
        "Start worker and beat again: nothing is rotated or swept until they run.",
        *("", _clock_stopped),
    ),
    Rule(
        *("queue_deep", WARNING, 30, 30, "A queue is deep"),
        "Whoever empties it is missing or too slow: see the processes, and WORKER_PROCESSES.",
        *("", _queue_deep),
    ),
    Rule(
        *("errors_high", CRITICAL, 20, 60, "Calls fail"),
        "The log has their tracebacks, with the request's id; usage says which methods.",
        *(_USAGE, _errors_high),
    ),
    Rule(
        *("disk_low", CRITICAL, 30, 30, "The disk fills"),
        "Free some of it, or keep fewer slots (LEDGER_RETENTION_SLOTS, ARCHIVE_RETENTION_SLOTS).",
        *("", _disk_low),
    ),
    Rule(
        *("redis_memory_high", WARNING, 30, 60, "Valkey fills"),
        "What waits in it is told under queues; a lander that is missing lets it grow.",
        *("", _redis_memory),
    ),
    Rule(
        *("redis_down", CRITICAL, 10, 10, "Valkey is down"),
        "Free the disk if it is full. The supervisor starts its own Valkey again; with REDIS_URL"
        " look after that server.",
        *("", _redis_down),
    ),
    Rule(
        *("database_slow", WARNING, 30, 60, "PostgreSQL is slow"),
        "Look at the machine's load and disk, and at pg_stat_activity for what runs long.",
        *("", _database_slow),
    ),
    Rule(
        *("webhook_failing", WARNING, 60, 0, "A webhook fails"),
        "Its deliveries say what was answered; send one again when it is mended.",
        *(_WEBHOOKS, _webhook_failing),
    ),
    Rule(
        *("deliveries_late", WARNING, 60, 30, "Deliveries are late"),
        "The worker process delivers them: look whether it runs.",
        *(_DELIVERIES, _deliveries_late),
    ),
)
BY_NAME = {rule.name: rule for rule in RULES}
# Where somebody acts on one subject, if that is not the rule's page.
PAGES_OF_SUBJECTS = {("gaps_open", "ledger"): "historical_gap_changelist"}
