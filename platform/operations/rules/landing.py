"""The rules about landing, and about the tip addresses that it needs."""

from collections.abc import Iterator
from datetime import timedelta

from operations.readings.landing import WINDOW
from operations.readings.present import Readings
from operations.rules.commands import MANAGE, Command
from operations.rules.processes import follows
from operations.rules.rule import (
    CALLING,
    CRITICAL,
    LANDING,
    WARNING,
    Finding,
    Place,
    Press,
    Rule,
)
from staff.formatting import counted, duration, grouped, in_units
from tipping.models import TtlClass
from tipping.services.desk import batches_to_sweep

REACHED_SHARE, SETTLED = 0.5, 20
SWEEP_PATIENCE = timedelta(minutes=10)
_UPSTREAMS, _CLASSES = "priority_upstream_changelist", "tipping_ttlclass_changelist"
_TIPS_RUN_OUT = "Tip addresses run out"


def _class_unavailable(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if not each.is_available:
            name = in_units(each.ttl_seconds)
            text = f"No tip address of the class of {name} can be fetched."
            yield Finding(name, f"{text}{follows(now, 'worker', 'beat')}")


def _class_running_dry(now: Readings) -> Iterator[Finding]:
    for each in now.tips.classes:
        if each.is_available and not each.prepared:
            name = in_units(each.ttl_seconds)
            text = (
                f"No batch is prepared for the class of {name}. Its open batch has"
                f" {grouped(each.left)} of {grouped(each.size)} addresses left."
            )
            yield Finding(name, f"{text}{follows(now, 'worker', 'beat')}")


def _sweep_stuck(now: Readings) -> Iterator[Finding]:
    if now.tips.unswept:
        count = counted(now.tips.unswept, "expired batch", "expired batches")
        yield Finding("batches", f"Not swept: {count}.{follows(now, 'worker', 'beat')}")
    oldest = now.tips.oldest_sweep_at
    if oldest is not None and now.at - oldest > SWEEP_PATIENCE:
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
    reached = now.landing.others_reached
    settled = reached + now.landing.others_lost
    if settled >= SETTLED and reached < REACHED_SHARE * settled:
        text = (
            f"{100 * reached / settled:.0f}% of the last {grouped(settled)} submissions reached a"
            " block, without the customer who lost the most if there are several."
        )
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


def _upstreams(_subject: str, now: Readings) -> Iterator[Press]:
    for each in now.landing.upstreams:
        if not each.is_enabled and each.id is not None:
            yield Press("enable", each.name, f" {each.name}")
        elif each.broken_until is not None and each.broken_until > now.at:
            yield Press("reset-breaker", each.name, f" of {each.name}")


def _sweeps(_subject: str, now: Readings) -> Iterator[Press]:
    for row in TtlClass.objects.order_by("ttl_seconds"):
        if batches_to_sweep(row, now=now.at):
            name = in_units(row.ttl_seconds)
            yield Press("sweep", name, f" ({name})")


RULES = (
    Rule(
        name="class_unavailable",
        severity=CRITICAL,
        holds=10,
        calm=10,
        title="A tip class is unavailable",
        meaning="Customers get the error unavailable (HTTP 503) for tip addresses of the class.",
        incident="Some tip addresses are unavailable (HTTP 503).",
        begins="The class does not have an open batch with addresses left, so fetches fail",
        advice="On TTL classes, press Prepare and then Rotate now for the class. The worker"
        " normally does both within seconds: check that worker and beat run.",
        check=_class_unavailable,
        at=Place(LANDING + CALLING, ("addresses", "failures"), _CLASSES),
        runbook=_TIPS_RUN_OUT,
        buttons=lambda subject, _: (Press("prepare", subject), Press("rotate", subject)),
        of_a_run=True,
    ),
    Rule(
        name="class_running_dry",
        severity=WARNING,
        holds=30,
        calm=15,
        title="A tip class runs dry",
        meaning="The class becomes unavailable when its open batch is used up or its window ends.",
        incident="Some tip addresses may become unavailable.",
        begins="The class has an open batch, but no prepared one",
        advice="On TTL classes, press Prepare for the class. The worker normally keeps two batches"
        " prepared: check that worker and beat run. If they do and the alarm returns, raise its"
        " batch size.",
        check=_class_running_dry,
        at=Place(LANDING + CALLING, ("addresses",), _CLASSES),
        runbook=_TIPS_RUN_OUT,
        buttons=lambda subject, _: (Press("prepare", subject),),
        of_a_run=True,
    ),
    Rule(
        name="sweep_stuck",
        severity=WARNING,
        holds=60,
        calm=30,
        title="Tips are not swept",
        meaning="Tips stay on expired addresses instead of reaching the treasury. Nothing is lost.",
        incident="",
        begins="An expired batch has not been swept a minute after TIP_SWEEP_AFTER_SECONDS, or a"
        " sweep has"
        f" been in progress for more than {duration(SWEEP_PATIENCE)}",
        advice="The notes on the batches give the reason. The node must answer, and a sweep must"
        " land.",
        check=_sweep_stuck,
        at=Place(LANDING, ("addresses",), "tipping_tipsweep_changelist"),
        buttons=_sweeps,
        of_a_run=True,
    ),
    Rule(
        name="no_upstream",
        severity=CRITICAL,
        holds=10,
        calm=20,
        title="No upstream",
        meaning="Nothing is sent: accepted submissions wait, or expire.",
        incident="Transactions are not sent to the chain: accepted submissions wait, or expire.",
        begins="No upstream is enabled, or the circuit breakers of all enabled ones are open",
        advice="Enable an upstream, or reset a circuit breaker once its cause is fixed.",
        check=_no_upstream,
        at=Place(LANDING, ("submissions", "landers"), _UPSTREAMS),
        buttons=_upstreams,
        by_doctor=False,
    ),
    Rule(
        name="upstream_broken",
        severity=WARNING,
        holds=20,
        calm=30,
        title="An upstream is broken",
        meaning="Nothing is sent to this upstream. The others are still used.",
        incident="",
        begins="The circuit breaker of an enabled upstream is open",
        advice="It is retried automatically. On its page, reset its circuit breaker or disable it.",
        check=_upstream_broken,
        at=Place(LANDING, ("landers",), _UPSTREAMS),
        buttons=lambda subject, _: (Press("reset-breaker", subject),),
    ),
    Rule(
        name="landing_low",
        severity=WARNING,
        holds=60,
        calm=60,
        title="Little lands",
        meaning="Many transactions of customers do not reach a block.",
        incident="Fewer transactions than usual land.",
        begins=f"Of at least {SETTLED} submissions that settled in {duration(WINDOW)}, less than"
        f" {REACHED_SHARE:.0%} reached a block, with or without an error. Of several customers, the"
        " one who lost the most does not count, nor do losses for a sender's own reason, such as a"
        " moved nonce",
        advice="Each submission shows its reason, such as an expired blockhash or an upstream in"
        " cooldown. For the share of a single customer, make an event rule.",
        check=_landing_low,
        at=Place(LANDING, ("submissions",), "priority_submission_changelist"),
    ),
    Rule(
        name="landing_behind",
        severity=CRITICAL,
        holds=10,
        calm=30,
        title="Landing is behind",
        meaning="New submissions are refused (landing_behind): they would be sent too late.",
        incident="New submissions are refused, because they would be sent too late.",
        begins="The oldest unsent submission has waited for longer than a third of"
        " LANDING_BEHIND_SLOTS",
        advice="Check that landers run and upstreams answer. If a lander is busy, start another.",
        check=_landing_behind,
        at=Place(LANDING, ("submissions", "landers"), _UPSTREAMS),
        command=Command(f"{MANAGE} land", "Starts one more lander, until Ctrl-C."),
    ),
)
