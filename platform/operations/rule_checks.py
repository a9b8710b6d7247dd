"""The conditions of alarms: what each finds in the readings."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from operations.alarm_rule import Finding
from operations.readings.present import Readings
from operations.readings.processes import DUTIES, SERVER_DUTIES, ProcessReading
from operations.readings.servers import DiskReading
from shared_state.outages import FULL_BYTES
from staff.formatting import counted, duration, grouped, in_units, size_of

_DUTIES = DUTIES | SERVER_DUTIES
SLOTS_BEHIND = 50
UNSTORED = timedelta(seconds=60)
# Lengths above which a queue is an alarm: its workers do not keep up.
QUEUES = {"default": 200, "ingest": 200, "simulations": 200}
ACCEPTED = 1_000
FOLLOWER_SLOTS = 200
FAILED_SHARE, CALLS_PER_SECOND = 0.01, 0.1
LANDED_SHARE, SETTLED = 0.5, 20
REDIS_SHARE = 0.8
SLOW_MILLISECONDS = 100.0
SWEEP_PATIENCE = timedelta(minutes=10)
DISK_FREE, DISK_SHARE = 5_000_000_000, 0.1
# What one text lists.
MOST_NAMED = 6
# Three samples in a row are missing.
CLOCK_PATIENCE = timedelta(seconds=45)


def chain_behind(now: Readings) -> Iterator[Finding]:
    behind = now.chain.behind
    if behind is not None and behind > SLOTS_BEHIND:
        yield Finding("", f"What is stored is {counted(behind, 'slot')} behind the chain.")


def storing_stopped(now: Readings) -> Iterator[Finding]:
    unstored = timedelta(seconds=now.chain.unstored_seconds)
    if unstored > UNSTORED:
        waiting = counted(now.chain.waiting_slots, "slot")
        verb = "waits" if now.chain.waiting_slots == 1 else "wait"
        text = f"Nothing has been stored for {duration(unstored)}: {waiting} {verb}."
        yield Finding("", f"{text}{follows(now, 'ingest')}")


def stream_silent(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "silent":
        silent = now.chain.silent_seconds
        since = "since it connected"
        if silent is not None:
            since = f"for {duration(timedelta(seconds=silent))}"
        yield Finding("", f"The {now.chain.source} is connected and has sent nothing {since}.")


def stream_lost(now: Readings) -> Iterator[Finding]:
    if now.chain.stream == "not connected":
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"The chain is not followed, its source is not connected{why}")


def streams_down(now: Readings) -> Iterator[Finding]:
    if now.chain.stream != "not connected" and (count := now.chain.streams_down):
        verb = "is" if count == 1 else "are"
        why = f": {now.chain.problem}" if now.chain.problem else "."
        yield Finding("", f"{grouped(count)} of the streams {verb} not connected{why}")


def gaps_open(now: Readings) -> Iterator[Finding]:
    for store in ("ledger", "archive"):
        old = [each for each in now.chain.gaps if each.store == store and each.old]
        if old:
            slots, gaps = sum(each.slots for each in old), sum(each.old for each in old)
            causes = ", ".join(sorted({each.cause.replace("_", " ") for each in old}))
            verb = "is" if gaps == 1 else "are"
            about = f"about {counted(slots, 'slot')} ({causes})"
            text = f"{counted(gaps, 'gap')} {verb} not filled, {about}."
            yield Finding(store, text)


def archive_damaged(now: Readings) -> Iterator[Finding]:
    for each in now.chain.damage:
        more = f", and {each.count - 1:,} more" if each.count > 1 else ""
        yield Finding(each.store, f"Sealed data of the {each.store}: {each.lowest}{more}.")


def divergences(now: Readings) -> Iterator[Finding]:
    if count := now.chain.divergences:
        yield Finding("", f"The replay of {counted(count, 'transaction')} differs from the chain.")


def rules_missing(now: Readings) -> Iterator[Finding]:
    if found := now.rules.of_kind("feature"):
        named = "; ".join(each.name or each.address for each in found[:MOST_NAMED])
        more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        text = f"The chain has {counted(len(found), 'rule')} that this build does not have"
        yield Finding("", f"{text}: {named}{more}.")


def class_unavailable(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if not each.is_available:
            name = in_units(each.ttl_seconds)
            text = f"No tip address of the class of {name} can be fetched."
            yield Finding(name, f"{text}{follows(now, 'worker', 'beat')}")


def class_running_dry(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if each.is_available and not each.prepared:
            name = in_units(each.ttl_seconds)
            text = (
                f"No batch is prepared for the class of {name}, whose open one has"
                f" {grouped(each.left)} of {grouped(each.size)} addresses left."
            )
            yield Finding(name, f"{text}{follows(now, 'worker', 'beat')}")


def sweep_stuck(now: Readings) -> Iterator[Finding]:
    if now.tips.unswept:
        count = counted(now.tips.unswept, "expired batch", "expired batches")
        yield Finding("batches", f"Not swept: {count}.{follows(now, 'worker', 'beat')}")
    oldest = now.tips.oldest_sweep_at
    if oldest is not None and now.at - oldest > SWEEP_PATIENCE:
        yield Finding("sweeps", f"A sweep has been in progress for {duration(now.at - oldest)}.")


def upstream_broken(now: Readings) -> Iterator[Finding]:
    for each in now.landing.upstreams:
        if each.is_enabled and each.broken_until is not None and each.broken_until > now.at:
            text = f"Nothing is sent to {each.name}: {each.broken_reason or 'it fails'}."
            yield Finding(each.name, text)


def no_upstream(now: Readings) -> Iterator[Finding]:
    enabled = [each for each in now.landing.upstreams if each.is_enabled]
    if not enabled:
        yield Finding("", "No upstream is enabled: accepted submissions will expire.")
    elif all(each.broken_until and each.broken_until > now.at for each in enabled):
        yield Finding(
            "", "The circuit breakers of all upstreams are open: accepted submissions wait."
        )


def landing_low(now: Readings) -> Iterator[Finding]:
    rate, settled = now.landing.rate, now.landing.settled
    if rate is not None and settled >= SETTLED and rate < LANDED_SHARE:
        text = f"{100 * rate:.0f}% of the last {grouped(settled)} settled submissions landed."
        yield Finding("", text)


def landing_behind(now: Readings) -> list[Finding] | None:
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


def process_missing(now: Readings) -> list[Finding] | None:
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
        text += each.restarted(at)
        found.append(Finding(each.kind, text, f"{each.kind} {each.trouble}"))
    return found


def clock_differs(now: Readings) -> Iterator[Finding]:
    off = [(each.kind, *clock) for each in now.processes or () for clock in each.clocks]
    if not off:
        return
    named = "; ".join(_clock(*each) for each in off[:MOST_NAMED])
    more = f", and {len(off) - MOST_NAMED} more" if len(off) > MOST_NAMED else ""
    yield Finding("", f"Not the time that Valkey has: {named}{more}.")


def _clock(kind: str, process: str, ahead: float) -> str:
    host, _, pid = process.rpartition("|")
    which, off = "ahead" if ahead > 0 else "behind", timedelta(seconds=round(abs(ahead)))
    return f"the {kind} process {pid} on {host} is {duration(off)} {which}"


def clock_stopped(now: Readings) -> Iterator[Finding]:
    if now.database.problem:  # no sample can be stored, by any process
        return
    if now.sampled_at is not None and now.at - now.sampled_at >= CLOCK_PATIENCE:
        since = duration(now.at - now.sampled_at)
        text = f"Periodic tasks have not run for {since}; a web process checks the rules instead."
        if waits_for_worker(now):
            text += f" Beat is alive; its tasks wait for the worker.{follows(now, 'worker')}"
        yield Finding("", text)


def waits_for_worker(now: Readings) -> bool:
    """Whether beat starts periodic tasks, and no worker runs them."""
    return bool(_unable(now, "worker")) and not _unable(now, "beat")


def follows(now: Readings, *kinds: str) -> str:
    """A sentence on the processes of the kinds that are all missing or hung; empty for none."""
    causes = [f"the {each.kind} is {each.trouble}" for each in _unable(now, *kinds)]
    return f" This follows from: {' and '.join(causes)}." if causes else ""


def _unable(now: Readings, *kinds: str) -> list[ProcessReading]:
    processes = now.processes or ()
    return [each for each in processes if each.kind in kinds and each.trouble and not each.alive]


def queue_deep(now: Readings) -> list[Finding] | None:
    if now.redis is None:
        return None
    found = [
        Finding(queue, f"{grouped(waiting)} tasks wait in the queue “{queue}”.")
        for queue, waiting in now.redis.queues.items()
        if waiting > QUEUES[queue]
    ]
    accepted, slots = now.landing.waiting or 0, now.chain.waiting_slots
    if accepted > ACCEPTED:
        text = f"{grouped(accepted)} accepted submissions wait for a lander or are not settled."
        found.append(Finding("accepted", text))
    if slots > FOLLOWER_SLOTS:
        found.append(Finding("follower", f"{grouped(slots)} slots wait to be stored."))
    return found


def fullest_queue(now: Readings) -> float:
    """How long the longest queue is, as a share of the length from which it is an alarm."""
    lengths = {} if now.redis is None else now.redis.queues
    shares = [waiting / QUEUES[queue] for queue, waiting in lengths.items()]
    shares += [(now.landing.waiting or 0) / ACCEPTED, now.chain.waiting_slots / FOLLOWER_SLOTS]
    return max(shares)


def errors_high(now: Readings) -> list[Finding] | None:
    calls = now.calls
    if calls is None or calls.per_second is None:
        return None
    share = calls.failed_share or 0.0
    if calls.per_second < CALLS_PER_SECOND or share <= FAILED_SHARE:
        return []
    named = ", ".join(
        f"{reason} ({grouped(count)})" for reason, count in calls.reasons[:MOST_NAMED]
    )
    why = f": {named}" if named else ""
    return [Finding("", f"{100 * share:.1f}% of calls fail by the service's own fault{why}.")]


def disk_low(now: Readings) -> Iterator[Finding]:
    if _is_low(now.disk):
        free, total = size_of(now.disk.free), size_of(now.disk.total)
        yield Finding("", f"{free} of {total} are free for the run directory.")
    disk = now.database.disk
    if disk is not None and _is_low(disk):
        text = f"{size_of(disk.free)} of {size_of(disk.total)} are free for PostgreSQL."
        yield Finding("database", text)


def _is_low(disk: DiskReading) -> bool:
    return disk.free < disk.total * DISK_SHARE and disk.free < DISK_FREE


def redis_memory(now: Readings) -> list[Finding] | None:
    if now.redis is None:
        return None
    used, most = now.redis.used, now.redis.most
    if not most or used < REDIS_SHARE * most:
        return []
    text = f"Valkey uses {size_of(used)} of at most {size_of(most)}; once full, it refuses writes."
    return [Finding("", text)]


def redis_down(now: Readings) -> Iterator[Finding]:
    if now.redis is None:
        yield Finding("", "Valkey does not answer: limits, queues and landing do not work.")
    elif not now.redis.takes_writes:
        why = "the disk is full" if now.disk.free < FULL_BYTES else "its disk is full or broken"
        yield Finding("", f"Valkey cannot write, {why}: limits, queues and landing do not work.")


def database_down(now: Readings) -> Iterator[Finding]:
    if now.database.problem:
        yield Finding("", database_sentence(now.database.problem))


def database_sentence(problem: str) -> str:
    """What an outage of the database means."""
    return f"{problem}: nothing new is stored, and fates stay open."


def database_slow(now: Readings) -> Iterator[Finding]:
    if now.database.milliseconds > SLOW_MILLISECONDS:
        text = f"PostgreSQL takes {now.database.milliseconds:.0f} ms for an empty query."
        yield Finding("", text)


def webhook_failing(now: Readings) -> Iterator[Finding]:
    for name in now.alerts.failing:
        yield Finding(name, f"Deliveries to the webhook {name} fail.")


def deliveries_late(now: Readings) -> Iterator[Finding]:
    if late := now.alerts.late:
        count = counted(late, "delivery", "deliveries")
        yield Finding("", f"{count} overdue by minutes: mails and webhooks about events are late.")
