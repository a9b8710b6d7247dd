"""The record of files brought in."""

from datetime import datetime

from historical.models import Import
from historical.services.recording import Recorded


def begin(file: str, *, now: datetime) -> Import:
    return Import.objects.create(file=file, started_at=now)


def finish(
    entry: Import, recorded: Recorded, *, file_format: str, warnings: list[str], now: datetime
) -> None:
    entry.format = file_format
    entry.state = Import.State.DONE
    entry.finished_at = now
    entry.blocks_recorded = recorded.recorded
    entry.blocks_present = recorded.present
    entry.transactions_recorded = recorded.transactions
    entry.first_slot = recorded.first_slot
    entry.last_slot = recorded.last_slot
    entry.warnings = "\n".join(warnings)
    entry.save()


def fail(entry: Import, reason: str, *, now: datetime) -> None:
    entry.state = Import.State.FAILED
    entry.finished_at = now
    entry.failure = reason
    entry.save()
