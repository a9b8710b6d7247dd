"""The followed chain's epoch schedule."""

from chain.epochs import EpochSchedule
from rewind.models import ArchiveState


def keep_schedule(schedule: EpochSchedule) -> None:
    ArchiveState.objects.update_or_create(id=1, defaults=schedule._asdict())


def schedule() -> EpochSchedule | None:
    """None until a node has reported it."""
    row = ArchiveState.objects.values_list(*EpochSchedule._fields).first()
    return EpochSchedule(*row) if row is not None and row[0] else None
