"""The rules about sealing, about damage checks, and about dropping old slots."""

from collections.abc import Iterator

from operations.readings.present import Readings
from operations.rules.commands import DOCTOR, MANAGE, Command
from operations.rules.rule import ROOM, WARNING, Finding, Place, Rule
from rewind.recording.store.partitions import PARTITION_SLOTS
from staff.formatting import counted, duration, grouped

_SEGMENTS = "rewind_sealedsegment_changelist"
_LEDGER = {"ledger": Place(page="historical_sealedrange_changelist")}


def _sealing_behind(now: Readings) -> Iterator[Finding]:
    for each in now.sealing.stores:
        if each.lag is not None and each.waiting and each.lag > each.limit:
            what = "partition" if each.store == "archive" else "range"
            verb = "is" if each.waiting == 1 else "are"
            text = (
                f"{counted(each.waiting, f'finished {what}')} of the {each.store} {verb} not"
                f" sealed, the oldest has been finished for {grouped(each.lag)} slots."
            )
            yield Finding(each.store, text)


def _sealing_failing(now: Readings) -> Iterator[Finding]:
    return _failing(now, ("seal_archive", "move_archive", "seal_ledger"))


def _retention_failing(now: Readings) -> Iterator[Finding]:
    return _failing(now, ("prune_archive", "prune_ledger"))


def _scrub_failing(now: Readings) -> Iterator[Finding]:
    return _failing(now, ("scrub_archive", "scrub_ledger"))


def _failing(now: Readings, tasks: tuple[str, ...]) -> Iterator[Finding]:
    for each in now.sealing.faults:
        if each.task in tasks:
            since = duration(now.at - each.since)
            text = f"{each.task} has failed {counted(each.runs, 'time')} in {since}: {each.reason}"
            yield Finding(each.store, text)


RULES = (
    Rule(
        name="sealing_behind",
        severity=WARNING,
        holds=3_600,
        calm=60,
        title="Sealing is behind",
        meaning="Finished slots take many times the space of sealed ones.",
        incident="",
        begins="A finished partition of the archive has waited for another partition's length"
        f" ({grouped(PARTITION_SLOTS)} slots), or a finished range of the ledger for"
        " LEDGER_SEAL_SLOTS",
        advice="Raise ARCHIVE_SEALING_PERCENT or LEDGER_SEAL_PERCENT, or check the worker and the"
        " load of the database.",
        check=_sealing_behind,
        at=Place(ROOM, ("space",), _SEGMENTS),
        subjects=_LEDGER,
        command=DOCTOR,
    ),
    Rule(
        name="sealing_failing",
        severity=WARNING,
        holds=30,
        calm=30,
        title="Sealing fails",
        meaning="Slots that are not sealed or moved stay readable, but take more space.",
        incident="",
        begins="The task that seals, or moves to the object store, fails",
        advice="Nothing is lost. The reason names the block, segment or object; see the log for"
        " details. To check the object store, run manage.py archive_store check.",
        check=_sealing_failing,
        at=Place(ROOM, ("space",), _SEGMENTS),
        subjects=_LEDGER,
        command=Command(f"{MANAGE} archive_store check", "Checks the object store."),
    ),
    Rule(
        name="scrub_failing",
        severity=WARNING,
        holds=300,
        calm=30,
        title="Sealed data is not checked for damage",
        meaning="The check of sealed data stops at the same place each time: what lies behind it is"
        " not checked.",
        incident="",
        begins="The task that reads sealed data through for damage fails",
        advice="If the reason is an invalid page, PostgreSQL's disk returned other bytes than were"
        " written, and calls that need this page fail. Restore the database from a backup or a"
        " standby.",
        check=_scrub_failing,
        at=Place(ROOM, ("space",), _SEGMENTS),
        subjects=_LEDGER,
        command=DOCTOR,
    ),
    Rule(
        name="retention_failing",
        severity=WARNING,
        holds=300,
        calm=30,
        title="Old slots are not dropped",
        meaning="Slots below the window stay, and take space.",
        incident="",
        begins="The task that drops old slots fails",
        advice="The reason names the segment, block or object. Repair it, or fix the object store."
        " The next run then continues automatically.",
        check=_retention_failing,
        at=Place(ROOM, ("space",), _SEGMENTS),
        subjects=_LEDGER,
    ),
)
