"""The epochs of the chain that is followed."""

from typing import NamedTuple

from chain.epochs import EpochSchedule
from rewind.models import ArchiveState


class Epochs(NamedTuple):
    """The schedule to divide slots by, and whether a node of the chain has told it; else it is
    mainnet's.
    """

    schedule: EpochSchedule
    told: bool


def keep(schedule: EpochSchedule) -> None:
    """The chain's own schedule, as a node tells it."""
    known = epochs()
    if known.told and known.schedule == schedule:
        return
    ArchiveState.objects.update_or_create(id=1, defaults=schedule._asdict())


def epochs() -> Epochs:
    row = ArchiveState.objects.values_list(*EpochSchedule._fields).first()
    if row is None or not row[0]:
        return Epochs(EpochSchedule(), told=False)
    return Epochs(EpochSchedule(*row), told=True)
