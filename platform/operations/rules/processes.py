"""The rules about processes, their queues, and calls that fail."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from operations.readings.present import Readings
from operations.readings.processes import DUTIES, REMEDY, SERVER_DUTIES, ProcessReading
from operations.rules.commands import DOCTOR, Command, of_process
from operations.rules.rule import (
    ALL,
    CALLING,
    CRITICAL,
    FOLLOWING,
    LANDING,
    ROOM,
    WARNING,
    Finding,
    Place,
    Rule,
)
from staff.formatting import duration, grouped

_DUTIES = DUTIES | SERVER_DUTIES
# Lengths above which a queue is an alarm: its workers do not keep up.
QUEUES = {"default": 200, "ingest": 200, "simulations": 200}
UNSENT = 1_000
FOLLOWER_SLOTS = 200
FAILED_SHARE, CALLS_PER_SECOND = 0.01, 0.1
# What one text lists.
MOST_NAMED = 6
# Three samples in a row are missing.
CLOCK_PATIENCE = timedelta(seconds=45)
_HANGS_AGAIN = "A process hangs again"
_PROCESSES = {
    "localnet": Place(FOLLOWING + LANDING, ("chain", "submissions")),
    "follower": Place(FOLLOWING + LANDING, ("chain", "submissions")),
    "ingest": Place(FOLLOWING, ("chain", "queues")),
    "lander": Place(LANDING, ("submissions", "landers", "queues")),
    "web": Place(CALLING, ("failures",)),
    "grpc": Place(CALLING, ("failures",)),
    "worker": Place(cards=("queues",)),
    "simulations": Place(cards=("queues",)),
    "postgres": Place(ALL, ("servers",)),
    "valkey": Place(ALL, ("servers",)),
}
_QUEUES = {
    "ingest": Place(FOLLOWING),
    "follower": Place(FOLLOWING),
    "accepted": Place(LANDING, ("landers",)),
}
# The process that empties each; the worker all others.
_WORKERS = {
    "ingest": "ingest",
    "simulations": "simulations",
    "accepted": "lander",
    "follower": "ingest",
}


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
        text += each.restarted(at)
        found.append(Finding(each.kind, text, f"{each.kind} {each.trouble}"))
    return found


def _clock_differs(now: Readings) -> Iterator[Finding]:
    off = [(each.kind, *clock) for each in now.processes or () for clock in each.clocks]
    if not off:
        return
    named = "; ".join(_clock(*each) for each in off[:MOST_NAMED])
    more = f", and {len(off) - MOST_NAMED} more" if len(off) > MOST_NAMED else ""
    yield Finding("", f"Clocks differ from Valkey's: {named}{more}.")


def _clock(kind: str, process: str, ahead: float) -> str:
    host, _, pid = process.rpartition("|")
    which, off = "ahead" if ahead > 0 else "behind", timedelta(seconds=round(abs(ahead)))
    return f"the {kind} process {pid} on {host} is {duration(off)} {which}"


def _clock_stopped(now: Readings) -> Iterator[Finding]:
    if now.database.problem:  # no sample can be stored, by any process
        return
    if now.sampled_at is not None and now.at - now.sampled_at >= CLOCK_PATIENCE:
        since = duration(now.at - now.sampled_at)
        text = f"Periodic tasks have not run for {since}. A web process checks the rules instead."
        if waits_for_worker(now):
            text += f" Beat is alive; its tasks wait for the worker.{follows(now, 'worker')}"
        yield Finding("", text)


def waits_for_worker(now: Readings) -> bool:
    """Whether beat starts periodic tasks, and no worker runs them."""
    return bool(_unable(now, "worker")) and not _unable(now, "beat")


def follows(now: Readings, *kinds: str) -> str:
    """A sentence on the processes of the kinds that are all missing or hung; empty for none."""
    causes = [f"the {each.kind} is {each.trouble}" for each in _unable(now, *kinds)]
    return f" The cause: {' and '.join(causes)}." if causes else ""


def _unable(now: Readings, *kinds: str) -> list[ProcessReading]:
    processes = now.processes or ()
    return [each for each in processes if each.kind in kinds and each.trouble and not each.alive]


def _queue_deep(now: Readings) -> list[Finding] | None:
    if now.redis is None:
        return None
    found = [
        Finding(queue, f"{grouped(waiting)} tasks wait in the queue “{queue}”.")
        for queue, waiting in now.redis.queues.items()
        if waiting > QUEUES[queue]
    ]
    unsent, slots = _unsent(now), now.chain.waiting_slots
    if unsent > UNSENT:
        text = f"{grouped(unsent)} accepted submissions wait to be sent."
        found.append(Finding("accepted", text))
    if slots > FOLLOWER_SLOTS:
        found.append(Finding("follower", f"{grouped(slots)} slots wait to be stored."))
    return found


def _unsent(now: Readings) -> int:
    """Not those that are sent already: how long these take is up to the chain and their senders."""
    return 0 if now.landing.queue is None else now.landing.queue.unsent


def fullest_queue(now: Readings) -> float:
    """How long the longest queue is, as a share of the length from which it is an alarm."""
    lengths = {} if now.redis is None else now.redis.queues
    shares = [waiting / QUEUES[queue] for queue, waiting in lengths.items()]
    shares += [_unsent(now) / UNSENT, now.chain.waiting_slots / FOLLOWER_SLOTS]
    return max(shares)


def _errors_high(now: Readings) -> list[Finding] | None:
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
    return [Finding("", f"{100 * share:.1f}% of calls fail because of the service itself{why}.")]


def _clocks(_subject: str, now: Readings) -> list[Command]:
    kinds = ("worker",) if waits_for_worker(now) else ("worker", "beat")
    return list(dict.fromkeys(each for kind in kinds for each in of_process(kind)))


RULES = (
    Rule(
        name="process_missing",
        severity=CRITICAL,
        holds=0,
        calm=5,
        title="A process is missing or hung",
        meaning="The alarm states which work is not done.",
        incident="A part of the service stopped. Its work is delayed.",
        begins="A process that should run is missing, or makes no progress",
        advice=REMEDY,
        check=_process_missing,
        at=Place(ROOM, ("processes",)),
        subjects=_PROCESSES,
        runbook=_HANGS_AGAIN,
        command=lambda kind, _: of_process(kind),
        of_a_run=True,
    ),
    Rule(
        name="clock_differs",
        severity=WARNING,
        holds=10,
        calm=10,
        title="A clock is off",
        meaning="Times that the process writes are wrong: received, sent, expired. Heartbeats,"
        " samples and alarms use Valkey's clock.",
        incident="",
        begins="The clock of a process differs from Valkey's by a second or more",
        advice="Synchronize the clock of the machine by NTP. If that does not help, restart the"
        " process. If every process is listed, Valkey's own clock is wrong.",
        check=_clock_differs,
        at=Place(ROOM, ("processes",)),
        command=Command("timedatectl", "Shows whether NTP synchronizes the clock of this machine."),
    ),
    Rule(
        name="clock_stopped",
        severity=CRITICAL,
        holds=30,
        calm=20,
        title="Periodic tasks do not run",
        meaning="Periodic tasks do not run: tip batches are not rotated or swept, and the worker"
        " sends no mail.",
        incident="Background work is delayed, such as new tip addresses and notifications.",
        begins=f"The worker has not checked the rules for {duration(CLOCK_PATIENCE)}",
        advice="Restart worker or beat, whichever is missing or hung. If neither is, restart the"
        " worker. Tip batches are rotated and swept only while both run.",
        check=_clock_stopped,
        at=Place(ROOM, ("processes",)),
        runbook=_HANGS_AGAIN,
        command=_clocks,
        of_a_run=True,
    ),
    Rule(
        name="queue_deep",
        severity=WARNING,
        holds=30,
        calm=30,
        title="A queue is long",
        meaning="Work in the queue is delayed.",
        incident="Background work is delayed.",
        begins=f"More than {QUEUES['default']} tasks wait in a queue, more than {grouped(UNSENT)}"
        f" accepted submissions are not sent, or more than {FOLLOWER_SLOTS} slots are not"
        " stored",
        advice="Workers are down or too slow: check Processes, or raise WORKER_PROCESSES.",
        check=_queue_deep,
        at=Place(ROOM, ("queues",)),
        subjects=_QUEUES,
        command=lambda queue, _: of_process(_WORKERS.get(queue, "worker")),
        of_a_run=True,
    ),
    Rule(
        name="errors_high",
        severity=CRITICAL,
        holds=20,
        calm=60,
        title="Calls fail",
        meaning="Customers get errors that the service caused. These calls are not counted.",
        incident="Some calls fail because of the service. These calls are not counted.",
        begins=f"More than {FAILED_SHARE:.0%} of calls fail because of the service itself, at"
        f" {CALLS_PER_SECOND:g} calls a second or more",
        advice="Usage shows which methods fail and why. The log has request ids and tracebacks.",
        check=_errors_high,
        at=Place(CALLING, ("failures",), "access_usageminute_changelist"),
        command=DOCTOR,
    ),
)
