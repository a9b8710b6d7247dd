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
        yield Finding("", f"The proof does not go on: {now.proof.fault}")


def _stakes_differ(now: Readings) -> Iterator[Finding]:
    if now.proof.stakes_differ:
        yield Finding("", now.proof.stakes_differ)


def _locate(_subject: str, now: Readings) -> list[Command]:
    if not now.proof.refuted:
        return []
    slot = now.proof.refuted[0][0]
    return [Command(f"{MANAGE} locate_refuted {slot}", "Names the accounts that differ.")]


RULES = (
    Rule(
        *("proof_refuted", CRITICAL, 0, 0, "A slot is refuted"),
        "The archive has another state of the slot than the cluster voted for.",
        "More than two thirds of the stake voted for another state of a slot",
        "A write of the slot is missing, wrong or misplaced. It is compared with the streams once,"
        " and fetched again where one has it otherwise: see Range orders. If it stays refuted:"
        " manage.py locate_refuted SLOT with --node or --snapshot names the accounts, and opens the"
        " slot as a gap with --open-gap. It is computed again once it is recorded again.",
        _refuted,
        Place(FOLLOWING, ("chain",), _RUNS),
        query="state=refuted",
        command=_locate,
    ),
    Rule(
        *("proof_failing", WARNING, 60, 30, "The proof fails"),
        "New slots are not proven until it goes on.",
        "The task that proves slots, or the one that counts stakes, fails",
        "Nothing is lost: slots wait to be proven. The log of the worker has the rest.",
        _failing,
        Place(FOLLOWING, ("chain",), _RUNS),
        command=DOCTOR,
    ),
    Rule(
        *("stakes_differ", WARNING, 0, 0, "Stakes differ"),
        "What votes weigh in an epoch is not certain.",
        "A snapshot has other stakes than those that follow from the archive's own accounts",
        "The snapshot's stakes stay. Import another snapshot of the same epoch, from another node:"
        " manage.py import_snapshot FILE takes its stakes with --replace-stakes.",
        _stakes_differ,
        Place(FOLLOWING, ("chain",), _RUNS),
    ),
)
