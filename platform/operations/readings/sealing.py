"""What of the archive and of the ledger is sealed, what waits to be, and why sealing fails."""

from datetime import UTC, datetime

import msgspec
import redis
from django.conf import settings

from columns.slot_bands import Band, Stretch
from historical.coverage.services import storage as ledger_storage
from historical.sealed.services import sealing as ledger_sealing
from rewind.coverage.services import storage as archive_storage
from rewind.recording.store.partitions import PARTITION_SLOTS
from rewind.sealed.services import sealing as archive_sealing
from shared_state import task_faults

# What works on which store, by its name in task_faults.
_TASKS = {
    "seal_archive": "archive",
    "move_archive": "archive",
    "prune_archive": "archive",
    "scrub_archive": "archive",
    "seal_ledger": "ledger",
    "prune_ledger": "ledger",
    "scrub_ledger": "ledger",
}


class SealedReading(msgspec.Struct, frozen=True):
    """Of one store: slots and bytes that are sealed, here and in the object store; how many
    finished ranges wait, and for how many slots the lowest of them has been finished (None where
    sealing is off). Sealing is behind when that is more than `limit`.
    """

    store: str
    sealed_slots: int
    sealed_bytes: int
    cold_slots: int
    cold_bytes: int
    waiting: int | None
    lag: int | None
    limit: int


class SealingFault(msgspec.Struct, frozen=True):
    """Why sealing, moving, dropping or the scrub fails, of the archive or the ledger, since when,
    and how often.
    """

    store: str
    task: str
    reason: str
    since: datetime
    runs: int


class SealingReading(msgspec.Struct, frozen=True):
    """`faults` are empty while Redis is down."""

    stores: list[SealedReading]
    faults: list[SealingFault]


def read_sealing(now: datetime) -> SealingReading:
    return SealingReading([_archive(), _ledger(now)], _faults())


def _archive() -> SealedReading:
    policy = archive_sealing.Policy(margin=settings.ARCHIVE_SEAL_AFTER_SLOTS)
    is_on = bool(settings.ARCHIVE_SEALING_PERCENT)
    backlog = archive_sealing.backlog(policy) if is_on else None
    bands = archive_storage.all_bands()
    here, away = archive_storage.sealed_bytes()
    return SealedReading(
        store="archive",
        sealed_slots=_slots(bands, Band.SEALED),
        sealed_bytes=here,
        cold_slots=_slots(bands, Band.COLD),
        cold_bytes=away,
        waiting=None if backlog is None else backlog.waiting,
        lag=None if backlog is None else backlog.lag,
        limit=PARTITION_SLOTS,
    )


def _ledger(now: datetime) -> SealedReading:
    size = settings.LEDGER_SEAL_SLOTS
    backlog = ledger_sealing.backlog(size, now) if size else None
    return SealedReading(
        store="ledger",
        sealed_slots=_slots(ledger_storage.all_bands(), Band.SEALED),
        sealed_bytes=ledger_storage.sealed_bytes(),
        cold_slots=0,
        cold_bytes=0,
        waiting=None if backlog is None else backlog.waiting,
        lag=None if backlog is None else backlog.lag,
        limit=size - 1 if size else 0,
    )


def _slots(bands: list[Stretch], band: Band) -> int:
    return sum(each.range.size for each in bands if each.band is band)


def _faults() -> list[SealingFault]:
    try:
        found = task_faults.read()
    except redis.RedisError:
        return []
    return [
        SealingFault(
            store=store,
            task=task,
            reason=found[task].reason,
            since=datetime.fromtimestamp(found[task].since, UTC),
            runs=found[task].runs,
        )
        for task, store in _TASKS.items()
        if task in found
    ]
