"""Imports, and the locks of those that run, each held by a connection of its own."""

from datetime import datetime

from django.db.models import QuerySet

from columns.advisory_locks import AdvisoryLock, HeldLock
from historical.models import Import

_held: dict[int, HeldLock] = {}


def running() -> QuerySet[Import]:
    """Those whose rows say so; what was killed does too."""
    return Import.objects.filter(state=Import.State.RUNNING)


def is_running(entry: Import) -> bool:
    """Whether its row still says so."""
    return running().filter(pk=entry.pk).exists()


def create(file: str, now: datetime) -> Import:
    return Import.objects.create(file=file, started_at=now)


def take(number: int) -> bool:
    """False when another import holds it, of this process or any other."""
    if number in _held:
        return False
    lock = HeldLock(AdvisoryLock.LEDGER_IMPORT, number % 2**31)
    if lock.take():
        _held[number] = lock
    return number in _held


def drop(number: int) -> None:
    lock = _held.pop(number, None)
    if lock is not None:
        lock.release()
