"""Records of imported files.

A running import holds a lock of its row's number on its connection, which falls with the process:
a row that says running without one was left by a process that was killed.
"""

from datetime import datetime

from django.db import transaction

from historical.models import Import
from historical.recording.services.recording import Recorded
from historical.recording.store import import_locks


def begin(file: str, *, now: datetime) -> Import:
    """A new row; rows of killed imports are marked as failed on the way."""
    for left in import_locks.running():
        if import_locks.take(left.pk):
            if import_locks.is_running(left):
                fail(left, "stopped: the importing process was killed", now=now)
            else:
                import_locks.drop(left.pk)  # it finished after its row was read
    with transaction.atomic():  # no one sees the row before its lock is held
        entry = import_locks.create(file, now)
        import_locks.take(entry.pk)
    return entry


def note(entry: Import, recorded: Recorded) -> None:
    """What has been recorded so far, of a file that is brought in run by run."""
    entry.blocks_recorded = recorded.recorded
    entry.blocks_present = recorded.present
    entry.transactions_recorded = recorded.transactions
    entry.first_slot = recorded.first_slot
    entry.last_slot = recorded.last_slot
    entry.save()


def finish(
    entry: Import, recorded: Recorded, *, file_format: str, warnings: list[str], now: datetime
) -> None:
    entry.format = file_format
    entry.state = Import.State.DONE
    entry.finished_at = now
    entry.warnings = "\n".join(warnings)
    note(entry, recorded)
    import_locks.drop(entry.pk)


def fail(entry: Import, reason: str, *, now: datetime) -> None:
    entry.state = Import.State.FAILED
    entry.finished_at = now
    entry.failure = reason
    entry.save()
    import_locks.drop(entry.pk)
