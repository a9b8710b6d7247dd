"""The rules about the proof."""

from collections.abc import Iterator

from operations.readings.present import Readings
from operations.rules.commands import DOCTOR, MANAGE, Command
from operations.rules.rule import CRITICAL, FOLLOWING, WARNING, Finding, Place, Rule
from staff.formatting import slot_range

_RUNS = "rewind_proofrun_changelist"


def _refuted(now: Readings) -> Iterator[Finding]:
    if refuted := now.proof.refuted:
        first, last = refuted[0]
        more = f", and {len(refuted) - 1} more" if len(refuted) > 1 else ""
        yield Finding(
            "", f"The cluster voted for another state of {slot_range(first, last)}{more}."
        )


def _failing(now: Readings) -> Iterator[Finding]:
    if now.proof.fault:
        yield Finding("", f"The proof has stopped: {now.proof.fault}")


def _stakes_differ(now: Readings) -> Iterator[Finding]:
    if now.proof.stakes_differ:
        yield Finding("", now.proof.stakes_differ)


def _locate(_subject: str, now: Readings) -> list[Command]:
    if not now.proof.refuted:
        return []
    slot = now.proof.refuted[0][0]
    return [Command(f"{MANAGE} locate_refuted {slot}", "Lists the accounts that differ.")]


RULES = (
    Rule(
        name="proof_refuted",
        severity=CRITICAL,
        holds=0,
        calm=0,
        title="A slot is refuted",
        meaning="The archive's state of the slot differs from the state that the cluster voted"
        " for.",
        incident="The archive's state of a slot differs from the state that the cluster voted for.",
        begins="More than two thirds of the stake voted for another state of a slot",
        advice="A write of the slot is missing, wrong or misplaced. The worker compares it with the"
        " streams once, and fetches it again if a stream differs: see Range orders. If it stays"
        " refuted, run manage.py locate_refuted SLOT with --node or --snapshot to list the"
        " accounts, and with --open-gap to open the slot as a gap. It is computed again once it is"
        " recorded again.",
        check=_refuted,
        at=Place(FOLLOWING, ("chain",), _RUNS),
        query="state=refuted",
        command=_locate,
    ),
    Rule(
        name="proof_failing",
        severity=WARNING,
        holds=60,
        calm=30,
        title="The proof fails",
        meaning="New slots are not proven until the proof continues.",
        incident="New slots are proven later than usual.",
        begins="The task that proves slots, or the one that counts stakes, fails",
        advice="Nothing is lost: slots wait to be proven. See the worker's log for details.",
        check=_failing,
        at=Place(FOLLOWING, ("chain",), _RUNS),
        command=DOCTOR,
    ),
    Rule(
        name="stakes_differ",
        severity=WARNING,
        holds=0,
        calm=0,
        title="Stakes differ",
        meaning="The weight of votes in an epoch is uncertain.",
        incident="",
        begins="A snapshot's stakes differ from those computed from the archive's own accounts",
        advice="The snapshot's stakes stay in use. Import a snapshot of the same epoch from another"
        " node: manage.py import_snapshot FILE --replace-stakes uses its stakes.",
        check=_stakes_differ,
        at=Place(FOLLOWING, ("chain",), _RUNS),
    ),
)
